"""How many elections of the PrefLib folder exact Kemeny solves to proof, each within a few seconds.

Run: ``python -m benchmarks.kemeny_preflib --archive preflib.tar.xz [--seconds 10] [--endings soc,toc] [--most 100]``.
Reads the complete orders (soc) and complete orders with ties (toc) of PrefLib's archive with a small parser of its own
and prints one line per election that was not solved, then the totals.
"""

from __future__ import annotations

import argparse
import re
import tarfile
import time

import numpy as np

from concordant.aggregate.distance.kemeny import Kemeny
from concordant.preferences import Preferences


def parse(text: str) -> Preferences | None:
    """Read ``count: 1,{2,3},4`` lines; alternatives are numbered from 1."""
    labels: dict[int, str] = {}
    items: list[int] = []
    tiers: list[int] = []
    indptr, weight = [0], []
    for line in text.splitlines():
        if line.startswith("#"):
            named = re.match(r"# ALTERNATIVE NAME (\d+):", line)
            if named:
                labels[int(named.group(1))] = named.group(1)
        elif ":" in line:
            count, order = line.split(":", 1)
            for tier, group in enumerate(re.findall(r"\{([^}]*)\}|(\d+)", order)):
                for number in re.findall(r"\d+", group[0] or group[1]):
                    items.append(int(number))
                    tiers.append(tier)
            indptr.append(len(items))
            weight.append(float(count))
    if not weight:
        return None
    codes = {number: code for code, number in enumerate(sorted(labels or dict.fromkeys(items)))}
    return Preferences(
        [str(number) for number in codes], indptr, [codes[number] for number in items], tiers, weight=np.array(weight)
    )


def main() -> None:
    """Solve every election and print what was proven."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--archive", required=True)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--endings", default="soc,toc")
    parser.add_argument("--most", type=int, default=100, help="most candidates counted in the second total")
    parser.add_argument("--largest", type=int, default=10_000, help="leave out elections with more candidates")
    options = parser.parse_args()
    tried: dict[str, list[tuple[int, bool, float]]] = {ending: [] for ending in options.endings.split(",")}
    with tarfile.open(options.archive) as archive:
        for member in archive:
            ending = member.name.rpartition(".")[2]
            stream = archive.extractfile(member) if ending in tried else None
            prefs = None if stream is None else parse(stream.read().decode("utf-8", "replace"))
            if prefs is None or prefs.n_items > options.largest:
                continue
            start = time.process_time()
            ranking = Kemeny(time_limit=options.seconds, missing="last").rank(prefs)
            seconds = time.process_time() - start
            assert ranking.fit is not None
            is_proven = ranking.fit["proven"] == 1
            tried[ending].append((prefs.n_items, is_proven, seconds))
            if not is_proven:
                gap = ranking.fit["gap"]
                name = member.name.rpartition("/")[2]
                print(
                    f"{name}: {prefs.n_items} candidates, {prefs.n_ballots} orders, gap {gap:.4%}, {seconds:.1f} s",
                    flush=True,
                )
    for ending, rows in tried.items():
        report(ending, rows, options.most)


def report(ending: str, rows: list[tuple[int, bool, float]], most: int) -> None:
    """Print how many were proven, the largest of them, and the times."""
    size, proven, seconds = (np.array(column) for column in zip(*rows, strict=True))
    small = size <= most
    print(f"{ending}: {len(rows)} elections, {proven.sum()} proven, largest proven {size[proven].max()} candidates")
    share = proven[small].mean()
    print(f"  up to {most} candidates: {proven[small].sum()} of {small.sum()} proven ({share:.3%})")
    middle, high = np.quantile(seconds, [0.5, 0.99])
    print(f"  CPU seconds: median {middle:.4f}, 99% below {high:.2f}, most {seconds.max():.1f}")


if __name__ == "__main__":
    main()

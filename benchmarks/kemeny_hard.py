"""How long exact Kemeny takes on the cases people ask about, and what gap remains where it is stopped.

Run: ``python -m benchmarks.kemeny_hard [--seeds 3] [--limit 60]``. Mallows votes (100 candidates, 50 voters, phi = 0.9)
and uniformly random votes, the hard case (70 and 100 candidates, 51 voters). CPU seconds, best known total, bound, gap.
"""

from __future__ import annotations

import argparse
import time

from concordant import simulate
from concordant.aggregate.distance.kemeny import Kemeny

CASES = (("mallows 0.9", 100, 50, 0.9), ("uniform", 70, 51, 1.0), ("uniform", 100, 51, 1.0))


def main() -> None:
    """Solve every case for several seeds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60.0)
    options = parser.parse_args()
    Kemeny().rank(simulate.mallows(20, 3, phi=1.0))  # loads HiGHS
    for name, items, voters, phi in CASES:
        for seed in range(options.seeds):
            prefs = simulate.mallows(items, voters, phi=phi, centre="random", seed=seed)
            start, clock = time.process_time(), time.perf_counter()
            fit = Kemeny(time_limit=options.limit).rank(prefs).fit or {}
            cpu, wall = time.process_time() - start, time.perf_counter() - clock
            print(
                f"{name:12} {items} x {voters}, seed {seed}: total {fit['total_distance']:.0f}, "
                f"bound {fit['lower_bound']:.1f}, gap {fit['gap']:.4%}, proven {bool(fit['proven'])}, "
                f"unique {fit.get('unique', 'open')}, {cpu:.2f} s CPU, {wall:.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""Faults made on purpose, and what concordant makes of them; the figures stand in docs/develop/reliability.md.

python tools/faults.py arrow 400       read 400 damaged Arrow files, ten in a process
python tools/faults.py kills 200       kill 200 processes at random moments while they write files
python tools/faults.py models 1000     damage a saved model of every class 1,000 times, load and use what is left
python tools/faults.py memory          rank five TREC runs with markov-chain in 2 GB (needs CONCORDANT_DATA)
python tools/faults.py full-disk       write to a disk that is too small (Linux, where a tmpfs may be mounted)
python tools/faults.py extremes        rank degenerate data sets by every method (POSIX)

Every command ends with one row of the table in docs/develop/reliability.md, and with exit code 1 where anything
died, raised a foreign exception or was lost.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from concordant.support.processes import python

READ = """
import json, resource, sys, time
from collections import Counter
import concordant as cc
seen, foreign, slowest = Counter(), [], 0.0
for path in sys.argv[1:]:
    start = time.perf_counter()
    try:
        cc.read(path)
        seen["read"] += 1
    except (cc.ConcordantError, OSError):
        seen["refused"] += 1
    except BaseException as problem:
        foreign.append(f"{path}: {type(problem).__name__}: {problem}"[:300])
    slowest = max(slowest, time.perf_counter() - start)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
print(json.dumps({"seen": seen, "foreign": foreign, "slowest": slowest, "peak": peak}))
"""


WRITE = """
import sys
import concordant as cc
path = sys.argv[1]
def contents(size):
    pairs = [(f"item {k % 97}", f"item {(7 * k + 1) % 97}") for k in range(size)]
    return cc.Preferences.from_pairs(*zip(*(pair for pair in pairs if pair[0] != pair[1])))
if path.endswith(".zip"):
    versions = [cc.RRF(k=60), cc.PlackettLuce(prior=0.5)]
    write = cc.save
else:
    versions, write = [contents(2000), contents(20_000)], cc.write
for step in range(int(sys.argv[2])):
    write(versions[step % 2], path)
    if step == 1:
        print("ready", flush=True)
"""

FILL = """
import json, pathlib, sys
import concordant as cc
path = pathlib.Path(sys.argv[1])
small = cc.Preferences.from_pairs(["ann"] * 3000, ["bob"] * 3000)
large = cc.Preferences.from_pairs([f"item {k}" for k in range(40_000)], ["bob"] * 40_000)
cc.write(small, path)
before, told = path.read_bytes(), ""
try:
    cc.write(large, path)
except cc.ConcordantError as error:
    told = str(error)
found = sorted(file.name for file in path.parent.iterdir())
print(json.dumps({"whole": path.read_bytes() == before, "told": told, "files": found}))
"""


# ---- damaged Arrow files ----
def damaged_arrow(seed: int, folder: Path) -> Path:
    """Write an Arrow file of pairs, of a kind that depends on the seed, and change one to five of its bytes."""
    import pyarrow as pa

    draw = random.Random(seed)
    winner = pa.array([f"a long name of player {draw.randrange(12)}" for _ in range(200)])
    loser = pa.array(
        [None if seed % 8 == 1 and draw.random() < 0.1 else f"rival {draw.randrange(12)}" for _ in range(200)]
    )
    kinds = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int16(), pa.string())]
    kind, packing = kinds[seed % 4], [None, "zstd", "lz4"][seed % 3]
    table = pa.table({"winner": winner.cast(kind), "loser": loser, "weight": [draw.random() for _ in range(200)]})
    sink = pa.BufferOutputStream()
    start = pa.ipc.new_stream if seed % 5 == 0 else pa.ipc.new_file
    with start(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=packing)) as writer:
        writer.write_table(table, max_chunksize=120)
    content = bytearray(sink.getvalue().to_pybytes())
    for _ in range(draw.randint(1, 5)):
        content[draw.randrange(len(content))] = draw.randrange(256)
    path, stored = folder / f"{seed}.arrow", bytes(content)
    if seed % 10 == 3:
        path, stored = path.with_suffix(".arrow.xz"), lzma.compress(stored)
    elif seed % 10 == 7:
        path, stored = path.with_suffix(".arrow.zst"), pa.compress(stored, "zstd", asbytes=True)
    path.write_bytes(stored)
    return path


def read_all(paths: list[Path], at_once: int = 10) -> Counter[str]:
    """Read files, some in a process, and count what became of them; foreign exceptions are printed."""
    total: Counter[str] = Counter()
    for start in range(0, len(paths), at_once):
        command = python("-c", READ, *map(str, paths[start : start + at_once]))
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"process over {paths[start]} … died with {done.returncode}", file=sys.stderr)
            total["dead"] += 1
            continue
        told = json.loads(done.stdout)
        total.update(told["seen"])
        total["foreign"] += len(told["foreign"])
        total["MB"] = max(total["MB"], told["peak"])
        total["ms"] = max(total["ms"], round(1000 * told["slowest"]))
        print(*told["foreign"], sep="\n", end="", file=sys.stderr)
    return total


def arrow(count: int) -> bool:
    """Read damaged Arrow files; return whether all went well."""
    with tempfile.TemporaryDirectory() as folder:
        told = read_all([damaged_arrow(seed, Path(folder)) for seed in range(count)])
    print(
        f"| {count} Arrow files with one to five changed bytes (also xz, zst), ten in a process "
        f"| {told['dead']} dead processes, {told['foreign']} foreign exceptions, {told['refused']} refused in a "
        f"sentence, {told['read']} still readable, slowest {told['ms'] / 1000:.1f} s, peak {told['MB']} MB "
        f"| `python tools/faults.py arrow {count}` |"
    )
    return not told["dead"] and not told["foreign"]


# ---- killed writers ----
def kill_writers(count: int, folder: Path, seed: int = 0) -> Counter[str]:
    """Kill processes that write the same file again and again; count what the file held afterwards."""
    told: Counter[str] = Counter()
    draw = random.Random(seed)
    for name in ("votes.csv", "votes.csv.gz", "votes.parquet", "model.zip"):
        path = folder / name
        versions = []
        for steps in ("1", "2"):
            subprocess.run(python("-c", WRITE, str(path), steps), check=True, stdout=subprocess.DEVNULL)
            versions.append(path.read_bytes())
        for _ in range(count // 4):
            command = python("-c", WRITE, str(path), "1000000")
            with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
                assert writer.stdout is not None
                writer.stdout.readline()
                time.sleep(draw.random() * 0.2)
                writer.kill()
            told["whole" if path.read_bytes() in versions else "broken"] += 1
    told["left"] = len(list(folder.glob(".concordant-*.part")))
    return told


def kills(count: int) -> bool:
    """Kill writers; return whether no file was broken."""
    with tempfile.TemporaryDirectory() as folder:
        told = kill_writers(count, Path(folder))
    print(
        f"| {count} processes killed at random moments while they write csv, csv.gz, parquet and model files "
        f"| {told['whole']} files whole (the old content or the new), {told['broken']} broken; {told['left']} "
        f"temporary files left beside them | `python tools/faults.py kills {count}` |"
    )
    return not told["broken"]


# ---- a full disk ----
def fill_disk(folder: Path) -> dict[str, object] | None:
    """Write more than fits to a disk of 512 kB; None where none can be mounted."""
    script = 'mount -t tmpfs -o size=512k none "$1" && exec "$2" -P -c "$3" "$1/votes.csv"'
    command = ["unshare", "-rm", "sh", "-c", script, "sh", str(folder), sys.executable, FILL]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return None if done.returncode else dict(json.loads(done.stdout))


def full_disk(_: int) -> bool:
    """Write to a disk that is too small; return whether the old file stayed whole."""
    with tempfile.TemporaryDirectory() as folder:
        told = fill_disk(Path(folder))
    if told is None:
        sys.exit("no tmpfs can be mounted here: run this on Linux, as root or with user namespaces.")
    whole = "the old file whole, nothing beside it" if told["files"] == ["votes.csv"] else f"left: {told['files']}"
    print(
        f"| a file replaced on a disk of 512 kB that is too small for it | refused in a sentence, {whole} "
        "| `python tools/faults.py full-disk` |"
    )
    return bool(told["whole"]) and "No space left" in str(told["told"])


# ---- bounded memory ----
RANK = """
import json, resource, sys
import concordant as cc
prefs = cc.read(sys.argv[1:])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
ranking = cc.rank(prefs, "markov-chain")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
print(json.dumps({"topics": prefs.n_instances, "ranked": len(ranking.score), "before": before, "peak": peak}))
"""


def bounded_memory(_: int) -> bool:
    """Rank more documents than fit into memory at once; return whether the process stayed within its allowance."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    runs = sorted(Path(os.environ.get("CONCORDANT_DATA", beside), "trec-robust03", "runs").iterdir())[:5]
    command = python("-c", RANK, *map(str, runs))
    env = os.environ | {"CONCORDANT_MEMORY": "2GB", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout)
    print(
        f"| five TREC runs on {told['topics']} topics, {told['ranked']:,} documents, ranked by markov-chain with "
        f"CONCORDANT_MEMORY=2GB | peak {told['peak'] / 1024:.1f} GB | `python tools/faults.py memory` |"
    )
    return int(told["peak"] - told["before"]) <= 2048


# ---- damaged models ----
def models(count: int) -> bool:
    """Damage saved models of every class, in processes with limits; return whether all were refused or usable."""
    command = [sys.executable, "-m", "tests.fuzz.run", str(count), "--each", "--of", "models"]
    env = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=Path(__file__).resolve().parents[1], env=env, check=False).returncode == 0


# ---- extreme numbers ----
SECONDS = 5  # of processor time that a case may take


def run_cases(method: object, names: list[str]) -> dict[str, tuple[str, float]]:
    """Run a method on data sets in a process of its own; one that takes too long ends the process."""
    from tools import extremes

    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        with os.fdopen(write, "w") as answers:
            for name in names:
                signal.setitimer(signal.ITIMER_PROF, SECONDS)
                start = time.process_time()
                outcome = extremes.outcome_of(method, extremes.SETS[name])
                print(json.dumps([name, outcome, time.process_time() - start]), file=answers, flush=True)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answers:
        found = {name: (outcome, seconds) for name, outcome, seconds in map(json.loads, answers)}
    os.waitpid(child, 0)
    return found


def extreme_numbers(_: int) -> bool:
    """Rank every degenerate data set by every method; return whether nothing hung, crashed or showed NaN."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from tools import extremes

    told: Counter[str] = Counter()
    slowest = 0.0
    methods = extremes.methods()
    for method in methods:
        left = list(extremes.SETS)
        while left:
            found = run_cases(methods[method], left)
            left = [name for name in left if name not in found]
            if left:
                found[left.pop(0)] = "hang or dead process", float(SECONDS)
            for name, (outcome, seconds) in found.items():
                told[outcome.split(":")[0]] += 1
                slowest = max(slowest, seconds)
                if outcome not in ("ranked", "refused"):
                    print(f"{method} on {name}: {outcome}", file=sys.stderr)
    bad = told["hang or dead process"], told["bad"], told["foreign"]
    print(
        f"| {len(methods)} methods on {len(extremes.SETS)} degenerate data sets (weights, ratings, times, covariates "
        f"from 5e-324 to 1e308) | {bad[0]} hangs or dead processes, {bad[1]} NaN or infinite numbers, {bad[2]} foreign "
        f"exceptions; {told['ranked']:,} ranked, {told['refused']:,} refused in a sentence, slowest {slowest:.1f} s "
        "| `python tools/faults.py extremes` |"
    )
    return not any(bad)


COMMANDS = {
    "arrow": arrow,
    "extremes": extreme_numbers,
    "full-disk": full_disk,
    "kills": kills,
    "memory": bounded_memory,
    "models": models,
}


def main() -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fault", choices=COMMANDS)
    parser.add_argument("count", type=int, nargs="?", default=200)
    asked = parser.parse_args()
    sys.exit(0 if COMMANDS[asked.fault](asked.count) else 1)


if __name__ == "__main__":
    main()

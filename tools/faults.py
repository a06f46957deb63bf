"""Faults made on purpose, and what concordant makes of them; the figures stand in docs/develop/reliability.md.

python tools/faults.py arrow 400       read 400 damaged Arrow files, ten in a process

Every command ends with one row of the table in docs/develop/reliability.md, and with exit code 1 where anything
died, raised a foreign exception or was lost.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

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
        command = [sys.executable, "-c", READ, *map(str, paths[start : start + at_once])]
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


def main() -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fault", choices=["arrow"])
    parser.add_argument("count", type=int, nargs="?", default=400)
    asked = parser.parse_args()
    sys.exit(0 if arrow(asked.count) else 1)


if __name__ == "__main__":
    main()

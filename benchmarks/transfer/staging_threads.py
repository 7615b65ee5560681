"""
How quick are staged copies by the number of threads? Prints GB/s, and writes the seconds.

    python benchmarks/transfer/staging_threads.py OUT.json [DRIVER] [MAX_MIB]

Copies of one size and direction by 1, 2, 4, 6 ... threads take turns, as `isthmus profile` measures
them; the median of 0.12 s a point counts.
"""

import sys
from dataclasses import replace
from pathlib import Path

from machine import machine_facts

from isthmus import _native
from isthmus.decide.profile.plan import FULL
from isthmus.decide.profile.session import Session
from isthmus.ground.json_text import json_text

MIB = 1 << 20
SIZES_MIB = (1, 4, 16, 64)
EFFORT = replace(FULL, point_s=0.12)


def main(out: Path, driver: str = "system", max_mib: int = 64) -> None:
    """Measure, print and write."""
    session = Session(_native.Driver.open(driver), 0, max_mib * MIB)
    rows = []
    for size_mib in SIZES_MIB:
        for direction in ("h2d", "d2h") if size_mib <= max_mib else ():
            found = session.staging_times(direction, size_mib * MIB, EFFORT)
            for threads, seconds in sorted(found.items()):
                row = {"direction": direction, "bytes": size_mib * MIB}
                rows.append(row | {"threads": threads, "seconds": seconds})
            rates = {n: round(size_mib * MIB / s / 1e9, 1) for n, s in sorted(found.items())}
            print(direction, f"{size_mib} MiB", rates, flush=True)
    record = {"schema_version": 1, "machine": machine_facts(), "results": rows}
    out.write_text(json_text(record), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3], *map(int, sys.argv[3:4]))

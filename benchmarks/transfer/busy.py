"""What staged copies lose when other programs want the cores, too.

Processes that only compute run beside `ring_details`, by as many cores as they are. With other
versions of `ring_details` they take turns. One file for all of it: ring_details' rows, each with
the number of busy processes, the version and the turn. See README.md.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Direction, threads, sizes, rounds. Downloads have six threads by most profiles.
COPIES = (
    ("h2d", 15, "65536,262144", 11),
    ("h2d", 15, "1048576", 7),
    ("d2h", 6, "16384,65536,262144", 11),
)


@contextmanager
def busy_processes(number: int) -> Iterator[None]:
    """Let so many processes compute meanwhile."""
    endless = [sys.executable, "-c", "while True: pass"]
    processes = [
        subprocess.Popen(endless)  # noqa: S603 - Python itself
        for _ in range(number)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def stolen_s() -> float:
    """CPU time that the hypervisor gave to others when this machine wanted it, since boot."""
    return int(Path("/proc/stat").read_text().split()[8]) / TICKS_PER_S


def rows_of(program: Path, direction: str, threads: int, sizes: str, rounds: int) -> list[dict]:
    """What ring_details prints about the ring, and the CPUs stolen meanwhile."""
    options = [f"directions={direction}", f"threads={threads}", f"size_kib={sizes}"]
    command = [program, *options, f"rounds={rounds}", "slot_mib=16", "conditions=warm,pause"]
    start_s, before_s = time.perf_counter(), stolen_s()
    answer = subprocess.run(  # noqa: S603 - the program that is measured
        command, check=True, capture_output=True, text=True
    )
    stolen = (stolen_s() - before_s) / (time.perf_counter() - start_s)
    told = json.loads(answer.stdout)
    of = {"emulated": told["emulated"], "cores": told["cores"], "stolen_cpus": round(stolen, 3)}
    return [of | row for row in told["rows"] if row["way"] == "ring"]


def main() -> None:
    """Measure and write."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("programs", nargs="+", help="NAME=PATH of each ring_details")
    arguments.add_argument("--busy", type=int, nargs="+", default=[0, 4, 12])
    arguments.add_argument("--turns", type=int, default=2)
    options = arguments.parse_args()
    programs = dict(one.split("=", 1) for one in options.programs)
    rows = []
    for number in options.busy:
        with busy_processes(number):
            for turn in range(options.turns):
                for copy in COPIES:
                    for name, path in programs.items():
                        of = {"busy": number, "version": name, "turn": turn}
                        rows += [of | row for row in rows_of(Path(path), *copy)]
    lines = ",\n".join(json.dumps(row) for row in rows)
    options.out.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()

"""What staged copies lose when other programs want the cores, too.

`ring_details` runs beside processes that only compute, each of which wants a core. Several versions
of it take turns. The file has ring_details' rows about rings, each with the number of busy
processes, the version and the turn. See README.md.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stolen_cpus import StolenCpus

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


def rows_of(program: Path, direction: str, threads: int, sizes: str, rounds: int) -> list[dict]:
    """What ring_details prints about the ring, and the CPUs stolen meanwhile."""
    options = [f"directions={direction}", f"threads={threads}", f"size_kib={sizes}"]
    command = [program, *options, f"rounds={rounds}", "slot_mib=16", "conditions=warm,pause"]
    cpus = StolenCpus()
    answer = subprocess.run(  # noqa: S603 - the program that is measured
        command, check=True, capture_output=True, text=True
    )
    stolen = round(cpus.mean(), 3)
    told = json.loads(answer.stdout)
    of = {"emulated": told["emulated"], "cores": told["cores"], "stolen_cpus": stolen}
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

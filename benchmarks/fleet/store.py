"""
How long questions over 1,000 runs take: without a store, with one, and with a database of DuckDB.

    python benchmarks/fleet/store.py --out benchmarks/fleet/store.json

The runs are those of scale.py. A question is asked by `isthmus runs query` in a process of its own:
with no store (each run is read, and stored), with the store, and after 16 runs have changed. Then
the same tables are written into a database of DuckDB, and the same question is asked there.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scale import subprocess_size

from isthmus.cli.app import main as program
from isthmus.ground.json_text import json_text
from isthmus.measure.query.store import FOLDER, Store
from isthmus.measure.run.folder import files_of

_QUESTION = (
    "SELECT node, max(median) AS best FROM results WHERE test = 'host_to_device_memcpy_ce' "
    "GROUP BY node ORDER BY best LIMIT 3"
)
_TURNS = 5
_CHANGED = 16


def asked(folder: Path) -> dict[str, float]:
    """Ask the question in a process of its own."""
    return timed([sys.executable, __file__, "--folder", str(folder)])


def timed(command: list[str]) -> dict[str, float]:
    """Run this script again, which says at its end what it used."""
    began = time.monotonic()
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    wall = time.monotonic() - began
    cpu, peak = json.loads(done.stdout.splitlines()[-1])
    return {"wall_s": round(wall, 2), "cpu_s": cpu, "peak_bytes": peak}


def fastest(folder: Path) -> dict[str, float]:
    """Ask some times; give the turn that took the CPU the least."""
    return min((asked(folder) for _ in range(_TURNS)), key=lambda one: one["cpu_s"])


def size_of(folder: Path) -> int:
    """Give the bytes of a folder's files."""
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())


def database(folder: Path, path: Path) -> dict[str, object]:
    """Write the views into a database of DuckDB, and ask it."""
    import duckdb

    views = Store(folder).find(files_of(folder)).views
    began = time.process_time()
    with duckdb.connect(str(path)) as connection:
        for name, table in views.items():
            connection.register("given", table)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")  # noqa: S608
    made = time.process_time() - began
    code = (
        "import duckdb, sys, time\n"
        "with duckdb.connect(sys.argv[1], read_only=True) as one: "
        "one.execute(sys.argv[2]).fetchall()\n"
        "import json, resource\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(json.dumps([round(used.ru_utime + used.ru_stime, 2), used.ru_maxrss * 1024]))"
    )
    command = [sys.executable, "-c", code, str(path), _QUESTION]
    found = min((timed(command) for _ in range(_TURNS)), key=lambda one: one["cpu_s"])
    return {"bytes": path.stat().st_size, "made_cpu_s": round(made, 2), "asked": found}


def measure(number: int) -> dict[str, object]:
    """Ask about a folder of so many runs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "fleet"
        folder.mkdir()
        subprocess_size(folder, number)
        found: dict[str, object] = {"runs": number, "bytes_of_runs": size_of(folder)}
        found["without_a_store"] = asked(folder)
        found["with_the_store"] = fastest(folder)
        found["bytes_of_the_store"] = size_of(folder / FOLDER)
        for path in sorted(folder.glob("*.json"))[:_CHANGED]:
            os.utime(path)
        found["after_16_changed"] = asked(folder)
        found["database"] = database(folder, Path(name) / "runs.duckdb")
    return found


def main() -> None:
    """Measure folders of some sizes, or ask about one."""
    parser = argparse.ArgumentParser(description="How long questions take.")
    parser.add_argument("--folder", type=Path, help="ask about this folder, and say what it used")
    parser.add_argument("--out", type=Path, help="a file for the result")
    options = parser.parse_args()
    if options.folder:
        code = program(["runs", "query", _QUESTION, "--folder", str(options.folder)])
        assert code == 0  # noqa: S101 - or the figures mean nothing
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(json.dumps([round(used.ru_utime + used.ru_stime, 2), used.ru_maxrss * 1024]))
        return
    rows = []
    for number in (10, 100, 1000):
        rows.append(measure(number))
        print(rows[-1], flush=True)
    if options.out:
        found = {"cores": os.cpu_count(), "load_average": os.getloadavg()[0], "folders": rows}
        options.out.write_text(json_text(found), "utf-8")


if __name__ == "__main__":
    main()

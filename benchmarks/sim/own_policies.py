"""
What a policy of one's own costs: requests a second, built in, as a library and in Python.

    .venv/bin/python benchmarks/sim/own_policies.py [TURNS]

Needs a C++ compiler. The policies take turns in one process; a figure is the median of the turns.
"""

import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from isthmus.sim.library import Library
from isthmus.sim.machine_files import load_machine
from isthmus.sim.own import policy_of
from isthmus.sim.running import run
from isthmus.sim.settings import Setup, with_settings

ROOT = Path(__file__).parents[2]
TREE = ROOT / "examples" / "policies" / "tree.cpp"
# The units that an access touches, as `bitmap` does; with HITS it is told of hits, too.
UNITS = """
#include <isthmus/policy.h>
static uint32_t on_access(void*, const isthmus_access* access, isthmus_span* spans, uint32_t) {
  spans[0] = {access->offset_bytes, access->length_bytes};
  return 1;
}
ISTHMUS_POLICY const isthmus_policy_table* isthmus_policy(void) {
  static isthmus_policy_table table = {ISTHMUS_POLICY_VERSION};
  table.wants_hits = HITS;
  table.on_access = on_access;
  return &table;
}
"""


class Units:
    """The same in Python."""

    def __init__(self, setup: Setup) -> None:
        """Need nothing."""

    def on_access(self, accesses: np.ndarray, _asked: np.ndarray) -> list[tuple[int, int]]:
        """Bring what the last access asks for; what is said to hits isn't looked at."""
        _, offset, length, _, _ = accesses[-1].item()
        return [(offset, length)]


class UnitsToldHits(Units):
    """It is told of hits."""

    hits = True


def library(folder: Path, name: str, source: str) -> str:
    """Compile a policy."""
    file = folder / f"{name}.cpp"
    file.write_text(source, encoding="utf-8")
    made = folder / f"{name}.so"
    options = shlex.split("-std=c++17 -O2 -shared -fPIC")
    headers = f"-I{ROOT / 'cpp' / 'include'}"
    subprocess.run(["c++", *options, headers, str(file), "-o", str(made)], check=True)  # noqa: S603, S607
    return str(made)


def main() -> None:
    """Print a row for each program and unit."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    programs = Library()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        units = library(folder, "units", UNITS.replace("HITS", "0"))
        told = library(folder, "told", UNITS.replace("HITS", "1"))
        tree = library(folder, "tree", TREE.read_text("utf-8"))
        of_units = {
            "built in": "bitmap",
            "library": units,
            "library, told hits": told,
            "Python": Units,
            "Python, told hits": UnitsToldHits,
        }
        of_tree = {"built in": "tree", "library": tree}
        for program, unit, policies in (
            ("lps", "1KiB", of_units),
            ("lps", "128", of_units),
            ("bfs", "1KiB", of_units),
            ("lps", "4KiB", of_tree),
            ("bfs", "4KiB", of_tree),
        ):
            recording = programs.recording(program, 0)
            rates: dict[str, list[float]] = {label: [] for label in policies}
            for _ in range(turns):
                for label, policy in policies.items():
                    setup = Setup(machine=load_machine("paper-gtx480"), policy=policy_of(policy))
                    setup = with_settings(setup, {"policy.unit": unit})
                    begin = time.perf_counter()
                    result = run(recording.replay(), setup)
                    seconds = time.perf_counter() - begin
                    rates[label].append(result.counts["line_requests"] / seconds / 1e6)
            told_rates = (f"{label} {statistics.median(all_):.1f}" for label, all_ in rates.items())
            print(f"{program}, units of {unit}, M requests/s:", "; ".join(told_rates), flush=True)


if __name__ == "__main__":
    main()

"""
How long whole commands take, from the shell's call to their end: reports and advice.

    python benchmarks/frontdoor/command_times.py --out commands.json
    python benchmarks/frontdoor/command_times.py --before OTHER/.venv/bin/python --out commands.json

With another Python, in which an earlier version is installed, both versions take turns. No GPU is
needed: the report is that of a full run in this repository, and the advice for a shipped machine.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from isthmus.ground.json_text import json_text

_RUN = Path(__file__).parents[1] / "link" / "h100" / "run.json"
_COMMANDS = {
    "version": ["--version"],
    "advise": ["advise", "64MiB", "--machine", "h100-sxm-pcie5"],
    "report": ["report", str(_RUN), "--output", "report.html"],
}


def seconds_of(python: str, arguments: list[str], folder: str) -> float:
    """Run a command, which must succeed, and give its wall time."""
    begun = time.monotonic()
    subprocess.run(  # noqa: S603 - our own program
        [python, "-m", "isthmus", *arguments], capture_output=True, check=True, cwd=folder
    )
    return time.monotonic() - begun


def measure(pythons: dict[str, str], num_turns: int) -> list[dict[str, Any]]:
    """Time each command: after a turn that doesn't count, versions take turns."""
    taken: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(num_turns + 1):
            for name, arguments in _COMMANDS.items():
                for version, python in pythons.items():
                    seconds = seconds_of(python, arguments, folder)
                    if turn:
                        taken.setdefault((name, version), []).append(seconds)
        size = (Path(folder) / "report.html").stat().st_size
    return [
        {
            "command": name,
            "version": version,
            "min_s": round(min(seconds), 3),
            "median_s": round(statistics.median(seconds), 3),
            "max_s": round(max(seconds), 3),
            **({"report_bytes": size} if name == "report" else {}),
        }
        for (name, version), seconds in taken.items()
    ]


def main() -> int:
    """Measure, print and write the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", help="the Python of an earlier version's environment")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    before = {"before": options.before} if options.before else {}
    rows = measure({**before, "now": sys.executable}, options.turns)
    document = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "turns": options.turns,
        "commands": rows,
    }
    options.out.write_text(json_text(document), encoding="utf-8")
    for row in rows:
        print(row)
    return 0


if __name__ == "__main__":
    sys.exit(main())

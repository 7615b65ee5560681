"""
Whether commands keep the time that they promise: each is run once, and timed by the wall clock.

    python benchmarks/frontdoor/time_promises.py --out promises.json
    python benchmarks/frontdoor/time_promises.py --device emulated --out promises.json

On a GPU it takes at most 35 s. On the emulated device, the whole of `isthmus bench` is run, too,
which ends after at most 30 s there; on a GPU that would take up to 240 s (--whole).
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from isthmus.ground.json_text import json_text

_PROMISE = re.compile(r"at most (?P<seconds>[0-9.]+) s")


def timed(arguments: list[str], folder: str) -> dict[str, Any]:
    """Run a command, and compare its wall time with what it said on stderr."""
    own = {"XDG_DATA_HOME": folder, "XDG_CACHE_HOME": folder}
    begun = time.monotonic()
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "isthmus", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | own,
    )
    seconds = time.monotonic() - begun
    match = _PROMISE.search(" ".join(done.stderr.split()))
    promised = float(match["seconds"]) if match else None
    return {
        "command": " ".join(["isthmus", *arguments]),
        "promised_s": promised,
        "wall_s": round(seconds, 2),
        "kept": promised is not None and seconds <= promised,
        "exit_code": done.returncode,
        "stderr_lines": len(done.stderr.splitlines()),
        "longest_line": max(map(len, done.stderr.splitlines()), default=0),
    }


def last_run(folder: str) -> dict[str, Any]:
    """Summarise the run that was kept last: its machine, and what was waived for lack of time."""
    files = sorted((Path(folder) / "isthmus" / "runs").glob("*.json"))
    run = json.loads(files[-1].read_text("utf-8"))
    late = [one for one in run["results"] if (one.get("reason") or "").startswith("no time left")]
    return {
        "gpu": run["machine"]["device"]["name"],
        "emulated": run["machine"]["emulated"],
        "cpu": run["machine"]["host"]["cpu_model"],
        "cpus": run["machine"]["host"]["num_cpus"],
        "driver": run["machine"]["driver"]["driver_version"],
        "results": len(run["results"]),
        "waived_for_lack_of_time": len(late),
    }


def main() -> int:
    """Run every command, print a line for each, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--device", default=None)
    parser.add_argument("--whole", action="store_true", help="also the whole of isthmus bench")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    device = ["--device", options.device] if options.device else []
    commands = [
        ["bench", "--quick", *device],
        ["bench", "--budget", "5", *device],
        ["profile", "--quick", *device],
        ["profile", *device],
    ]
    if options.whole or (options.device or "").startswith("emulated"):
        commands.insert(0, ["bench", *device])
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for command in commands:
            row = timed(command, folder)
            if command[0] == "bench":
                row |= last_run(folder)
            rows.append(row)
            print(
                f"{row['command']}: {row['wall_s']} s of {row['promised_s']} s, "
                f"{'kept' if row['kept'] else 'NOT KEPT'}, {row['stderr_lines']} lines on stderr"
            )
    document = {
        "question": "do commands keep the time that they promise?",
        "method": "one process each, wall clock from its start to its end; stderr is a pipe",
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average": os.getloadavg()[0],
        "rows": rows,
    }
    if options.out:
        options.out.write_text(json_text(document), encoding="utf-8")
    return 0 if all(row["kept"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

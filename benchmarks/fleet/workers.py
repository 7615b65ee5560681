"""
Whether three bad workers of sixteen are found: real processes, on emulated devices.

    python benchmarks/fleet/workers.py --fleets 50 --out benchmarks/fleet/workers.json

Each fleet is measured by the code of `isthmus fleet bench`: workers of Dask on this machine, each a
process, each measurement another. Three workers, drawn at random, are bad: one is slow (a device
whose link has half of its width), one is wrong (a device that falls off the bus while it is
measured), one is dead (its process is killed, its GPU belongs to another process, or it has none).
Then `check_fleet` judges the folder. A fleet is found if these three have the right verdict and the
right cause, and no other worker is called bad.

Sixteen workers share this machine's cores, so only some of them measure at a time: real nodes have
cores of their own. The result is written after each fleet, and a later call goes on with the next.
"""

import argparse
import json
import os
import random
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import workers

from isthmus.fleet.check import check_fleet
from isthmus.fleet.collecting import Collector, Wish
from isthmus.fleet.health import Health, Patient
from isthmus.fleet.measured import read_fleet
from isthmus.fleet.nodes import AskedNodes
from isthmus.fleet.processes import Processes, here, processes
from isthmus.fleet.task import Task
from isthmus.ground.json_text import json_text
from isthmus.measure.run.folder import files_of

_WORKERS = 16
_AT_A_TIME = 2
_KILLED = "killed"
# What is done to a worker, its verdict, and what its cause or finding has to say.
_BAD = {
    "emulated:half-link": ("slow", "emulated profile half-link"),
    "emulated:vanishing": ("wrong", "CUDA_ERROR_UNKNOWN"),
    _KILLED: ("dead", "worker lost"),
    "emulated:exclusive": ("dead", "exclusive or prohibited mode"),
    "emulated:no-gpu": ("dead", "the driver has no device"),
}
_DEAD = [kind for kind, (verdict, _) in _BAD.items() if verdict == "dead"]
_TESTS = ["host_to_device_memcpy_ce", "device_to_host_memcpy_ce"]
_SIZES = "1M,2M"
_BUDGET_S = 1.0


def parsed() -> argparse.Namespace:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description="Whether three bad workers of 16 are found.")
    parser.add_argument("--fleets", type=int, default=50, help="so many, with those in the result")
    parser.add_argument("--first", type=int, default=0, help="the first fleet's seed")
    parser.add_argument("--until", help="begin no fleet after this time, as 04:00 (UTC)")
    parser.add_argument("--out", type=Path, required=True, help="the result, which is continued")
    return parser.parse_args()


def in_turn(text: str) -> str:
    """Measure on a worker, or end it: a turn is a file that only so many workers can lock."""
    import fcntl
    import json
    import os
    import signal
    from pathlib import Path

    from isthmus.fleet.worker import measure

    asked = json.loads(text)
    if asked["turn"] is None:
        os.kill(os.getpid(), signal.SIGKILL)
    with Path(asked["turn"]).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return measure(asked["task"])


class BadNodes(AskedNodes):
    """Workers of which some are bad."""

    def __init__(
        self, asking: Processes, names: list[str], bad: dict[str, str], folder: Path
    ) -> None:
        """Take these workers; `bad` says what is done to a node."""
        super().__init__(asking, {name: name for name in names})
        self._bad = bad
        self._turns = {
            name: str(folder / f".turn-{index % _AT_A_TIME}") for index, name in enumerate(names)
        }

    def called(self, node: str, function: str, text: str) -> tuple[Callable[[str], str], str]:
        """Have a node measure in its turn, on its own device."""
        if function != "measure":
            return super().called(node, function, text)
        kind = self._bad.get(node)
        task = json.loads(text)
        if kind not in {None, _KILLED}:
            task["devices"] = [kind]
        turn = None if kind == _KILLED else self._turns[node]
        asked = {"turn": turn, "task": json.dumps(task)}
        return workers.in_turn, json.dumps(asked)


def measure(seed: int) -> dict[str, Any]:
    """Measure one fleet, judge it, and say what was found."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    names = [f"local-{index:02}" for index in range(_WORKERS)]
    kinds = ["emulated:half-link", "emulated:vanishing", chance.choice(_DEAD)]
    bad = dict(zip(chance.sample(names, len(kinds)), kinds, strict=True))
    began = time.monotonic()
    commands = {name: here(1) for name in names}
    with tempfile.TemporaryDirectory() as name, processes(commands) as asking:
        task = Task(
            suites=[],
            tests=_TESTS,
            sizes=_SIZES,
            budget_s=_BUDGET_S,
            devices=["emulated"],
            timeout_s=120,
        )
        Collector(
            nodes=BadNodes(asking, names, bad, Path(name)),
            folder=Path(name),
            wish=Wish(task=task, repeats=3),
            say=lambda _: None,
        ).collect()
        health = check_fleet(read_fleet(files_of(Path(name))))
    found = {node: is_found(health, node, kind) for node, kind in bad.items()}
    others = [one for one in health.bad if one.node not in bad]
    return {
        "seed": seed,
        "bad": {node: {"kind": kind, "found": found[node]} for node, kind in bad.items()},
        "others_called_bad": {one.node: said(one) for one in others},
        "missed": {one.node: said(one) for one in health.patients if not found.get(one.node, True)},
        "runs": health.num_runs,
        "wall_s": round(time.monotonic() - began, 1),
        "load_average": round(os.getloadavg()[0], 1),
        "at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
    }


def is_found(health: Health, node: str, kind: str) -> bool:
    """Whether a bad node has its verdict, and its cause comes first."""
    verdict, words = _BAD[kind]
    own = [one for one in health.patients if one.node == node]
    return [one.verdict.value for one in own] == [verdict] and words in said(own[0])


def said(patient: Patient) -> str:
    """Give a verdict with its first cause, or what was found where there is none."""
    first = patient.causes[0].text if patient.causes else "; ".join(patient.findings)
    return f"{patient.verdict}: {first if patient.verdict == 'slow' else patient.findings}"


def main() -> None:
    """Measure the fleets that the result hasn't."""
    options = parsed()
    rows: list[dict[str, Any]] = []
    if options.out.exists():
        rows = json.loads(options.out.read_text("utf-8"))["fleets"]
    done = {row["seed"] for row in rows}
    wanted = range(options.first, options.first + options.fleets)
    # Workers find this script's functions by its name.
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    for seed in wanted:
        if seed in done:
            continue
        if options.until and f"{datetime.now(UTC):%H:%M}" >= options.until:
            break
        rows.append(measure(seed))
        print(json.dumps(rows[-1]), flush=True)
        whole = all(one["found"] for row in rows for one in row["bad"].values())
        quiet = not any(row["others_called_bad"] for row in rows)
        found = {
            "workers": _WORKERS,
            "at_a_time": _AT_A_TIME,
            "cores": os.cpu_count(),
            "emulated": True,
            "all_found": whole,
            "no_other_called_bad": quiet,
            "fleets": rows,
        }
        options.out.write_text(json_text(found), "utf-8")


if __name__ == "__main__":
    main()

"""
How long it takes to collect and to judge fleets of 10, 100 and 1,000 simulated nodes.

    python benchmarks/fleet/scale.py --out benchmarks/fleet/scale.json

Each node is asked for its diagnosis and for one run by the code of `isthmus fleet bench`. Two
worker processes on this machine play all nodes: where a node would run `isthmus`, they read a file
that was made before. A run has as many results as a quick one. Then `isthmus fleet check` reads the
folder, in a process of its own.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import scale
from noise import healthy, read_noise

from isthmus.cli.app import main as program
from isthmus.fleet.collecting import Collector, Wish
from isthmus.fleet.nodes import AskedNodes
from isthmus.fleet.processes import Processes, here, processes
from isthmus.fleet.task import Task
from isthmus.ground.json_text import json_text
from isthmus.measure.run.store import run_text

_WORKERS = 2
# A quick run on an H100 has 507 results, one on the emulated device 654.
RESULTS = 654
_DIAGNOSIS = {
    "schema_version": 1,
    "emulated": False,
    "checks": [{"name": "gpu 0", "status": "ok", "finding": "GPU", "facts": {"ordinal": 0}}],
}


def parsed() -> argparse.Namespace:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description="How fleets of many nodes are collected.")
    parser.add_argument("--nodes", type=int, help="measure one fleet, and print the figures")
    parser.add_argument("--check", help="check a folder, and print what that took")
    parser.add_argument("--out", type=Path, help="a file for the result")
    return parser.parse_args()


def make(folder: Path, number: int) -> int:
    """Write a run for each node; give the size of one."""
    chance = random.Random(21)  # noqa: S311 - no secret
    noise = read_noise(others=RESULTS)
    size = 0
    for node in healthy(noise, number):
        text = run_text(noise.run(chance, node))
        (folder / f"{node.name}.json").write_text(text, "utf-8")
        size = len(text)
    return size


def played(path: str) -> str:
    """Answer a task as a node would: with a run, which it reads from a file."""
    from pathlib import Path

    from isthmus.fleet.task import Answer, Answers

    run = Path(path).read_text("utf-8")
    return Answers(answers=[Answer(device="0", outcome=None, run=run)]).model_dump_json()


def diagnosed(text: str) -> str:
    """Answer as a node with one GPU would."""
    return text


class PlayedNodes(AskedNodes):
    """Many nodes that a few workers play."""

    def __init__(self, asking: Processes, names: list[str], folder: Path) -> None:
        """Spread the nodes over the workers."""
        workers = sorted(asking.threads())
        super().__init__(
            asking,
            {name: workers[index % len(workers)] for index, name in enumerate(names)},
        )
        self._folder = folder

    def called(self, node: str, function: str, text: str) -> tuple[Callable[[str], str], str]:
        """Replace what would start a process."""
        del text
        if function == "measure":
            return scale.played, str(self._folder / f"{node}.json")
        return scale.diagnosed, json.dumps(_DIAGNOSIS)


def measure(number: int) -> dict[str, Any]:
    """Collect and judge one fleet."""
    with tempfile.TemporaryDirectory() as name:
        made, fleet = Path(name) / "made", Path(name) / "fleet"
        made.mkdir()
        size = subprocess_size(made, number)
        began = time.monotonic()
        # Workers find this script's functions by its name.
        os.environ["PYTHONPATH"] = str(Path(__file__).parent)
        with processes({f"local-{index}": here(1) for index in range(_WORKERS)}) as asking:
            ready = time.monotonic()
            names = sorted(file.stem for file in made.iterdir())
            task = Task(suites=[], tests=[], devices=[], timeout_s=60)
            collected = Collector(
                nodes=PlayedNodes(asking, names, made),
                folder=fleet,
                wish=Wish(task=task, repeats=1),
                say=lambda _: None,
            ).collect()
            assert collected.runs == number  # noqa: S101 - or the figures mean nothing
            kept = time.monotonic()
            for worker in asking.threads():
                asking.ask(worker, scale.used, "")
            used = [json.loads(str(answer)) for _, answer in all_answers(asking, _WORKERS)]
        begun_check = time.monotonic()
        done = subprocess.run(  # noqa: S603 - this script
            [sys.executable, __file__, "--check", str(fleet)],
            check=True,
            capture_output=True,
            text=True,
        )
        judged = time.monotonic() - begun_check
        check = json.loads(done.stdout.splitlines()[-1])
    own = usage()
    return {
        "nodes": number,
        "bytes_of_a_run": size,
        "start_s": round(ready - began, 2),
        "collect_s": round(kept - ready, 2),
        "judge_s": round(judged, 2),
        "collector_cpu_s": own[0],
        "workers_cpu_s": round(sum(seconds for seconds, _ in used), 2),
        "judge_cpu_s": check[0],
        "collector_peak_bytes": own[1],
        "workers_peak_bytes": sum(size for _, size in used),
        "judge_peak_bytes": check[1],
        "load_average": round(os.getloadavg()[0], 1),
    }


def subprocess_size(folder: Path, number: int) -> int:
    """Write the runs in another process, so that its memory isn't counted."""
    code = f"import scale, pathlib; print(scale.make(pathlib.Path({str(folder)!r}), {number}))"
    done = subprocess.run(  # noqa: S603 - this script
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
    )
    return int(done.stdout)


def usage() -> tuple[float, int]:
    """Give the seconds of the CPU that this process has used, and the most memory it has had."""
    import resource
    from pathlib import Path

    found = resource.getrusage(resource.RUSAGE_SELF)
    status = Path("/proc/self/status").read_text("utf-8")
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return round(found.ru_utime + found.ru_stime, 2), int(peak.split()[1]) * 1024


def used(text: str) -> str:
    """Give what a worker has used, as JSON."""
    del text
    return json.dumps(usage())


def all_answers(asking: Processes, number: int) -> list[tuple[int, object]]:
    """Wait for so many answers."""
    found: list[tuple[int, object]] = []
    while len(found) < number:
        found += asking.answers(1.0)
    return found


def main() -> None:
    """Measure one fleet, or each size in a process of its own."""
    options = parsed()
    if options.check:
        assert program(["fleet", "check", options.check]) == 0  # noqa: S101 - all are healthy
        print(json.dumps(usage()))
        return
    if options.nodes:
        print(json.dumps(measure(options.nodes)))
        return
    rows = []
    for number in (10, 100, 1000):
        command = [sys.executable, __file__, "--nodes", str(number)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        print(rows[-1], flush=True)
    if options.out:
        found = {"cores": os.cpu_count(), "workers": _WORKERS, "fleets": rows}
        options.out.write_text(json_text(found), "utf-8")


if __name__ == "__main__":
    main()

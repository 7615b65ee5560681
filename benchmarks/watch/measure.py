"""
Ten programs that know nothing of Isthmus, by turns: plain, watched, under exec, pinned by hand.

    python benchmarks/watch/measure.py OUT.json [--turns N] [--programs NAME ...] [--nvbandwidth P]

Needs a GPU, PyTorch, CuPy, JAX, Numba, safetensors, transformers and nvcc. What is missing is left
out, and said.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from isthmus.ground.json_text import json_text
from isthmus.watching.costs import costs_here
from isthmus.watching.counters import counter_files, read_counters
from isthmus.watching.environment import exec_environment, watched_environment
from isthmus.watching.reporting import report_on

HERE = Path(__file__).parent / "programs"
PROGRAMS = {
    "safetensors_load": ["safetensors_load.py"],
    "checkpoint_cpu": ["checkpoint_cpu.py"],
    "torch_save": ["torch_save.py"],
    "data_loader": ["data_loader.py"],
    "cupy_arrays": ["cupy_arrays.py"],
    "jax_arrays": ["jax_arrays.py"],
    "numba_arrays": ["numba_arrays.py"],
    "runtime_copies": ["runtime_copies.cu"],
    "nvbandwidth": [],
    "generate": ["generate.py"],
}
# An audit is a watched run, which also says what exec would replace.
WAYS = ("plain", "watched", "exec", "pinned")
# Those without a way to pin, or whose memory is pinned.
NOT_PINNED = {"jax_arrays", "nvbandwidth", "generate"}


def built(source: Path, folder: Path, *libraries: str) -> Path | None:
    """Compile a program in CUDA; None if that fails."""
    made = folder / source.stem
    if not made.exists():
        nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        options = ["-O2", "-std=c++17", "-arch=native", "-cudart", "static"]
        command = [nvcc, *options, str(source), "-o", str(made), *libraries]
        if subprocess.run(command, check=False).returncode:  # noqa: S603
            return None
    return made


def command_of(name: str, folder: Path, nvbandwidth: str) -> list[str] | None:
    """Give a program's command; None if it can't run here."""
    if name == "nvbandwidth":
        tests = ["host_to_device_memcpy_ce", "device_to_host_memcpy_ce"]
        return [nvbandwidth, "-t", *tests, "-b", "512", "-i", "8"] if nvbandwidth else None
    source = HERE / PROGRAMS[name][0]
    if source.suffix == ".py":
        return [sys.executable, str(source), str(folder)]
    made = built(source, folder)
    return [str(made)] if made else None


def call_costs(folder: Path, least_bytes: tuple[int, int], turns: int) -> dict[str, Any]:
    """Time single calls plain, watched and under exec, by turns: the least of each, in ns."""
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    made = built(HERE.parent / "call_costs.cu", folder, "-lcuda", f"-L{toolkit}/lib64/stubs")
    ways = ("plain", "watched", "exec")
    least: dict[str, dict[str, float]] = {way: {} for way in ways}
    for _ in range(turns if made else 0):
        for way in ways:
            for name, ns in one_run([str(made)], way, least_bytes).get("ns", {}).items():
                least[way][name] = min(ns, least[way].get(name, ns))
    return least


def one_run(
    command: list[str], way: str, least_bytes: tuple[int, int], path: str = ""
) -> dict[str, Any]:
    """Run a program once; give what it printed, and what was counted."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as counters:
        environment = dict(os.environ)
        if path:
            environment["PYTHONPATH"] = f"{path}:{environment.get('PYTHONPATH', '')}"
        if way in {"watched", "exec"}:
            environment = watched_environment(environment, Path(counters))
            mode = "audit" if way == "watched" else "on"
            up, down = map(str, least_bytes)
            environment = exec_environment(environment, mode, up=up, down=down)
        more = ["--pinned"] if way == "pinned" else []
        begin = time.perf_counter()
        done = subprocess.run(  # noqa: S603
            [*command, *more],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        whole = time.perf_counter() - begin
        found: dict[str, Any] = {"whole_seconds": whole, "code": done.returncode}
        lines = [line for line in done.stdout.splitlines() if line.startswith('{"')]
        found |= json.loads(lines[-1]) if lines else {"said": (done.stdout + done.stderr)[-2000:]}
        if way in {"watched", "exec"}:
            processes = [read_counters(file) for file in counter_files(Path(counters))]
            report = report_on(processes, costs_here())
            found["verdict"] = report.verdict.model_dump(mode="json", exclude={"findings"})
            found["replaced"] = report.replaced.model_dump(mode="json") if report.replaced else None
        return found


def summary_of(runs: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """
    Give each way's fastest turn of each round, what was saved and what was predicted, and whether
    all agree.

    A shared machine has slow phases of seconds to minutes: a median would compare one way's with
    another's.
    """
    found: dict[str, Any] = {}
    for way, turns in runs.items():
        # nvbandwidth says only rates.
        seconds = [one.get("seconds", [one["whole_seconds"]]) for one in turns]
        rounds = [min(turn) for turn in zip(*seconds, strict=True)]
        found[way], found[f"{way}_first"] = sum(rounds), rounds[0]
    found["outcomes_equal"] = (
        len({one.get("outcome") for turns in runs.values() for one in turns}) == 1
    )
    replaced = {way: [one["replaced"] for one in runs[way]] for way in ("watched", "exec")}
    found["copies_replaced"] = max((one["copies"] for one in replaced["exec"] if one), default=0)
    found["saved"] = found["plain"] - found["exec"]
    found["predicted"] = min(
        (one["saved_seconds"] for one in replaced["watched"] if one), default=0
    )
    found["copying_plain"] = min((one["seconds"] for one in replaced["watched"] if one), default=0)
    found["copying_exec"] = min((one["seconds"] for one in replaced["exec"] if one), default=0)
    found["watched_over_plain"] = found["watched"] / found["plain"]
    found["exec_over_plain"] = found["exec"] / found["plain"]
    return found


def main() -> None:
    """Measure, print a line a program, and write all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--costs", type=int, default=0, help="turns of the costs of calls")
    parser.add_argument("--programs", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--nvbandwidth", default="", help="its executable")
    parser.add_argument("--numpy", default="", help="a folder with a NumPy that Numba knows")
    asked = parser.parse_args()
    costs = costs_here()
    least = (costs.staged_from("up"), costs.staged_from("down"))
    document: dict[str, Any] = {
        "predicted_by": costs.source,
        "least_bytes": least,
        "cores": os.cpu_count(),
        "programs": {},
    }
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        if asked.costs:
            document["call_costs_ns"] = call_costs(Path(name), least, asked.costs)
            print(json.dumps(document["call_costs_ns"]), flush=True)
        for program in asked.programs:
            command = command_of(program, Path(name), asked.nvbandwidth)
            if command is None:
                print(program, "can't run here", flush=True)
                continue
            ways = [way for way in WAYS if way != "pinned" or program not in NOT_PINNED]
            path = asked.numpy if program == "numba_arrays" else ""
            one_run(command, "plain", least, path)  # files are made, and read once
            runs: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
            for turn in range(asked.turns):
                for way in ways[turn % len(ways) :] + ways[: turn % len(ways)]:
                    if way == "pinned" and turn:
                        continue
                    runs[way].append(one_run(command, way, least, path))
            summary = summary_of(runs)
            document["programs"][program] = {"summary": summary, "runs": runs}
            print(program, json.dumps(summary), flush=True)
            asked.out.write_text(json_text(document) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Run all fuzzers, those in C++ and those in Python, and say what each found: see README.md."""

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_CORPORA = _HERE / "corpora"
# Beyond its time a fuzzer may be at its slowest input, and replays its corpus before.
_GRACE_SECONDS = 120
# Libraries that nothing installs for the tests: without them these are left out.
_NEEDS = {"pt": "torch"}
_DONE = re.compile(r"^Done (\d+) runs in \d+ second", re.MULTILINE)
_LIMITS = (
    # Of one input. Sanitizers make a parser some times slower: 5 s stand for one without.
    "-timeout=5",
    "-rss_limit_mb=2048",
    "-malloc_limit_mb=512",
    "-print_final_stats=1",
    "-verbosity=1",
)


@dataclass(frozen=True, slots=True)
class Fuzzer:
    """One of the programs that are run."""

    name: str
    language: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of a fuzzer gave."""

    fuzzer: Fuzzer
    num_inputs: int
    seconds: float
    findings: tuple[str, ...]

    def __str__(self) -> str:
        """Give the line of a report."""
        found = "; ".join(self.findings) or "no findings"
        what = f"{self.fuzzer.name} ({self.fuzzer.language})"
        return f"{what:<26} {self.num_inputs:>12,} inputs {self.seconds:>6.0f} s   {found}"


def fuzzers(executables: Path, seconds: float) -> list[Fuzzer]:
    """Find all fuzzers, by name."""
    return [_in_cpp(path, seconds) for path in sorted(executables.glob("*_fuzzer"))] + [
        _in_python(path, seconds)
        for path in sorted((_HERE / "python").glob("*_fuzzer.py"))
        if _is_possible(path.stem.removesuffix("_fuzzer"))
    ]


def _is_possible(name: str) -> bool:
    library = _NEEDS.get(name)
    possible = library is None or importlib.util.find_spec(library) is not None
    if not possible:
        print(f"{name} is left out: it needs {library}", flush=True)
    return possible


def _in_cpp(path: Path, seconds: float) -> Fuzzer:
    name = path.name.removesuffix("_fuzzer")
    # What is new goes into the first folder; what is kept is the second.
    folders = ("corpus", str(_CORPORA / name))
    return Fuzzer(name, "C++", (str(path), f"-max_total_time={seconds:.0f}", *_LIMITS, *folders))


def _in_python(path: Path, seconds: float) -> Fuzzer:
    name = path.stem.removesuffix("_fuzzer")
    options = ("--seconds", f"{seconds:.0f}", "--corpus", str(_CORPORA / name))
    return Fuzzer(name, "Python", (sys.executable, str(path), *options))


def run(fuzzer: Fuzzer, folder: Path, seconds: float) -> Outcome:
    """Run a fuzzer in a folder of its own."""
    (folder / "corpus").mkdir(parents=True, exist_ok=True)
    before = _files(folder)
    begin = time.monotonic()
    log = folder / "log.txt"
    with log.open("wb") as output:
        status = _status(fuzzer, folder, output.fileno(), seconds + _GRACE_SECONDS)
    text = log.read_text(encoding="utf-8", errors="replace")
    done = _DONE.findall(text)
    num_inputs = int(done[-1]) if done else 0
    findings = [f"kept {path}" for path in sorted(_files(folder) - before - {log})]
    if status != 0:
        findings.append(f"it ended with {status}: {log}")
    elif num_inputs == 0:
        findings.append(f"it tried nothing: {log}")
    return Outcome(fuzzer, num_inputs, time.monotonic() - begin, tuple(findings))


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")}


def _status(fuzzer: Fuzzer, folder: Path, output: int, max_seconds: float) -> int | str:
    environment = {
        **os.environ,
        "ISTHMUS_DRIVER": "emulated",
        "ISTHMUS_PROFILE": "off",
    }
    try:
        return subprocess.run(
            fuzzer.command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=max_seconds,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        return "its time long over"


def report(outcomes: Iterable[Outcome]) -> int:
    """Print a line for each, as it ends; give the number of those that found something."""
    failed = 0
    for outcome in outcomes:
        print(outcome, flush=True)
        failed += bool(outcome.findings)
    return failed


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for each fuzzer")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at once")
    parser.add_argument("--executables", type=Path, required=True, help="folder of those in C++")
    parser.add_argument("--folder", type=Path, required=True, help="for logs and findings")
    parser.add_argument("names", nargs="*", help="run these only")
    options = parser.parse_args()
    found = fuzzers(options.executables.resolve(), options.seconds)
    if unknown := set(options.names) - {each.name for each in found}:
        parser.error(f"no fuzzer is called {', '.join(sorted(unknown))}")
    if not any(each.language == "C++" for each in found):
        parser.error(f"{options.executables} has no fuzzers: `make fuzz` builds them")
    wanted = [each for each in found if not options.names or each.name in options.names]
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        folders = [options.folder.resolve() / f"{each.name}-{each.language}" for each in wanted]
        runs = [
            pool.submit(run, each, folder, options.seconds)
            for each, folder in zip(wanted, folders, strict=True)
        ]
        return 1 if report(each.result() for each in runs) else 0


if __name__ == "__main__":
    sys.exit(main())

"""
Crafted traces are refused with an error of ours, or read and simulated.

What a trace may not do: end the process, raise anything else, or take more than a second of the
processor. So each is read in a child process, which tells how far it is in memory that both have.
There is no Atheris here: what is read is mostly Arrow's, which it can't follow, and it would not
survive what is looked for.
"""

import argparse
import mmap
import os
import secrets
import shutil
import signal
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from crafted_traces import CRAFTED, crafted, small_traces
from fuzzing import Finding, require, require_readable
from isthmus.errors import Error, UsageError
from isthmus.sim.machine_files import DEFAULT_MACHINE, load_machine
from isthmus.sim.running import simulate
from isthmus.sim.trace.file import trace_info
from isthmus.sim.trace.report import info_text

# In memory shared with a child: the number of its trace, and how many it has read.
_PROGRESS = struct.Struct("<QQ")
_MAX_CPU_SECONDS = 1.0
# A child that waits for something takes no CPU time.
_MAX_SECONDS = 60.0
_MAX_FINDINGS = 10
_POLL_SECONDS = 0.05
_FOUND = 1


@dataclass(slots=True)
class Child:
    """A process that reads one crafted trace after the other."""

    folder: Path
    shared: mmap.mmap = field(default_factory=lambda: mmap.mmap(-1, _PROGRESS.size))
    pid: int = 0
    seen: int = -1
    seen_at: float = 0.0

    @property
    def progress(self) -> tuple[int, int]:
        """The number of its trace, and how many it has read."""
        number, done = _PROGRESS.unpack(self.shared[:])
        return number, done


@dataclass(slots=True)
class Findings:
    """What was found, kept in the current folder."""

    count: int = 0

    def add(self, file: Path, name: str, why: str) -> None:
        """Keep a file, and say what it does."""
        kept = Path(f"{name}.arrow")
        shutil.copyfile(file, kept)
        print(f"finding: {kept}: {why}", flush=True)
        self.count += 1


def check(data: bytes) -> None:
    """
    Read a trace in a child process.

    Raises:
        Finding: It does what it may not.
    """
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "kept.arrow"
        path.write_bytes(data)
        pid = os.fork()
        if pid == 0:
            _in_child(lambda: read(path))
        _, status = os.waitpid(pid, 0)
    if status != 0:
        raise Finding(why_ended(status))


def read(path: Path) -> None:
    """Do all that is done with a trace, in a process that a signal may end at any time."""
    signal.setitimer(signal.ITIMER_PROF, _MAX_CPU_SECONDS)
    try:
        require(info_text(trace_info(path)).replace("\n", "").isprintable(), "what is shown moves")
        simulate(path, _MACHINE)
    except UsageError as refusal:
        require_readable(refusal)
    except Error as failure:
        require(str(failure), "a failure says nothing")
    signal.setitimer(signal.ITIMER_PROF, 0)


def work(child: Child, first: int, step: int, originals: list[bytes]) -> None:
    """Read crafted traces until killed, until the parent has gone, or until one is a finding."""
    parent = os.getppid()
    for done in range(1 << 62):
        if os.getppid() != parent:
            return
        number = first + done * step
        child.shared[:] = _PROGRESS.pack(number, done)
        read(crafted(number, originals, child.folder))


def start(child: Child, first: int, step: int, originals: list[bytes]) -> None:
    """Fork a child that begins with a trace's number."""
    child.shared[:] = _PROGRESS.pack(first, 0)
    child.seen, child.seen_at = -1, time.monotonic()
    child.pid = os.fork()
    if child.pid == 0:
        _in_child(lambda: work(child, first, step, originals))


def why_ended(status: int) -> str:
    """Say what a child's end means."""
    if not os.WIFSIGNALED(status):
        return "it raises what it may not"
    number = os.WTERMSIG(status)
    if number == signal.SIGPROF:
        return f"it takes more than {_MAX_CPU_SECONDS} s of the processor"
    return f"it ends the process by {signal.Signals(number).name}"


def ended(child: Child) -> str | None:
    """Say why a child has ended; None if it goes on."""
    pid, status = os.waitpid(child.pid, os.WNOHANG)
    if pid != 0:
        return why_ended(status)
    _, done = child.progress
    now = time.monotonic()
    if done != child.seen:
        child.seen, child.seen_at = done, now
    elif now - child.seen_at > _MAX_SECONDS:
        stop(child)
        return f"it waits for {_MAX_SECONDS} s"
    return None


def stop(child: Child) -> None:
    """End a child."""
    os.kill(child.pid, signal.SIGKILL)
    os.waitpid(child.pid, 0)


def replay(corpus: Path, findings: Findings) -> int:
    """Read the traces that are kept; give their number."""
    files = sorted(path for path in corpus.iterdir() if path.is_file())
    for file in files:
        try:
            check(file.read_bytes())
        except Finding as finding:
            findings.add(file, file.stem, str(finding))
    return len(files)


def fuzz(seconds: float, seed: int, findings: Findings) -> int:
    """Read crafted traces for a while in a child for each processor; give their number."""
    total = 0
    until = time.monotonic() + seconds
    step = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="isthmus-traces-") as name:
        originals = small_traces(Path(name))
        children = [Child(Path(tempfile.mkdtemp(dir=name))) for _ in range(step)]
        for index, child in enumerate(children):
            start(child, seed + index, step, originals)
        while time.monotonic() < until and findings.count < _MAX_FINDINGS:
            time.sleep(_POLL_SECONDS)
            for child in children:
                if (why := ended(child)) is None:
                    continue
                number, done = child.progress
                total += done + 1
                findings.add(child.folder / CRAFTED, f"trace-{number}", why)
                start(child, number + step, step, originals)
        for child in children:
            stop(child)
            total += child.progress[1]
    return total


def main() -> int:
    """Take the options of every fuzzer in Python."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long")
    parser.add_argument("--corpus", type=Path, required=True, help="traces that are read first")
    parser.add_argument("--seed", type=int, help="the first crafted trace's number")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else secrets.randbits(48)
    begin = time.monotonic()
    findings = Findings()
    num_inputs = replay(options.corpus, findings)
    print(f"crafted traces from number {seed} on", flush=True)
    num_inputs += fuzz(options.seconds, seed, findings)
    print(f"Done {num_inputs} runs in {time.monotonic() - begin:.0f} second(s)")
    return 1 if findings.count else 0


def _in_child(action: Callable[[], None]) -> NoReturn:
    """End this process with 0 if nothing is raised."""
    try:
        action()
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the finding
        print(f"{type(error).__name__}: {error}", flush=True)
        os._exit(_FOUND)
    os._exit(0)


_MACHINE = load_machine(DEFAULT_MACHINE)

if __name__ == "__main__":
    sys.exit(main())

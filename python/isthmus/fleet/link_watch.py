"""The readings of all links of this node: a process for each GPU and round, none between."""

import json
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from isthmus.errors import UsageError
from isthmus.run.model import Run
from isthmus.run.reading import is_journal, kept_files, read_run_file
from isthmus.run.record import Integer, Name, Number, Record, SmallNumber

ROUND_S = 10.0
"""A round ends then, whatever its processes do."""
_MOST_RUNS = 16


class Reading(Record):
    """A GPU and its link, as a round found it. `null`: not known."""

    uuid: Name
    pci_address: Name
    name: Name
    emulated: bool
    read_at: Number | None = None
    """When it was last read, in seconds since 1970."""
    reason: Name = "unread"
    """Why the link isn't known, as a word for a label: CUDA's name of an error. "" if it is."""
    detail: str = ""
    generation: SmallNumber | None = None
    generation_max: SmallNumber | None = None
    width: SmallNumber | None = None
    width_max: SmallNumber | None = None
    downtrained: bool | None = None
    bytes_per_second: Number | None = None
    """Of the median copy of 1 MiB from pinned memory, its start included."""
    link_seconds: Number | None = None
    """How long all copies of the round took together."""
    replays: Integer | None = None

    def found(self, **facts: object) -> "Reading":
        """Give the GPU with new facts: of what was read before, only the time stays."""
        same = self.model_dump(include={"uuid", "pci_address", "name", "emulated", "read_at"})
        return Reading.model_validate(same | facts)

    @property
    def in_words(self) -> str:
        """What a log says of it."""
        if self.reason or self.downtrained is None:
            return f"isn't known: {self.detail or self.reason or 'not modelled, or hidden'}"
        now = f"Gen{self.generation} x{self.width} under load"
        most = f", at most Gen{self.generation_max} x{self.width_max}"
        return f"is downtrained: {now}{most}" if self.downtrained else f"is healthy: {now}"


class LinkWatch:
    """The GPUs of this node: the reading of each, and by UUID its last kept run."""

    def __init__(
        self,
        gpus: Sequence[Reading],
        start: Callable[[str], "subprocess.Popen[str]"],
        clock: Callable[[], float],
    ) -> None:
        """Watch some GPUs: `start` starts the process that reads one, by its UUID."""
        # Both are replaced as a whole: other threads read them.
        self.readings, self.runs = gpus, dict[str, Run]()
        self._start, self._clock = start, clock
        self._files: Sequence[Path] = ()
        self._children: dict[str, subprocess.Popen[str]] = {}

    def round(self) -> list[str]:
        """Read every link, and the kept runs; give a line of words for each GPU."""
        end = self._clock() + ROUND_S
        # A process that waits for a broken GPU can't be killed: there is never a second one.
        stuck = {uuid for uuid, child in self._children.items() if child.poll() is None}
        free = [gpu.uuid for gpu in self.readings if gpu.uuid not in stuck]
        self._children |= {uuid: self._start(uuid) for uuid in free}
        self.readings = [
            gpu.found(reason="hangs", detail="an earlier process still waits for the GPU")
            if gpu.uuid in stuck
            else self._answer(gpu, end)
            for gpu in self.readings
        ]
        self._read_runs([file for file in kept_files() if not is_journal(file)][-_MOST_RUNS:])
        return [f"link {one.pci_address} {one.in_words}" for one in self.readings]

    def close(self) -> None:
        """End the processes that still run."""
        for child in self._children.values():
            child.kill()

    def _answer(self, gpu: Reading, end: float) -> Reading:
        child = self._children[gpu.uuid]
        try:
            said, _ = child.communicate(timeout=max(0.0, end - self._clock()))
            return gpu.found(**json.loads(said))
        except subprocess.TimeoutExpired:
            child.kill()
            return gpu.found(reason="timed_out", detail=f"no answer within {ROUND_S:g} s")
        except (ValueError, TypeError):
            return gpu.found(reason="crashed", detail=f"exit code {child.poll()} of its process")

    def _read_runs(self, files: Sequence[Path]) -> None:
        if files == self._files:
            return
        found: dict[str, Run] = {}
        for file in files:
            with suppress(UsageError):
                run = read_run_file(file)
                found[run.machine.device.uuid] = run
        self._files, self.runs = files, found

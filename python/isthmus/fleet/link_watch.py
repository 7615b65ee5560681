"""The readings of all links of this node: a process for each GPU and round, none between."""

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from isthmus.errors import UsageError
from isthmus.measure.run.reading import kept_files, read_run_file
from isthmus.measure.run.record import Integer, Name, Number, Record, SmallNumber

# A round ends after so long, whatever its processes do, and begins with each period: together they
# are a minute.
PERIOD_S, ROUND_S = 50.0, 10.0


class Reading(Record):
    """A GPU and its link, as a round found it. `null`: not known."""

    uuid: Name
    pci_address: Name
    name: Name
    emulated: bool
    read_at: Number | None = None
    reason: Name = "unread"
    """Why the link isn't known, as a word for a label: CUDA's name of an error. "" if it is."""
    detail: str = ""
    generation: SmallNumber | None = None
    generation_max: SmallNumber | None = None
    width: SmallNumber | None = None
    width_max: SmallNumber | None = None
    downtrained: bool | None = None
    bytes_per_second: Number | None = None
    link_seconds: Number | None = None
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
    """The GPUs of this node: a reading of each, and by UUID and test the rates of kept runs."""

    def __init__(
        self, gpus: Sequence[Reading], start: Callable[[str], "subprocess.Popen[str]"]
    ) -> None:
        """Watch some GPUs: `start` starts the process that reads one, by its UUID."""
        # Both are replaced as a whole: other threads read them.
        self.readings, self.rates = gpus, _last_rates([])
        self._start, self._files = start, list[Path]()
        self._children: dict[str, subprocess.Popen[str]] = {}

    def round(self) -> list[str]:
        """Read every link, and the kept runs; give a line of words for each GPU."""
        end = time.monotonic() + ROUND_S
        for gpu in self.readings:
            before = self._children.get(gpu.uuid)
            # One that waits for a broken GPU can't be killed: there is never a second one.
            if before is None or before.poll() is not None:
                self._children[gpu.uuid] = self._start(gpu.uuid)
        self.readings = [self._answer(gpu, end) for gpu in self.readings]
        if (files := kept_files()[-16:]) != self._files:
            self._files, self.rates = files, _last_rates(files)
        return [f"link {one.pci_address} {one.in_words}" for one in self.readings]

    def close(self) -> None:
        """End the processes that still run."""
        for child in self._children.values():
            child.kill()

    def _answer(self, gpu: Reading, end: float) -> Reading:
        child = self._children[gpu.uuid]
        try:
            # Even if another one has used up the time: this one may have ended long ago.
            said, _ = child.communicate(timeout=max(0.5, end - time.monotonic()))
            return gpu.found(**{"reason": "", **json.loads(said)})
        except subprocess.TimeoutExpired:
            child.kill()
            return gpu.found(reason="timed_out", detail=f"no answer within {ROUND_S:g} s")
        except (ValueError, TypeError):
            return gpu.found(reason="crashed", detail=f"exit code {child.poll()} of its process")


def _last_rates(files: Sequence[Path]) -> dict[tuple[str, str], float]:
    """Give the rate of the largest copy, by UUID and test, of runs of which the last counts."""
    found: dict[tuple[str, str], float] = {}
    for file in files:
        with suppress(UsageError):
            run = read_run_file(file)
            for one in sorted(run.results, key=lambda one: one.bytes):
                if one.metric == "bandwidth" and one.median:
                    found[run.machine.device.uuid, one.test] = one.median
    return found

"""A machine whose links `isthmus fleet export` reads: its driver, NVML and clock, and processes."""

import json
import subprocess
from collections.abc import Iterator
from types import SimpleNamespace

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from isthmus.cli.fleet.link_probe import answer
from isthmus.errors import DriverError
from isthmus.fleet.link_watch import Collector, LinkWatch, Reading


class Machine:
    """
    GPUs with a clock that only copies and waits advance.

    Attributes:
        now: The clock.
        copy_s: How long a copy of 1 MiB takes.
        copies: When each copy began.
        trained: By PCI address, generation and width under load.
        wakes_at: Until then links are at generation 1, as idle ones.
        refuses: By ordinal, CUDA's name of the error that a context ends in.
    """

    def __init__(self, num_gpus: int = 1) -> None:
        self.now, self.copy_s, self.wakes_at = 100.0, 20e-6, 0.0
        self.copies: list[float] = []
        self.refuses: dict[int, str] = {}
        self.devices = [
            SimpleNamespace(
                ordinal=number,
                uuid=f"GPU-{number}",
                pci_address=f"0000:0{number}:00.0",
                name="NVIDIA H100",
            )
            for number in range(num_gpus)
        ]
        self.trained = {one.pci_address: (5, 16) for one in self.devices}
        self.time = SimpleNamespace(
            monotonic=lambda: self.now, time=lambda: 1.7e9 + self.now, sleep=self._sleep
        )
        driver = SimpleNamespace(
            emulated=False, device=self.devices.__getitem__, device_count=lambda: len(self.devices)
        )
        self.native = SimpleNamespace(
            Driver=SimpleNamespace(open=lambda _source: driver),
            Context=self._context,
            CopyBuffers=lambda *_, **__: None,
            Stopping=SimpleNamespace,
            Bench=lambda _context: SimpleNamespace(measure=self._copy),
        )
        self.nvml = SimpleNamespace(
            nvmlInit=lambda: None,
            nvmlShutdown=lambda: None,
            nvmlDeviceGetHandleByPciBusId=lambda address: address.decode(),
            nvmlDeviceGetCurrPcieLinkGeneration=lambda gpu: self._link(gpu)[0],
            nvmlDeviceGetCurrPcieLinkWidth=lambda gpu: self._link(gpu)[1],
            nvmlDeviceGetMaxPcieLinkGeneration=lambda _gpu: 5,
            nvmlDeviceGetMaxPcieLinkWidth=lambda _gpu: 16,
            nvmlDeviceGetPcieReplayCounter=lambda _gpu: 3,
        )

    def readings(self) -> list[Reading]:
        listed = answer([], self.native, self.nvml)
        assert isinstance(listed, list)
        return [Reading(**one) for one in listed]

    def start(self, uuid: str) -> "subprocess.Popen[str]":
        """Start what stands for the process of a GPU."""
        return child(json.dumps(answer([uuid], self.native, self.nvml)))

    def _context(self, _driver: object, ordinal: int) -> None:
        if name := self.refuses.get(ordinal):
            raise DriverError(f"{name}!", code=2, code_name=name, symbol="cuDevicePrimaryCtxRetain")

    def _copy(self, *_: object, **__: object) -> SimpleNamespace:
        self.copies += [self.now, self.now + self.copy_s]
        self.now += 2 * self.copy_s
        sample = SimpleNamespace(seconds=[self.copy_s])
        return SimpleNamespace(first_call_seconds=self.copy_s, samples=[sample])

    def _link(self, gpu: str) -> tuple[int, int]:
        generation, width = self.trained[gpu]
        return (generation if self.now >= self.wakes_at else 1, width)

    def _sleep(self, seconds: float) -> None:
        self.now += seconds


class Child(SimpleNamespace):
    """A process that has said something, or that never will."""

    def communicate(self, *, timeout: float) -> tuple[str, None]:
        if self.said is None:
            raise subprocess.TimeoutExpired("probe", timeout)
        return self.said, None

    def poll(self) -> int | None:
        return None if self.said is None else 0

    def kill(self) -> None:
        self.killed = True


def child(said: str | None) -> "subprocess.Popen[str]":
    """Make a process; None: it hangs, even if it is killed."""
    made: subprocess.Popen[str] = Child(said=said, killed=False)  # type: ignore[assignment]
    return made


def parsed(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    """Read metrics as Prometheus does: by name, and by their labels' values."""

    def samples() -> Iterator[tuple[str, tuple[str, ...], float]]:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                yield sample.name, tuple(sample.labels.values()), sample.value

    found: dict[str, dict[tuple[str, ...], float]] = {}
    for name, labels, value in samples():
        found.setdefault(name, {})[labels] = value
    return found


def metrics_of(watch: LinkWatch) -> dict[str, dict[tuple[str, ...], float]]:
    return parsed(generate_latest(Collector(watch)).decode())

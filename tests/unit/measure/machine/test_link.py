"""The NVML side, with a library whose answers the test chooses."""

import threading
from types import SimpleNamespace

from isthmus.errors import Error
from isthmus.measure.machine.link import UNKNOWN_LINK, UNKNOWN_STATE, read_link

ADDRESS = "0000:01:00.0"


class NvmlError(Exception):
    pass


class FakeNvml:
    """Looks like pynvml as far as Isthmus uses it."""

    NVML_CLOCK_SM = 1
    NVML_CLOCK_MEM = 2
    nvmlClocksThrottleReasonSwPowerCap = 4  # noqa: N815 - NVML's names
    nvmlClocksThrottleReasonHwSlowdown = 8  # noqa: N815

    def __init__(self, *broken: str) -> None:
        self.broken = broken
        self.is_open = False

    def __getattribute__(self, name: str) -> object:
        if name.startswith("nvml") and name in object.__getattribute__(self, "broken"):
            raise NvmlError(f"{name}: Not Supported")
        return object.__getattribute__(self, name)

    def nvmlInit(self) -> None:  # noqa: N802 - NVML's names, here and below
        self.is_open = True

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.is_open = False

    def nvmlDeviceGetHandleByPciBusId(self, address: bytes) -> str:  # noqa: N802
        assert address == ADDRESS.encode()
        return "gpu"

    def nvmlSystemGetDriverVersion(self) -> bytes:  # noqa: N802
        return b"580.159.04"

    def nvmlDeviceGetCurrPcieLinkGeneration(self, gpu: str) -> int:  # noqa: N802
        assert gpu == "gpu"
        return 5

    def nvmlDeviceGetMaxPcieLinkGeneration(self, gpu: str) -> int:  # noqa: N802
        return 5 if gpu == "gpu" else 0

    def nvmlDeviceGetCurrPcieLinkWidth(self, gpu: str) -> int:  # noqa: N802
        return 16 if gpu == "gpu" else 0

    def nvmlDeviceGetMaxPcieLinkWidth(self, gpu: str) -> int:  # noqa: N802
        return 16 if gpu == "gpu" else 0

    def nvmlDeviceGetBAR1MemoryInfo(self, gpu: str) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(bar1Total=128 << 30, gpu=gpu)

    def nvmlDeviceGetPerformanceState(self, gpu: str) -> int:  # noqa: N802
        return 0 if gpu == "gpu" else 8

    def nvmlDeviceGetClockInfo(self, gpu: str, which: int) -> int:  # noqa: N802
        return {self.NVML_CLOCK_SM: 1980, self.NVML_CLOCK_MEM: 2619}[which] if gpu else 0

    def nvmlDeviceGetPersistenceMode(self, gpu: str) -> int:  # noqa: N802
        return int(gpu == "gpu")

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, gpu: str) -> int:  # noqa: N802
        return 4 if gpu == "gpu" else 0


ALL = [name for name in vars(FakeNvml) if name.startswith("nvmlDevice")]


def test_link_and_clocks_are_read_while_the_load_runs() -> None:
    library, read = FakeNvml(), threading.Event()
    loaded = []

    def load() -> None:
        loaded.append(library.is_open and not read.is_set())

    facts = read_link(ADDRESS, load, library, settle_seconds=0)
    assert loaded
    assert all(loaded)
    assert (facts.link.generation, facts.link.width, facts.link.read_under_load) == (5, 16, True)
    assert facts.link.bar1_bytes == 128 << 30
    assert facts.state.performance_state == "P0"
    assert facts.state.sm_clock_hz == 1_980_000_000
    assert facts.state.memory_clock_hz == 2_619_000_000
    assert facts.state.throttle_reasons == ["sw_power_cap"]
    assert facts.state.persistence_mode is True
    assert facts.driver_version == "580.159.04"
    assert facts.notes == []
    assert not library.is_open


def test_without_a_load_the_link_is_said_to_be_read_idle() -> None:
    assert read_link(ADDRESS, None, FakeNvml()).link.read_under_load is False


def test_a_load_that_fails_is_noted_and_the_link_read_all_the_same() -> None:
    def load() -> None:
        raise Error("no stream")

    facts = read_link(ADDRESS, load, FakeNvml(), settle_seconds=0)
    assert facts.link.generation == 5
    assert facts.link.read_under_load is False
    assert facts.notes == ["the link was read idle: no stream"]


def test_a_fact_that_nvml_does_not_know_is_null_with_a_note_and_the_others_stand() -> None:
    for broken in ALL:
        if broken == "nvmlDeviceGetHandleByPciBusId":
            continue
        facts = read_link(ADDRESS, None, FakeNvml(broken))
        known = facts.link.model_dump() | facts.state.model_dump()
        assert 1 <= sum(value is None for value in known.values()) <= 2, broken
        assert all(broken in note for note in facts.notes), broken


def test_without_nvml_every_fact_is_null_and_one_note_says_why() -> None:
    for broken in ("nvmlInit", "nvmlDeviceGetHandleByPciBusId"):
        facts = read_link(ADDRESS, None, FakeNvml(broken))
        assert facts.link == UNKNOWN_LINK
        assert facts.state == UNKNOWN_STATE
        assert facts.notes == [f"no link and clock facts: {broken}: Not Supported"]


def test_a_broken_shutdown_harms_nobody() -> None:
    facts = read_link(ADDRESS, None, FakeNvml("nvmlShutdown", "nvmlSystemGetDriverVersion"))
    assert facts.link.generation == 5
    assert facts.driver_version is None


def test_the_load_runs_until_everything_is_read_however_short_its_calls_are() -> None:
    library, calls = FakeNvml(), []
    answered = threading.Event()

    def load() -> None:
        calls.append(answered.is_set())

    def slow(gpu: str) -> int:
        before = len(calls)
        while len(calls) < before + 3:
            pass
        answered.set()
        return 16 if gpu else 0

    library.nvmlDeviceGetCurrPcieLinkWidth = slow  # type: ignore[method-assign]
    facts = read_link(ADDRESS, load, library, settle_seconds=0)
    assert facts.link.read_under_load is True
    assert calls[0] is False


def test_a_load_that_breaks_off_while_the_link_is_read_is_not_called_a_load() -> None:
    calls: list[int] = []

    def load() -> None:
        calls.append(0)
        if len(calls) == 2:
            raise Error("stream lost")

    facts = read_link(ADDRESS, load, FakeNvml(), settle_seconds=0.05)
    assert facts.link.read_under_load is False
    assert facts.notes == ["the link was read idle: stream lost"]

"""Reduced clocks, with an NVML whose answers the test chooses."""

from types import SimpleNamespace

from isthmus.measure.machine.link import ClockWatch

ADDRESS = "0000:01:00.0"


class NvmlError(Exception):
    pass


class FakeNvml:
    """Looks like pynvml as far as clocks go."""

    nvmlClocksThrottleReasonSwPowerCap = 4  # noqa: N815 - NVML's names
    nvmlClocksThrottleReasonHwThermalSlowdown = 64  # noqa: N815
    NVML_PERF_POLICY_POWER = 0
    NVML_PERF_POLICY_THERMAL = 1

    def __init__(self) -> None:
        self.mask = 1  # idle: no reason of ours
        self.held_ns = {0: 1000, 1: 2000}
        self.counts = True
        self.there = True

    def nvmlInit(self) -> None:  # noqa: N802 - NVML's names, here and below
        if not self.there:
            raise NvmlError("Driver Not Loaded")

    def nvmlShutdown(self) -> None:  # noqa: N802
        pass

    def nvmlDeviceGetHandleByPciBusId(self, address: bytes) -> str:  # noqa: N802
        return address.decode()

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, gpu: str) -> int:  # noqa: N802
        assert gpu == ADDRESS
        return self.mask

    def nvmlDeviceGetViolationStatus(self, gpu: str, policy: int) -> SimpleNamespace:  # noqa: N802
        assert gpu == ADDRESS
        if not self.counts:
            raise NvmlError("Not Supported")
        return SimpleNamespace(violationTime=self.held_ns[policy])


def test_an_idle_gpus_low_clocks_are_no_reason() -> None:
    assert ClockWatch(ADDRESS, FakeNvml()).reasons() == []


def test_what_holds_the_clocks_down_now_is_named() -> None:
    library = FakeNvml()
    watch = ClockWatch(ADDRESS, library)
    library.mask = 4 | 64
    assert watch.reasons() == ["sw_power_cap", "hw_thermal_slowdown"]


def test_what_held_them_down_since_the_last_look_is_named_once() -> None:
    library = FakeNvml()
    watch = ClockWatch(ADDRESS, library)
    library.held_ns[1] += 1
    assert watch.reasons() == ["slowed_by_heat"]
    assert watch.reasons() == []


def test_without_counters_the_present_is_still_known() -> None:
    library = FakeNvml()
    library.counts = False
    library.mask = 4
    assert ClockWatch(ADDRESS, library).reasons() == ["sw_power_cap"]


def test_without_nvml_nobody_can_tell() -> None:
    library = FakeNvml()
    library.there = False
    watch = ClockWatch(ADDRESS, library)
    assert watch.reasons() is None
    watch.close()

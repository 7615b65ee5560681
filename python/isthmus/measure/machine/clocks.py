"""The reasons for reduced GPU clocks, from one call to the next."""

from functools import partial
from typing import Any

from isthmus.measure.machine.nvml import Nvml

# Our names for NVML's clock reasons: only those that make a GPU slower than it could be. The low
# clocks of an idle GPU aren't among them.
CLOCK_REASONS = {
    "sw_power_cap": "nvmlClocksThrottleReasonSwPowerCap",
    "hw_slowdown": "nvmlClocksThrottleReasonHwSlowdown",
    "sw_thermal_slowdown": "nvmlClocksThrottleReasonSwThermalSlowdown",
    "hw_thermal_slowdown": "nvmlClocksThrottleReasonHwThermalSlowdown",
    "hw_power_brake_slowdown": "nvmlClocksThrottleReasonHwPowerBrakeSlowdown",
    "application_clocks": "nvmlClocksThrottleReasonApplicationsClocksSetting",
    "sync_boost": "nvmlClocksThrottleReasonSyncBoost",
}
# Counters of the time that clocks were reduced: they include reasons that ended between the calls.
_POLICIES = {
    "slowed_by_power": "NVML_PERF_POLICY_POWER",
    "slowed_by_heat": "NVML_PERF_POLICY_THERMAL",
}


def clock_reasons(nvml: Any, gpu: Any) -> list[str]:  # noqa: ANN401 - NVML has no types
    """Name the current reasons."""
    mask = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu)
    return [name for name, constant in CLOCK_REASONS.items() if mask & getattr(nvml, constant, 0)]


class ClockWatch:
    """Reads one GPU's reasons repeatedly. A fact that isn't available is not a reason."""

    def __init__(self, pci_address: str, library: Any = None) -> None:  # noqa: ANN401 - a module
        """Open NVML for a GPU such as "0000:01:00.0", and read for the first time."""
        self._nvml = Nvml(pci_address, library).__enter__()
        self._held_ns = self._read_counters()

    def close(self) -> None:
        """Close NVML."""
        self._nvml.__exit__(None, None, None)

    def reasons(self) -> list[str] | None:
        """Name the reasons for reduced clocks since the last call, or now; None if unknown."""
        now = self._nvml.ask("clock reasons", clock_reasons)
        before, self._held_ns = self._held_ns, self._read_counters()
        if now is None:
            return None
        grown = [name for name, held in self._held_ns.items() if held > before.get(name, held)]
        return [*now, *grown]

    def _read_counters(self) -> dict[str, int]:
        counters = {}
        for name, policy in _POLICIES.items():
            held_ns = self._nvml.ask("slowdown counters", partial(_held, policy=policy))
            if held_ns is not None:
                counters[name] = held_ns
        return counters


def _held(nvml: Any, gpu: Any, policy: str) -> int:  # noqa: ANN401 - NVML has no types
    return int(nvml.nvmlDeviceGetViolationStatus(gpu, getattr(nvml, policy)).violationTime)

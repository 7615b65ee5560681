"""The PCIe link and the GPU's clocks, read while copies keep both awake."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from isthmus.errors import Error
from isthmus.measure.machine.nvml import Nvml
from isthmus.measure.run.machine import GpuState, Link

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


# The load runs in calls of this length, one after another, until everything is read.
LOAD_CALL_SECONDS = 0.1
# An idle link trains up within a tenth of a second of traffic; clocks take a little longer.
_SETTLE_SECONDS = 0.4
_HZ_PER_MHZ = 1_000_000
UNKNOWN_LINK = Link(
    generation=None,
    generation_max=None,
    width=None,
    width_max=None,
    read_under_load=None,
    bar1_bytes=None,
)
UNKNOWN_STATE = GpuState(
    performance_state=None,
    sm_clock_hz=None,
    memory_clock_hz=None,
    throttle_reasons=None,
    persistence_mode=None,
)


@dataclass(frozen=True)
class LinkFacts:
    """NVML's facts."""

    link: Link = UNKNOWN_LINK
    state: GpuState = UNKNOWN_STATE
    driver_version: str | None = None
    notes: list[str] = field(default_factory=list)


def read_link(
    pci_address: str,
    load: Callable[[], None] | None = None,
    library: Any = None,  # noqa: ANN401 - a module
    settle_seconds: float | None = None,
) -> LinkFacts:
    """
    Read link and clocks while `load`, which takes `LOAD_CALL_SECONDS`, is called again and again,
    from `settle_seconds` (0.4 s) before; None reads the link as it is.
    """
    settle = _SETTLE_SECONDS if settle_seconds is None else settle_seconds
    with Nvml(pci_address, library) as nvml, _under(load, settle) as failures:
        link = _read_link(nvml)
        state = _read_state(nvml)
        version = nvml.quietly(lambda library: library.nvmlSystemGetDriverVersion())
    if failures:
        nvml.notes.append(f"the link was read idle: {failures[0]}")
    loaded = load is not None and not failures and link != UNKNOWN_LINK
    return LinkFacts(
        link=link.model_copy(update={"read_under_load": loaded if link != UNKNOWN_LINK else None}),
        state=state,
        driver_version=_as_text(version),
        notes=nvml.notes,
    )


@contextmanager
def _under(load: Callable[[], None] | None, settle_seconds: float) -> Iterator[list[Exception]]:
    """
    Run a load beside the block, from before its beginning to its end; the list that is yielded is
    empty at the end if it ran all the time, or has its errors.
    """
    failures: list[Exception] = []
    under_way, enough = threading.Event(), threading.Event()
    if load is None:
        yield failures
        return
    busy = load

    def run() -> None:
        try:
            while not enough.is_set():
                busy()
                under_way.set()
        except (Error, RuntimeError, MemoryError, OSError) as error:
            failures.append(error)
        finally:
            under_way.set()

    thread = threading.Thread(target=run, name="isthmus-link-load")
    thread.start()
    try:
        # The first call may be slow to begin: the link is certainly busy only after it.
        under_way.wait()
        if not failures:
            time.sleep(settle_seconds)
        yield failures
    finally:
        enough.set()
        thread.join()


def _read_link(nvml: Nvml) -> Link:
    return Link(
        generation=nvml.ask(
            "link generation", lambda n, gpu: n.nvmlDeviceGetCurrPcieLinkGeneration(gpu)
        ),
        generation_max=nvml.ask(
            "highest link generation", lambda n, gpu: n.nvmlDeviceGetMaxPcieLinkGeneration(gpu)
        ),
        width=nvml.ask("link width", lambda n, gpu: n.nvmlDeviceGetCurrPcieLinkWidth(gpu)),
        width_max=nvml.ask(
            "greatest link width", lambda n, gpu: n.nvmlDeviceGetMaxPcieLinkWidth(gpu)
        ),
        read_under_load=None,
        bar1_bytes=nvml.ask(
            "BAR1 size", lambda n, gpu: int(n.nvmlDeviceGetBAR1MemoryInfo(gpu).bar1Total)
        ),
    )


def _read_state(nvml: Nvml) -> GpuState:
    return GpuState(
        performance_state=nvml.ask(
            "performance state", lambda n, gpu: f"P{n.nvmlDeviceGetPerformanceState(gpu)}"
        ),
        sm_clock_hz=nvml.ask(
            "SM clock",
            lambda n, gpu: _HZ_PER_MHZ * n.nvmlDeviceGetClockInfo(gpu, n.NVML_CLOCK_SM),
        ),
        memory_clock_hz=nvml.ask(
            "memory clock",
            lambda n, gpu: _HZ_PER_MHZ * n.nvmlDeviceGetClockInfo(gpu, n.NVML_CLOCK_MEM),
        ),
        throttle_reasons=nvml.ask("throttle reasons", clock_reasons),
        persistence_mode=nvml.ask(
            "persistence mode", lambda n, gpu: bool(n.nvmlDeviceGetPersistenceMode(gpu))
        ),
    )


def _as_text(value: str | bytes | None) -> str | None:
    """Older releases of the library give bytes."""
    return value.decode() if isinstance(value, bytes) else value

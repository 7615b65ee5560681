"""Finds out how GPU memory can be mapped for the CPU."""

from typing import Any

from isthmus.errors import Error, Unavailable
from isthmus.measure.doctor.facts import WindowBackend, WindowFacts, WindowMemory
from isthmus.measure.doctor.read_driver import OpenDriver
from isthmus.measure.doctor.sources import Sources

_SETTING = "ISTHMUS_WINDOW"


def read_windows(sources: Sources, driver: OpenDriver, ordinal: int) -> WindowFacts:
    """Try every backend on one device."""
    setting = sources.environment.get(_SETTING, "")
    try:
        windows = sources.native.Windows(driver.native)
        reports = windows.backends(ordinal)
        memory = _read_memory(windows, ordinal)
        limit_bytes = windows.bar1_limit_bytes(ordinal)
    except Error as failure:
        return WindowFacts(ordinal=ordinal, setting=setting, failure=str(failure))
    backends = [
        WindowBackend(name=report.backend, usable=report.usable, reason=report.reason)
        for report in reports
    ]
    return WindowFacts(
        ordinal=ordinal,
        setting=setting,
        backends=backends,
        memory=memory,
        limit_bytes=limit_bytes or None,
    )


def _read_memory(windows: Any, ordinal: int) -> list[WindowMemory]:  # noqa: ANN401 - native, or a fake
    try:
        reports = windows.memory_kinds(ordinal)
    except Unavailable:
        return []  # Windows are off, or no backend works: the backends' own reasons say why.
    return [
        WindowMemory(memory=report.memory, usable=report.usable, reason=report.reason)
        for report in reports
    ]

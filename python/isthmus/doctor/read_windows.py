"""Finds out how GPU memory can be mapped for the CPU."""

from isthmus.doctor.facts import WindowBackend, WindowFacts
from isthmus.doctor.read_driver import OpenDriver
from isthmus.doctor.sources import Sources
from isthmus.errors import Error

_SETTING = "ISTHMUS_WINDOW"


def read_windows(sources: Sources, driver: OpenDriver, ordinal: int) -> WindowFacts:
    """Try every backend on one device."""
    setting = sources.environment.get(_SETTING, "")
    try:
        windows = sources.native.Windows(driver.native)
        reports = windows.backends(ordinal)
        limit_bytes = windows.bar1_limit_bytes(ordinal)
    except Error as failure:
        return WindowFacts(ordinal=ordinal, setting=setting, failure=str(failure))
    backends = [
        WindowBackend(name=report.backend, usable=report.usable, reason=report.reason)
        for report in reports
    ]
    return WindowFacts(
        ordinal=ordinal, setting=setting, backends=backends, limit_bytes=limit_bytes or None
    )

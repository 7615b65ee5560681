"""How many CPUs a hypervisor takes from this virtual machine."""

import os
import time
from pathlib import Path


class StolenCpus:
    """The CPUs that this machine wanted and didn't have, in the mean since this was made."""

    def __init__(self) -> None:
        """Begin."""
        self._begun_s = time.perf_counter()
        self._before_s = _stolen_s()

    def mean(self) -> float:
        """Give the mean until now."""
        return (_stolen_s() - self._before_s) / (time.perf_counter() - self._begun_s)


def _stolen_s() -> float:
    """Give the seconds since boot, of all CPUs together."""
    return int(Path("/proc/stat").read_text("utf-8").split()[8]) / os.sysconf("SC_CLK_TCK")

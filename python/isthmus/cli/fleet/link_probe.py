"""
The process that reads one GPU's link for `isthmus fleet export`, and then ends.

It alone has a context on the GPU. An idle link trains down, so it is read right after copies of
1 MiB. Each takes 20 us of a link of 50 GB/s.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from isthmus.errors import DriverError, Error, NoDevice
from isthmus.measure.machine.link import UNKNOWN_LINK, read_link
from isthmus.measure.machine.link_errors import read_link_errors
from isthmus.measure.machine.nvml import Nvml
from isthmus.measure.run.machine import Link

_PROBE_BYTES = 1 << 20
_FEWEST_COPIES = 8
# A thousandth of the time between two rounds.
_LINK_SECONDS = 0.05
# An idle GPU's link rises with its performance state, within a tenth of a second of dense traffic
# (machine/link.py). Source: https://github.com/NVIDIA/open-gpu-kernel-modules/issues/731
_SETTLE_S = 1.0
# Copies of others find the link free: after probes it is left alone for nine times as long.
_PAUSES = 9
_SHORTEST_PAUSE_S = 0.005


def read_loaded(
    read: Callable[[], Link], copy: Callable[[], Sequence[float]]
) -> tuple[Link, list[float]]:
    """Copy and read by turns until the link is at its maximum, or has had its chance."""
    end, copies, best = time.monotonic() + _SETTLE_S, list[float](), UNKNOWN_LINK
    while True:
        made = copy()
        copies += made
        best = max(best, read(), key=lambda link: (link.generation or 0, link.width or 0))
        pause = max(_SHORTEST_PAUSE_S, _PAUSES * sum(made))
        trained = len(copies) >= _FEWEST_COPIES and not best.is_downtrained
        if trained or sum(copies) + sum(made) > _LINK_SECONDS or time.monotonic() + pause > end:
            return best, copies
        time.sleep(pause)


def answer(arguments: Sequence[str], native: Any, nvml: Any = None) -> object:  # noqa: ANN401
    """Give all GPUs, or what is found of the one with a UUID, or what failed."""
    try:
        driver = native.Driver.open("")
        devices = [driver.device(ordinal) for ordinal in range(driver.device_count())]
        if devices and not arguments:
            same, names = {"emulated": driver.emulated}, ("uuid", "pci_address", "name")
            return [same | {name: getattr(one, name) for name in names} for one in devices]
        for gpu in devices:
            if gpu.uuid in arguments:
                return _probed(driver, gpu, native, nvml)
        raise NoDevice("the driver shows no such GPU")
    except (Error, RuntimeError, MemoryError, OSError) as error:
        reason = error.code_name if isinstance(error, DriverError) else type(error).__name__
        return {"reason": reason, "detail": str(error)}


def _probed(driver: Any, gpu: Any, native: Any, nvml: Any) -> object:  # noqa: ANN401
    context = native.Context(driver, gpu.ordinal)
    buffers = native.CopyBuffers(context, host_memory="pinned", size_bytes=_PROBE_BYTES)
    bench = native.Bench(context)
    values = {
        "direction": "h2d",
        "size_bytes": _PROBE_BYTES,
        "blocked": False,
        "by": "copy_engine",
        "stopping": native.Stopping(min_samples=1, max_samples=1, max_seconds=0.0, verify=False),
    }

    def read() -> Link:
        return UNKNOWN_LINK if driver.emulated else read_link(gpu.pci_address, None, nvml).link

    def copy() -> list[float]:
        made = bench.measure("copies", values, buffers=[buffers])
        return [made.first_call_seconds, *made.samples[0].seconds]

    with Nvml(gpu.pci_address, nvml) as opened:
        link, copies = read_loaded(read, copy)
        c2c = opened.ask("C2C", lambda n, h: bool(n.nvmlDeviceGetC2cModeInfoV(h).isC2cEnabled))
        replays = read_link_errors(gpu.pci_address, nvml).replays
    if not driver.emulated and link.generation is None:
        return {"reason": "unreadable", "detail": "; ".join(opened.notes) or "NVML doesn't say"}
    return {
        **link.model_dump(include={"generation", "generation_max", "width", "width_max"}),
        "downtrained": None if c2c else link.is_downtrained,
        "bytes_per_second": _PROBE_BYTES / median(copies[1:]),
        "link_seconds": sum(copies),
        "replays": replays,
        "read_at": time.time(),
    }


if __name__ == "__main__":
    from isthmus import _native

    os.nice(10)
    print(json.dumps(answer(sys.argv[1:], _native)))

"""Awaited copies, and how they delay an unrelated call in a thread."""

import asyncio
import statistics
import time
from typing import Any

from copies_device import Device, host_arrays

import isthmus

NUM_AWAITED, AWAITED_BYTES, AWAITED_EMULATED_BYTES = 64, 16 << 20, 64 << 10


async def unrelated_seconds() -> float:
    """Time a call in another thread that does nothing."""
    first = time.perf_counter()
    await asyncio.to_thread(lambda: None)
    return time.perf_counter() - first


async def delays(targets: list[Any], sources: list[Any]) -> tuple[float, float, float]:
    """Give seconds: of the unrelated call alone; beside 64 awaited copies; of the copies."""
    await unrelated_seconds()
    alone = await unrelated_seconds()
    first = time.perf_counter()
    futures = [
        isthmus.copy_async(target, source, source_order="stream")
        for target, source in zip(targets, sources, strict=True)
    ]

    async def wait(future: isthmus.CopyFuture) -> None:
        await future

    waiting = [asyncio.ensure_future(wait(future)) for future in futures]
    await asyncio.sleep(0)
    beside = await unrelated_seconds()
    await asyncio.gather(*waiting)
    return alone, beside, time.perf_counter() - first


def awaited(device: Device, turns: int) -> dict[str, Any]:
    """Measure how awaited copies delay an unrelated call in a thread."""
    size = AWAITED_EMULATED_BYTES if device.driver.emulated else AWAITED_BYTES
    rows: dict[str, Any] = {}
    devices = device.pieces([size] * NUM_AWAITED)
    for memory in ("pinned", "pageable"):
        hosts = host_arrays([size] * NUM_AWAITED, pinned=memory == "pinned")
        for direction in ("H2D", "D2H"):
            targets, sources = (devices, hosts) if direction == "H2D" else (hosts, devices)
            found = [asyncio.run(delays(targets, sources)) for _ in range(min(turns, 5))]
            rows[f"{direction} {memory}"] = {
                "bytes": size * NUM_AWAITED,
                "to_thread alone": round(statistics.median(one[0] for one in found) * 1e6, 2),
                "to_thread beside 64 awaited copies": round(
                    statistics.median(one[1] for one in found) * 1e6, 2
                ),
                "64 awaited copies": round(statistics.median(one[2] for one in found) * 1e6, 2),
            }
    device.free()
    return rows

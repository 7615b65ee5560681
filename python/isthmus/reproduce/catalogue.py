"""The experiments, and what measures them again here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_KIB, _MIB = 1 << 10, 1 << 20
_SMALL_COPIES = ("host_to_device_small_copy_blocking", "device_to_host_small_copy_blocking")
_LARGE_COPIES = tuple(
    f"{direction}_memcpy_{way}"
    for direction in ("host_to_device", "device_to_host")
    for way in ("ce", "pageable")
)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """
    One experiment.

    Attributes:
        name: As users type it, and the name of its file in `published`.
        sizes: Those of its sizes that are measured, in bytes; None for each test's own.
        short_sizes: The same on an emulated device, where large copies show nothing new.
        quick_sizes: The same with `--quick`.
        seconds: The time that its measurements may take: on a GPU, and on an emulated device.
    """

    name: str
    about: str
    tests: tuple[str, ...]
    sizes: tuple[int, ...] | None
    short_sizes: tuple[int, ...] | None
    quick_sizes: tuple[int, ...] | None
    seconds: tuple[float, float]

    def budget_s(self, *, emulated: bool, quick: bool) -> float:
        """Give the seconds from the start of the program to the end of a run."""
        on_gpu, on_emulated = self.seconds
        usual = on_emulated if emulated else on_gpu
        return min(usual, QUICK_SECONDS) if quick else usual

    def sizes_within(
        self, largest_bytes: int, *, emulated: bool, quick: bool
    ) -> Sequence[int] | None:
        """
        Choose the sizes that fit on both sides, in bytes, ascending; None for each test's own, also
        if none of them fits.
        """
        wanted = self.quick_sizes if quick else self.short_sizes if emulated else self.sizes
        return [size for size in wanted or () if size <= largest_bytes] or None

    def all_sizes(self, published: Iterable[int | None], largest_bytes: int) -> tuple[int, ...]:
        """List its sizes and all published ones, in bytes, ascending, as far as they fit."""
        every = {size for size in (*published, *(self.sizes or ())) if size}
        return tuple(sorted(size for size in every if size <= largest_bytes))


QUICK_SECONDS = 10.0

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="pinned-vs-pageable",
        about="large copies from pinned and from pageable memory (RTX A6000)",
        tests=("host_to_device_pinned_vs_pageable", "device_to_host_pinned_vs_pageable"),
        sizes=(160 * _MIB, 640 * _MIB, 1600 * _MIB, 3040 * _MIB),
        short_sizes=(160 * _MIB,),
        quick_sizes=(160 * _MIB,),
        seconds=(60.0, 20.0),
    ),
    Experiment(
        name="caffe-break-even",
        about="allocating, freeing, copying, and when pinning pays off (GTX 280)",
        tests=(
            "alloc_malloc",
            "alloc_cuda_malloc_host",
            "alloc_cuda_malloc",
            "alloc_cuda_malloc_pitch",
            "alloc_cuda_malloc_array",
            *_SMALL_COPIES,
            *_LARGE_COPIES,
            "host_memory_life",
        ),
        sizes=(
            *(4, 256, 2 * _KIB, 4 * _KIB, 8 * _KIB, 64 * _KIB, 512 * _KIB, _MIB, 4 * _MIB),
            *(8 * _MIB, 16 * _MIB, 32 * _MIB, 64 * _MIB, 128 * _MIB, 256 * _MIB, 512 * _MIB),
        ),
        short_sizes=(4, 256, 2 * _KIB, 4 * _KIB, 64 * _KIB, _MIB, 4 * _MIB, 16 * _MIB, 64 * _MIB),
        quick_sizes=(4, 256, 512 * _KIB, _MIB, 16 * _MIB, 64 * _MIB),
        seconds=(60.0, 25.0),
    ),
    Experiment(
        name="gdrcopy",
        about="copies by the CPU through a window: copylat and copybw (Tesla P100, K40m)",
        tests=("window_write", "window_read", "window_bandwidth_write", "window_bandwidth_read"),
        sizes=None,
        short_sizes=None,
        quick_sizes=None,
        seconds=(30.0, 20.0),
    ),
    Experiment(
        name="d2h-overhead",
        about="the cost of bringing 4 B back after a kernel: 0bench, 1bench, 2bench (RTX 5090)",
        tests=(
            "kernel_then_copy_cpu_clock",
            "kernel_then_copy_gpu_clock",
            "copy_kernel_copy",
            "device_to_host_overlap_double_buffering",
        ),
        sizes=(4, 4 * _KIB, 64 * _KIB, _MIB, 16 * _MIB),
        short_sizes=(4, 4 * _KIB, 64 * _KIB),
        quick_sizes=(4,),
        seconds=(20.0, 20.0),
    ),
)
"""Those that are measured."""

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}

SIMULATED = "partial-page-migration"
"""The one that the simulator repeats: `isthmus.sim.paper`."""

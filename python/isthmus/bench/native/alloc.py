"""The native module's measurements of memory: its cost, its lifetime, large copies from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isthmus.bench.native.device_under_test import DeviceUnderTest
from isthmus.bench.native.instrument import NativeInstrument
from isthmus.bench.native.rule import native_rule
from isthmus.bench.native.wall_time import ALLOCATIONS, LIVES, within_wall_time
from isthmus.bench.stopping import StoppingRule
from isthmus.bench.tests.alloc import LIVE, PAGES, TOUCHED, AllocTest
from isthmus.bench.tests.bench_test import Direction, Variation
from isthmus.bench.tests.memory_life import LifeTest
from isthmus.bench.tests.pinned_vs_pageable import LargeCopyTest
from isthmus.machine.placement import stray_pages_note
from isthmus.run.break_even import MEMORY

if TYPE_CHECKING:
    from isthmus.bench.session import Measurement, Samples


class NativeAlloc(NativeInstrument):
    """Allocations and frees."""

    def measure(
        self, test: AllocTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "Measurement":
        """
        Measure one kind of memory at one size.

        Raises:
            Unavailable: It isn't available here.
            ImpossibleTime: The clock is wrong.
        """
        from isthmus import _native

        axes = dict(variation.axes)
        return within_wall_time(
            lambda: _native.measure_allocation(
                self._device.context,
                kind=test.kind,
                touched=axes.get(PAGES) == TOUCHED,
                size_bytes=size_bytes,
                num_live=int(axes.get(LIVE, 1)),
                stopping=native_rule(stopping),
            ),
            stopping,
            sampled=ALLOCATIONS,
        )


class NativeLife(NativeInstrument):
    """Host memory from its allocation until it is freed."""

    def measure(
        self, test: LifeTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "Measurement":
        """Measure one kind of memory at one size."""
        del test
        memory = str(dict(variation.axes)[MEMORY])
        return measure_lives(self._device, memory, size_bytes, stopping)


class NativeLargeCopies(NativeInstrument):
    """Large copies: each lifetime of a buffer serves both directions."""

    def __init__(self, device: DeviceUnderTest) -> None:
        """Copy nothing yet."""
        super().__init__(device)
        self._other_way: dict[tuple[Direction, int, str], OneWay] = {}

    def measure(
        self, test: LargeCopyTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "Measurement":
        """Measure one direction; reuse what a point of the other direction has measured."""
        memory = str(dict(variation.axes)[MEMORY])
        known = self._other_way.pop((test.direction, size_bytes, memory), None)
        if known is not None:
            return known
        found = measure_lives(self._device, memory, size_bytes, stopping)
        ways = {
            Direction.HOST_TO_DEVICE: one_way(found, "life_upload"),
            Direction.DEVICE_TO_HOST: one_way(found, "life_download"),
        }
        wanted = ways.pop(test.direction)
        for direction, other in ways.items():
            self._other_way[direction, size_bytes, memory] = other
        return wanted


def measure_lives(
    device: DeviceUnderTest, memory: str, size_bytes: int, stopping: StoppingRule
) -> "Measurement":
    """
    Measure lifetimes of host buffers on the device's NUMA node, and note it if they are elsewhere.

    Raises:
        Unavailable: Such memory isn't available here.
        ImpossibleTime: The clock is wrong.
    """
    from isthmus import _native

    rule = native_rule(stopping)
    found = within_wall_time(
        lambda: device.with_kernels(
            lambda kernels: _native.measure_memory_life(
                device.context,
                kernels,
                host_memory=memory,
                size_bytes=size_bytes,
                numa_node=device.placement.bound_node,
                stopping=rule,
            )
        ),
        stopping,
        sampled=LIVES,
    )
    pages, node = found.host_pages_by_node, device.placement.wanted_node
    device.note_once(stray_pages_note(pages, node, memory))
    return found


@dataclass(frozen=True, kw_only=True)
class OneStep:
    """Samples of one step of a lifetime, as the times behind a bandwidth."""

    metric: str
    seconds: Sequence[float]
    copies_per_sample: int
    stopped_by: str


@dataclass(frozen=True, kw_only=True)
class OneWay:
    """The copies in one direction of several lifetimes."""

    samples: "Sequence[Samples]"
    first_call_seconds: float
    verified_on: str
    waived: Mapping[str, str] = field(default_factory=dict)
    host_pages_by_node: Mapping[int, int]


def one_way(lives: "Measurement", step: str) -> OneWay:
    """
    Use one step's samples as a bandwidth's times.

    The very first upload is known and is not a sample; the first download is removed here.
    """
    found = next(samples for samples in lives.samples if samples.metric == step)
    seconds, first_s, verified_on = list(found.seconds), lives.first_call_seconds, lives.verified_on
    if step == "life_download":
        # Downloaded bytes are compared on the host.
        verified_on = verified_on if verified_on == "nobody" else "host"
        first_s, seconds = seconds[0], seconds[1:] or seconds
    return OneWay(
        samples=[
            OneStep(
                metric="copy_time",
                seconds=seconds,
                copies_per_sample=found.copies_per_sample,
                stopped_by=found.stopped_by,
            )
        ],
        first_call_seconds=first_s,
        verified_on=verified_on,
        host_pages_by_node=lives.host_pages_by_node,
    )

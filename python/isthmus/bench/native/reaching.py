"""The native module's measurements of memory that is accessed, not copied."""

from typing import TYPE_CHECKING

from isthmus.bench.native.instrument import NativeInstrument
from isthmus.bench.native.rule import native_rule
from isthmus.bench.stopping import StoppingRule
from isthmus.bench.tests.bench_test import Direction, Variation
from isthmus.bench.tests.managed import ManagedTest, ManagedWay, PageFaultTest
from isthmus.bench.tests.pointer_chase import PointerChaseTest
from isthmus.errors import Unavailable

if TYPE_CHECKING:
    from isthmus import _native


class NativeManaged(NativeInstrument):
    """Managed memory, allocated for each point and freed with it."""

    def measure(
        self, test: ManagedTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "_native.Measurement":
        """
        Measure one size.

        Raises:
            Unavailable: Managed memory isn't available here, or not so much of it; or pages would
                move because the CPU touches them, which the emulated driver doesn't see.
        """
        from isthmus import _native

        del variation
        downwards = test.direction == Direction.DEVICE_TO_HOST
        if self._device.emulated and downwards and test.way == ManagedWay.DEMAND:
            raise Unavailable(
                capability="pages that move when the CPU touches them",
                reason="the emulated driver's managed memory is host memory and never moves",
                needs="a real GPU",
            )
        rule = native_rule(stopping)
        return self._device.with_kernels(
            lambda kernels: _native.measure_managed(
                self._device.context,
                kernels,
                direction=test.direction.value,
                way=test.way.value,
                size_bytes=size_bytes,
                stopping=rule,
            )
        )


class NativePointerChase(NativeInstrument):
    """Chains of pointers in pinned memory, allocated for each point."""

    def measure(
        self, test: PointerChaseTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "_native.Measurement":
        """
        Measure one order of visiting.

        Raises:
            Unavailable: There are no kernels here.
        """
        from isthmus import _native

        rule = native_rule(stopping)
        return self._device.with_kernels(
            lambda kernels: _native.measure_pointer_chase(
                self._device.context,
                kernels,
                size_bytes=size_bytes,
                order=test.order(variation),
                numa_node=self._device.placement.bound_node,
                stopping=rule,
            )
        )


class NativePageFaults(NativeInstrument):
    """Faults of managed memory, allocated for each point."""

    def measure(
        self, test: PageFaultTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "_native.Measurement":
        """
        Measure both sides' faults.

        Raises:
            Unavailable: Managed memory doesn't fault here, or there are no kernels.
        """
        from isthmus import _native

        del size_bytes, variation
        rule = native_rule(stopping)
        return self._device.with_kernels(
            lambda kernels: _native.measure_page_faults(
                self._device.context, kernels, num_pages=test.num_pages, stopping=rule
            )
        )

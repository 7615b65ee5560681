"""The native module's small copies and small-copy experiments."""

from typing import TYPE_CHECKING

from isthmus.bench.clock_checks import check_latencies
from isthmus.bench.native.device_under_test import DeviceUnderTest
from isthmus.bench.native.instrument import NativeInstrument
from isthmus.bench.native.rule import native_rule
from isthmus.bench.native.wall_time import within_wall_time
from isthmus.bench.stopping import StoppingRule
from isthmus.bench.tests.bench_test import Variation
from isthmus.bench.tests.experiments import Experiment, SmallTransferTest
from isthmus.bench.tests.small_copies import Method, SmallCopyTest

if TYPE_CHECKING:
    from collections.abc import Callable

    from isthmus import _native


class NativeSmallCopies(NativeInstrument):
    """The buffers and windows of a device's small copies."""

    def __init__(self, device: DeviceUnderTest) -> None:
        """Allocate nothing yet."""
        super().__init__(device)
        self._opened: _native.SmallCopyBench | None = None

    def measure(
        self,
        test: SmallCopyTest | SmallTransferTest,
        size_bytes: int,
        variation: Variation,
        stopping: StoppingRule,
    ) -> "_native.Measurement":
        """
        Measure one point.

        Raises:
            Unavailable: This driver or machine can't copy in this way.
            CorruptTransfer: Bytes arrived that were not sent.
            ImpossibleTime: The clocks contradict each other.
        """
        if isinstance(test, SmallTransferTest):
            return self._experiment(test, size_bytes, variation, stopping)
        rule = native_rule(stopping)
        found = self._timed(
            stopping,
            lambda kernels: self._bench().measure(
                kernels,
                direction=test.direction.value,
                method=test.method.value,
                host_memory=test.host_memory.value,
                size_bytes=size_bytes,
                cold=variation.cpu_cache == "cold",
                stopping=rule,
            ),
        )
        for notice in self._bench().take_notices():
            self._device.note_once(notice)
        check_latencies(found, by_driver=test.method != Method.WINDOW)
        return found

    def _experiment(
        self,
        test: SmallTransferTest,
        size_bytes: int,
        variation: Variation,
        stopping: StoppingRule,
    ) -> "_native.Measurement":
        num_iterations = int(dict(variation.axes)["iterations"])
        bench, rule = self._bench(), native_rule(stopping)
        if test.experiment == Experiment.COPY_KERNEL_COPY:
            return self._timed(
                stopping,
                lambda kernels: bench.measure_copy_kernel_copy(
                    kernels, size_bytes=size_bytes, num_iterations=num_iterations, stopping=rule
                ),
            )
        return self._timed(
            stopping,
            lambda kernels: bench.measure_kernel_then_copy(
                kernels,
                clock=test.by,
                size_bytes=size_bytes,
                num_iterations=num_iterations,
                stopping=rule,
            ),
        )

    def _timed(
        self,
        stopping: StoppingRule,
        ask: "Callable[[_native.Kernels | None], _native.Measurement]",
    ) -> "_native.Measurement":
        """Measure, and compare the samples with the elapsed time."""
        return within_wall_time(lambda: self._device.with_kernels(ask), stopping)

    def _bench(self) -> "_native.SmallCopyBench":
        from isthmus import _native

        if self._opened is None:
            self._opened = _native.SmallCopyBench(
                self._device.context, numa_node=self._device.placement.bound_node
            )
        return self._opened

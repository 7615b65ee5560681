"""The native module's runs of workloads, by each way in which their data gets to the device."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from isthmus.errors import Unavailable
from isthmus.measure.bench.demand import StoppingRule
from isthmus.measure.bench.native.device_under_test import DeviceUnderTest
from isthmus.measure.bench.tests.bench_test import Variation
from isthmus.measure.bench.tests.paging import PAGED, PagingTest, PagingWay, unit_of, way_of
from isthmus.measure.run.programs import SEED

if TYPE_CHECKING:
    from isthmus import _native

_PAGED = "paged"
_OF_ITS_OWN = frozenset({PagingWay.PROMISED, PagingWay.PREFETCHED, PagingWay.PREFETCHED_FIRST})


class NativePaging:
    """One workload at a time: its input is generated, and run on the host, once for all ways."""

    _made: "tuple[str, _native.PagingWorkload] | None" = None

    def __init__(self, device: DeviceUnderTest) -> None:
        """Make nothing yet."""
        self._device = device

    def measure(
        self, test: PagingTest, variation: Variation, stopping: StoppingRule
    ) -> "_native.Measurement":
        """Measure one way."""
        from isthmus import _native

        way = way_of(variation)
        return self._workload(test).measure(
            way=_PAGED if way in PAGED - _OF_ITS_OWN else way.value,
            unit_bytes=unit_of(variation),
            budget_bytes=0 if way is PagingWay.READ_THROUGH else None,
            stopping=_native.Stopping(**asdict(stopping)),
        )

    def _workload(self, test: PagingTest) -> "_native.PagingWorkload":
        from isthmus import _native

        if self._made is not None and self._made[0] == test.name:
            return self._made[1]
        kernels = self._device.kernels
        if kernels is None:
            raise Unavailable(
                capability="kernels of workloads",
                reason="there is no NVRTC to compile them",
                needs="NVRTC",
            )
        self._made = None  # its memory goes before the next one's comes
        made = _native.PagingWorkload(
            self._device.context,
            kernels,
            workload=test.program.workload,
            sizes=dict(test.input_on(emulated=self._device.emulated).sizes),
            seed=SEED,
        )
        self._made = (test.name, made)
        return made

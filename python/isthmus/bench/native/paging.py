"""The native module's runs of workloads, by each way in which their data gets to the device."""

from typing import TYPE_CHECKING

from isthmus.bench.native.instrument import NativeInstrument
from isthmus.bench.native.rule import native_rule
from isthmus.bench.stopping import StoppingRule
from isthmus.bench.tests.bench_test import Variation
from isthmus.bench.tests.paging import POLICIES, PagingTest, unit_of, way_of
from isthmus.errors import Unavailable, UsageError
from isthmus.paged.source import budget_of
from isthmus.run.programs import SEED

if TYPE_CHECKING:
    from isthmus import _native

_PAGED = "paged"


class NativePaging(NativeInstrument):
    """One workload at a time: its input is generated, and run on the host, once for all ways."""

    _made: "tuple[str, _native.PagingWorkload] | None" = None

    def measure(
        self, test: PagingTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "_native.Measurement":
        """
        Measure one way.

        Raises:
            Unavailable: There is no such policy in this version, no NVRTC, or no managed memory; or
                the program copies nothing.
        """
        rule = native_rule(stopping)
        way = way_of(variation)
        if way not in POLICIES:
            return self._workload(test).measure(
                way=way.value, unit_bytes=unit_of(variation), budget_bytes=None, stopping=rule
            )
        try:
            budget = budget_of(way.value, None, size_bytes, unit_of(variation))
        except UsageError as error:
            raise Unavailable(
                capability=f"the policy {way.value} of paged arrays",
                reason=str(error),
                needs="a version that has it",
            ) from error
        return self._workload(test).measure(
            way=_PAGED, unit_bytes=unit_of(variation), budget_bytes=budget, stopping=rule
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

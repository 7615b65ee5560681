"""The native module's measurements of windows."""

from typing import TYPE_CHECKING

from isthmus.bench.native.device_under_test import DeviceUnderTest
from isthmus.bench.native.instrument import NativeInstrument
from isthmus.bench.native.rule import native_rule
from isthmus.bench.stopping import StoppingRule
from isthmus.bench.tests.catalogue import Variation, WindowKind, WindowTest
from isthmus.errors import Unavailable
from isthmus.machine.host import NodeFacts
from isthmus.machine.placement import Placement
from isthmus.run.machine import WindowFacts

if TYPE_CHECKING:
    from isthmus import _native


class NativeWindows(NativeInstrument):
    """The windows of a device, opened when the first measurement needs one."""

    def __init__(self, device: DeviceUnderTest) -> None:
        """Open nothing yet."""
        super().__init__(device)
        self.facts: WindowFacts | None = None
        self._placement = device.placement
        self._opened: _native.WindowBench | None = None

    def check_settings(self) -> None:
        """
        Read the environment's settings; no window is opened.

        Raises:
            UsageError: One of them is invalid.
        """
        self._bench()

    def measure(
        self, test: WindowTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "_native.Measurement":
        """
        Measure a test of windows.

        Raises:
            Unavailable: There are no windows here, or not in these circumstances.
        """
        rule = native_rule(stopping)
        found = self._device.with_kernels(
            lambda kernels: self._measure(kernels, test, size_bytes, variation, rule)
        )
        for notice in self._bench().take_notices():
            self._device.note_once(notice)
        return found

    def _measure(
        self,
        kernels: "_native.Kernels | None",
        test: WindowTest,
        size_bytes: int,
        variation: Variation,
        rule: "_native.Stopping",
    ) -> "_native.Measurement":
        bench = self._bench()
        node = self._placement.bound_node
        if test.kind == WindowKind.PUSH:
            return bench.measure_push(kernels, size_bytes=size_bytes, stopping=rule)
        self._describe(bench)
        if test.kind == WindowKind.BANDWIDTH:
            return self._measure_bandwidth(bench, test, size_bytes, variation, rule)
        if test.kind == WindowKind.LIFECYCLE:
            return bench.measure_lifecycle(size_bytes=size_bytes, stopping=rule)
        if test.kind == WindowKind.PING_PONG:
            return _measure_ping_pong(bench, kernels, size_bytes, variation, rule)
        copies = bench.measure_write if test.kind == WindowKind.WRITE else bench.measure_read
        return copies(
            size_bytes=size_bytes,
            cold=variation.cpu_cache == "cold",
            num_threads=variation.num_threads,
            numa_node=node,
            stopping=rule,
        )

    def _bench(self) -> "_native.WindowBench":
        from isthmus import _native

        if self._opened is None:
            self._opened = _native.WindowBench(self._device.context)
        return self._opened

    def _describe(self, bench: "_native.WindowBench") -> None:
        if self.facts is None:
            backend, instructions = bench.describe()
            self.facts = WindowFacts(backend=backend, instructions=instructions)

    def _measure_bandwidth(
        self,
        bench: "_native.WindowBench",
        test: WindowTest,
        size_bytes: int,
        variation: Variation,
        rule: "_native.Stopping",
    ) -> "_native.Measurement":
        if test.direction is None:
            raise TypeError(f"{test.name} has no direction")
        node, cpus = self._placement.bound_node, list[int]()
        if variation.cpu_node == "far":
            far = far_node(self._placement)
            node, cpus = far.node, [cpu for cpu in far.cpus if cpu in self._placement.cpus]
        return bench.measure_bandwidth(
            direction=test.direction.value,
            size_bytes=size_bytes,
            num_threads=variation.num_threads,
            numa_node=node,
            cpus=cpus,
            stopping=rule,
        )


def far_node(placement: Placement) -> NodeFacts:
    """
    Choose a NUMA node away from the device, with CPUs that this process may use.

    Raises:
        Unavailable: There is none, or it isn't known which node is near.
    """
    capability, needs = "far NUMA node", "a host with two nodes, one of them the device's"
    if len(placement.nodes) <= 1:
        raise Unavailable(capability=capability, reason="this host has one node", needs=needs)
    if placement.bound_node is None:
        reason = "it is not known which node is near, or nothing could be bound to it"
        raise Unavailable(capability=capability, reason=reason, needs=needs)
    allowed = set(placement.cpus)
    far = [n for n in placement.nodes if n.node != placement.bound_node and allowed & set(n.cpus)]
    if not far:
        reason = "this process may use no CPU of another node"
        raise Unavailable(capability=capability, reason=reason, needs=needs)
    return far[0]


def _measure_ping_pong(
    bench: "_native.WindowBench",
    kernels: "_native.Kernels | None",
    size_bytes: int,
    variation: Variation,
    rule: "_native.Stopping",
) -> "_native.Measurement":
    if variation.question is None or variation.answer is None:
        raise TypeError(f"a round trip needs two flags: {variation}")
    return bench.measure_ping_pong(
        kernels,
        question=variation.question.value,
        answer=variation.answer.value,
        data=variation.data and variation.data.value,
        data_bytes=size_bytes if variation.data else 0,
        stopping=rule,
    )

"""The native module's measurements of several GPUs."""

from typing import TYPE_CHECKING

from isthmus.bench.native.gpus import Gpu
from isthmus.bench.native.instrument import NativeGpusInstrument
from isthmus.bench.native.rule import native_rule
from isthmus.bench.stopping import StoppingRule
from isthmus.bench.tests.all_gpus import AllGpusTest
from isthmus.bench.tests.bench_test import Variation
from isthmus.bench.tests.numa import GPU
from isthmus.bench.tests.peers import PEER, OneGpuTest, PeerTest
from isthmus.errors import Unavailable

if TYPE_CHECKING:
    from isthmus import _native


class NativeAllGpus(NativeGpusInstrument):
    """Copies between the host and all GPUs at once."""

    def measure(
        self, test: AllGpusTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "_native.Measurement":
        """
        Measure one GPU under load, or all together.

        Raises:
            Unavailable: This GPU can't be used, or there is no other.
        """
        gpus, rule = self._gpus.several(), native_rule(stopping)
        ordinal = dict(variation.axes).get(GPU)
        measured = None if ordinal is None else gpus.index(self._gpus.open(int(ordinal)))

        def ask(kernels: "_native.Kernels | None") -> "_native.Measurement":
            group = _host_flows(test, gpus, size_bytes, with_kernels=kernels is not None)
            if measured is None:
                return group.measure_aggregate(stopping=rule)
            return group.measure_under_load(measured, stopping=rule)

        return self._device.with_kernels(ask)


class NativePeers(NativeGpusInstrument):
    """Copies from GPU to GPU."""

    def measure(
        self, test: PeerTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "_native.Measurement":
        """
        Measure one pair.

        Raises:
            Unavailable: There is one GPU, or one can't be used, or they can't reach each other.
        """
        axes = dict(variation.axes)
        if PEER not in axes:
            self._gpus.several()
            raise Unavailable(capability="a pair of GPUs", reason="none was named", needs="two")
        asker, other = self._gpus.open(int(axes[GPU])), self._gpus.open(int(axes[PEER]))
        rule = native_rule(stopping)

        def ask(kernels: "_native.Kernels | None") -> "_native.Measurement":
            group = _peer_flows(test, asker, other, size_bytes, with_kernels=kernels is not None)
            if test.both_ways:
                return group.measure_under_load(0, stopping=rule)
            return group.measure_one(0, stopping=rule)

        return self._device.with_kernels(ask)


class NativeOneGpu(NativeGpusInstrument):
    """Copies between one GPU and all others."""

    def measure(
        self, test: OneGpuTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "_native.Measurement":
        """
        Measure one GPU with all others.

        Raises:
            Unavailable: This GPU can't be used, or there is no other, or they can't reach another.
        """
        gpus, rule = self._gpus.several(), native_rule(stopping)
        one = self._gpus.open(int(dict(variation.axes)[GPU]))
        others = [gpu for gpu in gpus if gpu.ordinal != one.ordinal]
        reads = test.role == "read"

        def ask(kernels: "_native.Kernels | None") -> "_native.Measurement":
            from isthmus import _native

            group = _native.FlowGroup()
            for other in others:
                source, target = (other, one) if test.gathers else (one, other)
                asker, peer = (target, source) if reads else (source, target)
                _add_peer(group, test, asker, peer, size_bytes, with_kernels=kernels is not None)
            return group.measure_aggregate(stopping=rule, metric="copy_time")

        return self._device.with_kernels(ask)


def _host_flows(
    test: AllGpusTest, gpus: list[Gpu], size_bytes: int, *, with_kernels: bool
) -> "_native.FlowGroup":
    from isthmus import _native

    group = _native.FlowGroup()
    directions = [test.direction]
    if test.both_ways:
        directions.append(test.direction.opposite)
    for direction in directions:
        for gpu in gpus:
            buffers = _native.CopyBuffers(
                gpu.context, host_memory="pinned", size_bytes=size_bytes, numa_node=gpu.node
            )
            group.add_host(
                buffers,
                gpu.kernels if with_kernels else None,
                direction=direction.value,
                size_bytes=size_bytes,
                by=test.engine,
            )
    return group


def _peer_flows(
    test: PeerTest, asker: Gpu, other: Gpu, size_bytes: int, *, with_kernels: bool
) -> "_native.FlowGroup":
    from isthmus import _native

    group = _native.FlowGroup()
    # The way back has the other GPU copy: each asks its own engine.
    pairs = [(asker, other), (other, asker)] if test.both_ways else [(asker, other)]
    for one, peer in pairs:
        _add_peer(group, test, one, peer, size_bytes, with_kernels=with_kernels)
    return group


def _add_peer(
    group: "_native.FlowGroup",
    test: PeerTest | OneGpuTest,
    asker: Gpu,
    peer: Gpu,
    size_bytes: int,
    *,
    with_kernels: bool,
) -> None:
    source, target = (peer, asker) if test.role == "read" else (asker, peer)
    group.add_peer(
        source.context,
        source.kernels if with_kernels else None,
        target.context,
        target.kernels if with_kernels else None,
        size_bytes=size_bytes,
        role=test.role,
        by=test.engine,
    )

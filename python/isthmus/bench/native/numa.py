"""The native module's measurements of CPU nodes."""

from typing import TYPE_CHECKING

from isthmus.bench.native.instrument import NativeGpusInstrument
from isthmus.bench.native.rule import native_rule
from isthmus.bench.stopping import StoppingRule
from isthmus.bench.tests.bench_test import Variation
from isthmus.bench.tests.numa import GPU, NODE, NumaTest

if TYPE_CHECKING:
    from isthmus import _native


class NativeNuma(NativeGpusInstrument):
    """Copies with thread and memory on one CPU node."""

    def measure(
        self, test: NumaTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "_native.Measurement":
        """
        Measure one node with one GPU.

        Raises:
            Unavailable: The node's CPUs may not be used, or its memory can't be had there.
        """
        from isthmus import _native

        axes = dict(variation.axes)
        node, gpu = int(axes[NODE]), self._gpus.open(int(axes[GPU]))
        placement, rule = self._device.placement, native_rule(stopping)
        of_node = [cpu for n in placement.nodes if n.node == node for cpu in n.cpus]
        return self._device.with_kernels(
            lambda kernels: _native.measure_node_bandwidth(
                gpu.context,
                gpu.kernels if kernels else None,
                node=node,
                cpus=[cpu for cpu in of_node if cpu in placement.cpus],
                num_nodes=len(placement.nodes),
                host_memory=test.host_memory,
                direction=test.direction.value,
                size_bytes=size_bytes,
                stopping=rule,
            )
        )

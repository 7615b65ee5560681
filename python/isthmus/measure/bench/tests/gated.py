"""What tests of pinned copies behind a gate have in common."""

from dataclasses import dataclass
from typing import Literal

from isthmus.measure.bench.demand import Footprint
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import BenchTest, Variation


@dataclass(frozen=True, kw_only=True)
class GatedTest(BenchTest):
    """Copies of pinned memory that all begin behind a gate, timed by the GPU's clock."""

    def clock(self, metric: Metric) -> Literal["device", "host"]:
        """Whose clock times a metric."""
        del metric
        return "device"

    def behind_gate(self, metric: Metric) -> bool:
        """Whether a metric's copies are all enqueued before the first begins."""
        del metric
        return True

    def host_end(self, metric: Metric) -> str:
        """Give the kind of memory at the host's end."""
        del metric
        return "pinned"

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Count a pair of buffers."""
        del variation
        return Footprint(host_bytes=size_bytes, device_bytes=size_bytes)

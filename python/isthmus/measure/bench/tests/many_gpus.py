"""What the tests of several GPUs have in common."""

from dataclasses import dataclass
from typing import Literal

from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.stopping import StoppingRule
from isthmus.measure.bench.tests.bench_test import BenchTest, Variation

NUM_GPUS = "gpus"
Engine = Literal["copy_engine", "multiprocessors"]
ENGINES: dict[Engine, str] = {"copy_engine": "ce", "multiprocessors": "sm"}
ABOUT: dict[Engine, str] = {"copy_engine": "copy engine", "multiprocessors": "SM kernel"}
NOT_ALONE = 2


def waived_points(size_bytes: int) -> list[tuple[int, Variation]]:
    """Give the point of a machine with too few GPUs: its result says so."""
    return [(size_bytes, Variation(axes=((NUM_GPUS, 1),)))]


@dataclass(frozen=True, kw_only=True)
class ManyGpusTest(BenchTest):
    """
    The base of tests of several GPUs.

    Attributes:
        both_ways: While the same copies run in the opposite direction, in other memory.
    """

    engine: Engine
    both_ways: bool = False

    def values(self, size_bytes: int, variation: Variation) -> dict[str, object]:
        """Name what moves the bytes."""
        del size_bytes
        return {"by": self.engine, "under_load": "gpu" in dict(variation.axes)}

    def unit(self, metric: Metric) -> Literal["B/s", "s", "B", "1"]:
        """Every metric is a bandwidth."""
        del metric
        return "B/s"

    def clock(self, metric: Metric) -> Literal["device", "host"]:
        """No GPU's clock covers another's copies, so the CPU's clock times all together."""
        return "host" if metric == Metric.AGGREGATE else "device"

    def behind_gate(self, metric: Metric) -> bool:
        """All copies are enqueued before the first begins."""
        del metric
        return True

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """Give waived points no weight."""
        if dict(variation.axes).get(NUM_GPUS) == 1:
            return 0.0
        return self._num_samplings(variation) * super().weight(size_bytes, variation)

    def stopping(
        self, size_bytes: int, variation: Variation, share_s: float, *, emulated: bool
    ) -> StoppingRule:
        """Divide the share: each metric is sampled by itself."""
        own_s = share_s / self._num_samplings(variation)
        return super().stopping(size_bytes, variation, own_s, emulated=emulated)

    def _num_samplings(self, variation: Variation) -> int:
        """Under load two metrics are sampled, one of them twice."""
        return 3 if Metric.ALONE in self.metrics_in(variation) else 1

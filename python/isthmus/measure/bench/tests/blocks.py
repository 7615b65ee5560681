"""The tests of suite `blocks`: blocks by index, scattered at both ends, by each way."""

from dataclasses import dataclass
from enum import StrEnum

from isthmus.measure.bench.demand import Demand, Footprint, StoppingRule
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import BenchTest, Direction, Suite, Variation
from isthmus.measure.run.naming import Kind, directed_name

BLOCKS = "blocks"
SMS = "sms"
_KIB = 1 << 10
_USUAL_SMS = 4
_USUAL_BLOCKS = 1000
_WORD_BYTES = 16  # block_copies.cpp refuses other blocks
# Blocks in a pool for each that is copied: kSpareFactor of measure/bandwidth/block_copies.cpp.
_SPARE_FACTOR = 2
# Bytes of a block, and how many.
_SETS = tuple(
    (size, number)
    for size, numbers in {
        512: (16, _USUAL_BLOCKS, 100_000),
        _KIB: (_USUAL_BLOCKS, 100_000),
        4 * _KIB: (16, _USUAL_BLOCKS, 10_000, 65_536),
        16 * _KIB: (16, _USUAL_BLOCKS, 16_384),
        64 * _KIB: (16, _USUAL_BLOCKS, 4096),
        256 * _KIB: (_USUAL_BLOCKS,),
    }.items()
    for number in numbers
)
_QUICK_SETS = ((_KIB, _USUAL_BLOCKS), (16 * _KIB, _USUAL_BLOCKS))
_MAX_EMULATED_BYTES = 4 << 20


class BlocksWay(StrEnum):
    """How blocks are copied."""

    KERNEL = "kernel"
    BATCH = "batch"
    BATCH_IN_ORDER = "batch_in_order"


@dataclass(frozen=True, kw_only=True)
class BlocksTest(BenchTest):
    """Copies of blocks in one way."""

    direction: Direction
    way: BlocksWay
    loop: str = "block_copies"

    def values(self, size_bytes: int, variation: Variation) -> dict[str, object]:
        """Give the size of a block."""
        return {"block_bytes": size_bytes // num_blocks(variation)}

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Choose sets of blocks; requested sizes are those of a block, of which there are 1000."""
        sets = _QUICK_SETS if demand.quick else _SETS
        if demand.emulated:
            sets = tuple(one for one in sets if one[0] * one[1] <= _MAX_EMULATED_BYTES)
        if demand.sizes is not None:
            sets = tuple((size, _USUAL_BLOCKS) for size in demand.sizes if size % _WORD_BYTES == 0)
        several = self.way == BlocksWay.KERNEL and not demand.quick
        numbers = (1, 2, _USUAL_SMS, 16) if several else (_USUAL_SMS,)
        return [_point(*one, sms) for one in sets for sms in numbers]

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Count both pools; an upload is verified in a third on the host."""
        del variation
        pool = _SPARE_FACTOR * size_bytes
        up = self.direction == Direction.HOST_TO_DEVICE
        return Footprint(host_bytes=pool * (2 if up else 1), device_bytes=pool)

    def stopping(
        self, size_bytes: int, variation: Variation, share_s: float, *, emulated: bool
    ) -> StoppingRule:
        """Take many samples: the CPU's clock is noisy."""
        del size_bytes, variation
        return StoppingRule(
            min_samples=3 if emulated else 20,
            max_samples=200,
            max_seconds=min(share_s, 0.3),
            relative_iqr=0.005,
        )

    def moves_all(self, metric: Metric) -> bool:
        """Whether all of a point's bytes are moved in a metric's time."""
        return metric == Metric.COMPLETION

    def host_end(self, metric: Metric) -> str:
        """Give the kind of memory at the host's end."""
        del metric
        return "mapped" if self.way == BlocksWay.KERNEL else "pinned"


def num_blocks(variation: Variation) -> int:
    """Give the number of blocks."""
    return int(dict(variation.axes)[BLOCKS])


def _point(block_bytes: int, blocks: int, sms: int) -> tuple[int, Variation]:
    return block_bytes * blocks, Variation(axes=((BLOCKS, blocks), (SMS, sms)))


_ABOUT = {
    BlocksWay.KERNEL: "a kernel with loads and stores",
    BlocksWay.BATCH: "cuMemcpyBatchAsync, source order ANY",
    BlocksWay.BATCH_IN_ORDER: "cuMemcpyBatchAsync, source order STREAM",
}


def _test(direction: Direction, way: BlocksWay) -> BlocksTest:
    return BlocksTest(
        name=directed_name(direction, Kind.BLOCKS, way),
        about=f"{direction.label} blocks by index, scattered at both ends: {_ABOUT[way]} "
        "(only on request)",
        suite=Suite.BLOCKS,
        metrics=(Metric.COMPLETION, Metric.API_RETURN),
        direction=direction,
        way=way,
    )


BLOCKS_TESTS: tuple[BlocksTest, ...] = tuple(
    _test(direction, way) for direction in Direction for way in BlocksWay
)

"""The tests that `isthmus bench` can run, in the order in which it runs them."""

from isthmus.measure.bench.demand import BufferKinds, HostMemory
from isthmus.measure.bench.metrics import EVENT_METRICS, METRIC_MEANING, Metric
from isthmus.measure.bench.tests.alloc import ALLOC_TESTS, LIFE_TESTS
from isthmus.measure.bench.tests.bench_test import (
    PLAIN,
    BenchTest,
    Direction,
    Residence,
    Suite,
    Variation,
)
from isthmus.measure.bench.tests.blocks import BLOCKS_TESTS
from isthmus.measure.bench.tests.copies import COPY_TESTS, DUPLEX_TESTS, CopyTest
from isthmus.measure.bench.tests.experiments import EXPERIMENT_TESTS, SmallTransferTest
from isthmus.measure.bench.tests.host import HOST_TESTS
from isthmus.measure.bench.tests.managed import MANAGED_TESTS, PAGE_FAULT_TESTS
from isthmus.measure.bench.tests.many_copies import MANY_COPIES_TESTS
from isthmus.measure.bench.tests.memory_kinds import MEMORY_KIND_TESTS, PINNED_VS_PAGEABLE_TESTS
from isthmus.measure.bench.tests.multi import MULTI_TESTS
from isthmus.measure.bench.tests.numa import NUMA_TESTS
from isthmus.measure.bench.tests.overlap import OVERLAP_TESTS
from isthmus.measure.bench.tests.paging import PAGING_TESTS
from isthmus.measure.bench.tests.small_copies import (
    POINTER_CHASE_TESTS,
    SMALL_COPY_TESTS,
    Method,
    SmallCopyTest,
)
from isthmus.measure.bench.tests.streams import BOX_TESTS, PITCHED_TESTS, STREAMS_TESTS
from isthmus.measure.bench.tests.windows import WINDOW_TESTS, WindowKind, WindowTest

__all__ = [
    "BY_NAME",
    "EVENT_METRICS",
    "METRIC_MEANING",
    "PLAIN",
    "TESTS",
    "BenchTest",
    "BufferKinds",
    "CopyTest",
    "Direction",
    "HostMemory",
    "Method",
    "Metric",
    "Residence",
    "SmallCopyTest",
    "SmallTransferTest",
    "Suite",
    "Variation",
    "WindowKind",
    "WindowTest",
]

TESTS: tuple[BenchTest, ...] = (
    *COPY_TESTS,
    *MEMORY_KIND_TESTS,
    *MANAGED_TESTS,
    *POINTER_CHASE_TESTS,
    *PAGE_FAULT_TESTS,
    *DUPLEX_TESTS,
    *STREAMS_TESTS,
    *PITCHED_TESTS,
    *BOX_TESTS,
    *MANY_COPIES_TESTS,
    *SMALL_COPY_TESTS,
    *EXPERIMENT_TESTS,
    *OVERLAP_TESTS,
    *WINDOW_TESTS,
    *NUMA_TESTS,
    *HOST_TESTS,
    # Late, because they take longest on machines that others use too: if a run has no time left,
    # it waives the largest of these, and not a whole suite.
    *ALLOC_TESTS,
    *LIFE_TESTS,
    *PINNED_VS_PAGEABLE_TESTS,
    *PAGING_TESTS,
    *BLOCKS_TESTS,
    # Last: with several GPUs a run has all that it has with one, however long these take.
    *MULTI_TESTS,
)
BY_NAME = {test.name: test for test in TESTS}

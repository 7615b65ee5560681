"""The tests that `isthmus bench` can run, in the order in which it runs them."""

from isthmus.bench.bench_test import PLAIN, BenchTest, Direction, Residence, Suite, Variation
from isthmus.bench.copies import COPY_TESTS, CopyTest, HostMemory, Method
from isthmus.bench.metrics import EVENT_METRICS, METRIC_MEANING, Metric
from isthmus.bench.windows import WINDOW_TESTS, WindowKind, WindowTest

__all__ = [
    "BY_NAME",
    "EVENT_METRICS",
    "METRIC_MEANING",
    "PLAIN",
    "TESTS",
    "BenchTest",
    "CopyTest",
    "Direction",
    "HostMemory",
    "Method",
    "Metric",
    "Residence",
    "Suite",
    "Variation",
    "WindowKind",
    "WindowTest",
]

TESTS: tuple[BenchTest, ...] = (*COPY_TESTS, *WINDOW_TESTS)
BY_NAME = {test.name: test for test in TESTS}

"""
The tests of suite `multi`: all GPUs at once, and copies between GPUs.

Names are nvbandwidth's; the metric `bandwidth` is what it prints.
"""

from isthmus.measure.bench.tests.all_gpus import ALL_GPUS_TESTS
from isthmus.measure.bench.tests.many_gpus import ManyGpusTest
from isthmus.measure.bench.tests.peers import PEER_TESTS

MULTI_TESTS: tuple[ManyGpusTest, ...] = (*ALL_GPUS_TESTS, *PEER_TESTS)

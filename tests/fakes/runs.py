"""Runs with every kind of result in them, the same every time."""

from datetime import UTC, datetime
from functools import cache

from fakes.session import FakeMeasurement, FakeSession, Watcher, usual, usual_window
from isthmus.errors import DriverError, Unavailable
from isthmus.measure.bench.demand import Demand, Limits
from isthmus.measure.bench.derived.catalogue import crossovers
from isthmus.measure.bench.plan import Point, plan_points
from isthmus.measure.bench.runner import RunSettings, run_points
from isthmus.measure.bench.tests.catalogue import (
    BY_NAME,
    TESTS,
    BenchTest,
    CopyTest,
    Metric,
    Variation,
    WindowTest,
)
from isthmus.measure.run.machine import (
    Device,
    Driver,
    GpuState,
    Host,
    Link,
    Machine,
    NumaNode,
    Software,
    WindowFacts,
)
from isthmus.measure.run.model import Identity, Options, Result, Run


def machine(*, emulated: bool = False) -> Machine:
    return Machine(
        emulated=emulated,
        profile="small" if emulated else None,
        emulated_because="no GPU to measure: no driver" if emulated else None,
        device=Device(
            ordinal=0,
            name="Test GPU",
            uuid="GPU-00000000-0000-0000-0000-000000000000",
            pci_address="0000:01:00.0",
            compute_capability=(9, 0),
            total_memory_bytes=80 << 30,
            num_multiprocessors=132,
            num_copy_engines=3,
            l2_cache_bytes=50 << 20,
            stream_memory_operations=True,
            numa_node=None if emulated else 1,
        ),
        link=Link(
            generation=None if emulated else 4,
            generation_max=None if emulated else 5,
            width=None if emulated else 16,
            width_max=None if emulated else 16,
            read_under_load=None if emulated else True,
            bar1_bytes=None if emulated else 128 << 30,
        ),
        gpu_state=GpuState(
            performance_state=None,
            sm_clock_hz=None,
            memory_clock_hz=None,
            throttle_reasons=None,
            persistence_mode=None,
        ),
        driver=Driver(
            cuda_version="13.0",
            driver_version=None if emulated else "580.159.04",
            path="libcuda.so.1",
            missing_symbols=[],
        ),
        host=Host(
            cpu_model="Test CPU",
            num_cpus=16,
            memory_bytes=64 << 30,
            kernel="6.1.0",
            transparent_huge_pages="madvise",
            numa_nodes=[
                NumaNode(node=0, cpus=[0, 1, 2, 3], memory_bytes=32 << 30),
                NumaNode(node=1, cpus=[4, 5, 6, 7, 12], memory_bytes=32 << 30),
            ],
            measured_on_node=None if emulated else 1,
        ),
        software=Software(
            python="3.11.0", nvrtc=None if emulated else "13.0", libraries={"isthmus": "0.1.0"}
        ),
        windows=WindowFacts(backend="rm", instructions="avx512"),
        notes=[],
    )


def _answer(test: BenchTest, size_bytes: int) -> FakeMeasurement:
    if size_bytes == 4096 and test.name == "device_to_host_memcpy_ce":
        raise DriverError(
            "cuMemcpyDtoHAsync failed: an illegal memory access was encountered (700)",
            code=700,
            code_name="CUDA_ERROR_ILLEGAL_ADDRESS",
            symbol="cuMemcpyDtoHAsync",
        )
    found = usual(test, size_bytes)
    if Metric.VISIBLE in test.metrics:
        kept = [samples for samples in found.samples if samples.metric != "visible"]
        return FakeMeasurement(kept, waived={"visible": "needs NVRTC to compile its kernel"})
    return found


def _answer_window(test: WindowTest, size_bytes: int, variation: Variation) -> FakeMeasurement:
    if variation.cpu_node == "far":
        reason = "this host has one node"
        raise Unavailable(capability="far NUMA node", reason=reason, needs="two nodes")
    return usual_window(test, size_bytes, variation)


_WINDOW_SIZES = [1, 64, 4096, 1 << 16, 1 << 18, 1 << 20]


def _window_points() -> tuple[Point, ...]:
    limits = Limits(device_bytes=1 << 30, host_bytes=1 << 30, num_cores=2)
    windows = [test for test in TESTS if isinstance(test, WindowTest)]
    return plan_points(windows, Demand(sizes=_WINDOW_SIZES, limits=limits)).points


def results(*, keep_samples: bool = False) -> list[Result]:
    """Passed, waived and failed ones; the last test is told that the device was lost."""
    return list(_results(keep_samples=keep_samples))


@cache
def _results(*, keep_samples: bool) -> tuple[Result, ...]:
    order = [
        BY_NAME["host_to_device_memcpy_ce"],
        BY_NAME["host_to_device_memcpy_pageable"],
        *(test for test in TESTS if test.name.startswith("host_to_device_small_copy")),
        BY_NAME["device_to_host_memcpy_ce"],
        BY_NAME["device_to_host_small_copy_async"],
    ]
    points = [
        Point(test, size)
        for test in order
        for size in ([4, 4096, 1 << 30] if isinstance(test, CopyTest) else [4])
    ]
    settings = RunSettings(budget_s=1.0, keep_samples=keep_samples)
    session = FakeSession(_answer, answer_window=_answer_window)
    found = run_points(session, [*_window_points(), *points], settings, Watcher()).results
    return (*found, *crossovers(found))


def run(*, emulated: bool = False, interrupted: bool = False, keep_samples: bool = False) -> Run:
    return Run(
        schema_version=1,
        run=Identity(
            id="0badcafe",
            started_at=datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC),
            finished_at=datetime(2025, 1, 2, 3, 5, 5, tzinfo=UTC),
            isthmus_version="0.1.0",
            command=["isthmus", "bench"],
            interrupted=interrupted,
        ),
        machine=machine(emulated=emulated),
        options=Options(
            device=None,
            tests=[test.name for test in TESTS],
            sizes=None,
            budget_s=60.0,
            samples=keep_samples,
        ),
        results=results(keep_samples=keep_samples),
    )

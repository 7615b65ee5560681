from fakes.session import FakeMeasurement, FakeSamples, FakeSession, Watcher
from isthmus.measure.bench.derived.catalogue import crossovers
from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.runner import RunSettings, run_points
from isthmus.measure.bench.tests.catalogue import BY_NAME, PLAIN, Variation, WindowTest
from isthmus.measure.run.result import Result

WRITE, READ, PUSH = (BY_NAME[f"window_{name}"] for name in ("write", "read", "push"))
SIZES = [4, 64, 1024, 16384]
Times = dict[str, list[float]]


def measured(times: dict[str, Times], points: list[Point]) -> list[Result]:
    """Run points whose metrics take these seconds at SIZES."""

    def answer(test: WindowTest, size_bytes: int, variation: Variation) -> FakeMeasurement:
        at = SIZES.index(size_bytes)
        kept = test.metrics_in(variation)
        curves = times[test.name]
        return FakeMeasurement(
            [FakeSamples(m.value, [curves[m.value][at]]) for m in kept if m.value in curves]
        )

    session = FakeSession(answer_window=answer)
    return run_points(session, points, RunSettings(budget_s=1.0), Watcher()).results


def found(results: list[Result]) -> dict[tuple[str, str, int], float | None]:
    return {(r.metric, r.cpu_cache, r.num_threads): r.median for r in crossovers(results)}


def writes(fenced: list[float], pinned: list[float]) -> dict[str, Times]:
    return {WRITE.name: {"fenced": fenced, "memcpy_pinned": pinned}}


def points(test: str = "window_write", variation: Variation = PLAIN) -> list[Point]:
    return [Point(BY_NAME[test], size, variation) for size in SIZES]


def test_the_crossover_is_the_largest_size_up_to_which_the_window_is_faster() -> None:
    results = measured(writes([1, 2, 3, 9], [5, 5, 5, 5]), points())
    (crossover,) = crossovers(results)
    assert (crossover.metric, crossover.median, crossover.unit) == ("crossover_pinned", 1024, "B")
    assert (crossover.bytes, crossover.n, crossover.test) == (16384, 4, "window_write")


def test_a_window_that_wins_again_later_has_lost_before() -> None:
    assert found(measured(writes([1, 9, 1, 1], [5, 5, 5, 5]), points())) == {
        ("crossover_pinned", "warm", 1): 4
    }


def test_a_window_that_never_wins_has_a_crossover_of_0() -> None:
    assert found(measured(writes([5, 1, 1, 1], [5, 5, 5, 5]), points())) == {
        ("crossover_pinned", "warm", 1): 0
    }


def test_a_window_that_always_wins_is_faster_up_to_the_largest_size_compared() -> None:
    (crossover,) = crossovers(measured(writes([1] * 4, [5] * 4), points()))
    assert crossover.median == crossover.bytes == 16384


def test_cold_memory_is_compared_with_cold_memory_and_threads_with_cudas_only_one() -> None:
    cold = points(variation=Variation(cpu_cache="cold"))
    shared = points(variation=Variation(num_threads=4))
    times = writes([1, 2, 6, 9], [5, 5, 5, 5])
    both = measured(times, [*points(), *cold, *shared])
    assert found(both) == {
        ("crossover_pinned", "warm", 1): 64,
        ("crossover_pinned", "cold", 1): 64,
        ("crossover_pinned", "warm", 4): 64,
    }
    assert found(measured(times, shared)) == {}


def test_reads_are_compared_with_a_kernel_that_is_asked_to_push_as_well() -> None:
    times = {
        READ.name: {"complete": [1.0, 2, 3, 4], "memcpy_pageable": [9.0] * 4},
        PUSH.name: {"launched": [1.0] * 4, "asked": [3.5] * 4},
    }
    results = measured(times, [*points("window_read"), *points("window_push")])
    assert found(results) == {
        ("crossover_pageable", "warm", 1): 16384,
        ("crossover_push", "warm", 1): 1024,
    }


def test_what_was_not_measured_is_not_compared() -> None:
    assert crossovers([]) == []
    half = writes([1, 2, 3, 9], [5, 5, 5, 5])
    assert found(measured(half, points()[:2])) == {("crossover_pinned", "warm", 1): 64}

from types import SimpleNamespace

import pytest

from isthmus import _native
from isthmus.decide.profile.lifetimes import NativeLifetimes
from isthmus.decide.profile.model import MemoryKind, MemoryPoint


def lifetimes(driver: _native.Driver) -> NativeLifetimes:
    return NativeLifetimes(driver, 0, _native.Context(driver, 0))


def measured(
    kind: MemoryKind, monkeypatch: pytest.MonkeyPatch, **seconds: list[float]
) -> tuple[MemoryPoint, dict[str, object]]:
    """Measure with a native module that gives these samples; and what it was asked."""
    asked: dict[str, object] = {}

    def measure(_bench: object, _loop: str, values: dict[str, object]) -> object:
        asked.update(values)
        return SimpleNamespace(
            samples=[SimpleNamespace(metric=m, seconds=times) for m, times in seconds.items()]
        )

    monkeypatch.setattr(_native.Bench, "measure", measure)
    driver = _native.Driver.open("emulated")
    point = lifetimes(driver).memory_point(kind, 4096, 0.01)
    assert point is not None
    return point, asked


def test_both_steps_of_a_short_life_are_as_long_as_many_lives_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = {"allocate": [60e-9, 60e-9], "free": [40e-9, 40e-9], "pair": [50e-9, 50e-9]}
    point, _ = measured(MemoryKind.PAGEABLE, monkeypatch, **times)
    assert point.allocate.seconds == pytest.approx(30e-9)
    assert point.free.seconds == pytest.approx(20e-9)
    assert point.free.high_seconds == pytest.approx(20e-9)


def test_many_lives_that_were_disturbed_make_no_step_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    point, _ = measured(MemoryKind.PINNED, monkeypatch, allocate=[3e-6], free=[1e-6], pair=[9e-6])
    assert point.allocate.seconds == pytest.approx(3e-6)
    assert point.allocate.low_seconds is None


def test_a_pool_is_measured_without_python_as_malloc_is(monkeypatch: pytest.MonkeyPatch) -> None:
    _, asked = measured(MemoryKind.POOL, monkeypatch, allocate=[2e-7], free=[1e-7], pair=[2e-7])
    assert asked["kind"] == "pooled"


@pytest.mark.parametrize("kind", list(MemoryKind))
def test_every_kind_of_memory_has_a_cost_on_the_emulated_device(kind: MemoryKind) -> None:
    point = lifetimes(_native.Driver.open("emulated")).memory_point(kind, 4096, 0.001)
    assert point is not None
    assert point.bytes == 4096


def test_what_the_first_pinned_block_of_a_process_starts_is_not_timed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It took 145 ms at 4 KiB, the only size that was measured."""
    now, blocks = [0.0], [0]

    def block(_pool: object, _size: int) -> object:
        now[0] += 1e-3 if blocks[0] else 0.145
        blocks[0] += 1
        return object()

    def read_clock() -> float:
        now[0] += 1e-6
        return now[0]

    monkeypatch.setattr(_native, "PinnedBlock", block)
    monkeypatch.setattr("isthmus.decide.profile.lifetimes.time.perf_counter", read_clock)
    point = lifetimes(_native.Driver.open("emulated")).memory_point(
        MemoryKind.NEW_PINNED, 4096, 1e-4
    )
    assert point is not None
    assert point.allocate.seconds == pytest.approx(1e-3, rel=0.01)

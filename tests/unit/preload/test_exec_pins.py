"""Pinned memory from the engine's pool: what programs ask of it is as the driver has it."""

import pytest

from preloading import EXEC, Place

PIN = {"ISTHMUS_EXEC_PIN": "1"}


@pytest.mark.parametrize(
    ("what", "served"), [("again", 40), ("in_use", 20), ("refused", 1), ("elsewhere", 1)]
)
def test_pinned_memory_is_as_the_drivers(place: Place, what: str, served: int) -> None:
    counters = place.like_the_driver(place.compile("pins.c"), what, **PIN).only
    allocated = sum(
        counters.sum("replaced", entry) for entry in ("cuMemHostAlloc", "cuMemAllocHost")
    )
    assert allocated == served
    assert counters.sum("replaced", "cuMemFreeHost") == served


@pytest.mark.parametrize("settings", [{}, {"ISTHMUS_EXEC": "audit", **PIN}])
def test_it_is_the_drivers_unless_that_is_asked_for(place: Place, settings: dict[str, str]) -> None:
    counters = place.watched([place.compile("pins.c"), "again"], {**EXEC, **settings}).only
    assert counters.sum("replaced", "cuMem") == 0

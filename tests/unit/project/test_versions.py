"""The evaluation of benchmarks/versions: it finds what is slower, and nothing else."""

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FILE = Path(__file__).parents[3] / "benchmarks" / "versions" / "ratios.py"
NUM_PROCESSES, NUM_LIVES = 18, 3


@pytest.fixture(name="ratios")
def imported(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    specification = importlib.util.spec_from_file_location("ratios", FILE)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "ratios", module)
    specification.loader.exec_module(module)
    return module


def results(ratios: ModuleType, factor: float, name: str = "copy") -> list[dict[str, Any]]:
    """Turns of processes that differ by a third, and of versions that differ by `factor`."""
    chance = random.Random(1)  # noqa: S311 - no secret
    turns = ratios.Turns()
    for process in range(NUM_PROCESSES):
        speed = chance.uniform(150, 200)
        for _ in range(NUM_LIVES):
            before, again, now = (speed * chance.uniform(0.98, 1.02) for _ in range(3))
            now *= factor
            turns.of[ratios.Point("copies", name, 64)].append(
                ratios.Turn(process, before, again, now, (before, again, now))
            )
    found: list[dict[str, Any]] = turns.results()
    return found


def test_a_version_that_is_slower_by_five_percent_is_found(ratios: ModuleType) -> None:
    (result,) = results(ratios, 1.05)
    assert ratios.slower([result], 0.02) == [result]
    assert result["ratio"] == pytest.approx(1.05, abs=0.01)


def test_the_same_version_is_not_found(ratios: ModuleType) -> None:
    (result,) = results(ratios, 1)
    assert ratios.slower([result], 0.02) == []
    assert result["low"] <= 1 <= result["high"]


def test_a_small_difference_is_told_in_nanoseconds(ratios: ModuleType) -> None:
    (result,) = results(ratios, 1.02)
    assert result["ns"] == pytest.approx(3.5, abs=2)


def test_the_table_fits_into_80_columns(ratios: ModuleType) -> None:
    long = "h2d_small_copy_async, 65536 B, reciprocal_throughput"
    lines = ratios.table(results(ratios, 1.05) + results(ratios, 1.05, long)).splitlines()
    assert max(len(line) for line in lines) <= 80
    assert long in lines

"""`isthmus.advise`, as programs call it."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import isthmus
from fakes.advice import machine_profile
from isthmus.decide.advice.ways import Name
from isthmus.decide.profile.store import save_profile
from isthmus.errors import UsageError

pytestmark = pytest.mark.native


@pytest.fixture
def mine(tmp_path: Path) -> str:
    return str(save_profile(machine_profile(), tmp_path / "mine.json"))


@pytest.fixture
def emulated() -> Iterator[None]:
    with isthmus.emulated():
        yield


def test_a_size_is_a_number_or_text(mine: str) -> None:
    as_text = isthmus.advise("64MiB", "round-trip", uses=3, machine=mine)
    as_number = isthmus.advise(64 << 20, "round-trip", uses=3, machine=mine)
    assert as_text == as_number
    assert as_text.best.name == Name.POOL


def test_a_result_without_a_reduction_is_refused_and_short_names_are_understood(mine: str) -> None:
    with pytest.raises(UsageError, match="only reduce has one"):
        isthmus.advise("1MiB", "d2h", result=4, machine=mine)
    assert isthmus.advise("1MiB", "d2h", machine=mine) == isthmus.advise(
        "1MiB", "from-device", machine=mine
    )


@pytest.mark.usefixtures("emulated")
def test_functions_are_timed_and_their_arrays_counted(mine: str) -> None:
    numbers = np.arange(1024, dtype="f4")
    seen: list[object] = []

    def on_gpu(there: isthmus.DeviceArray, factor: int) -> list[isthmus.DeviceArray]:
        seen.append(there)
        assert factor == 2
        copied = np.empty_like(numbers)
        isthmus.copy(copied, there)
        assert np.array_equal(copied, numbers)
        return [there, there]

    advice = isthmus.advise.offload(
        cpu=lambda here, factor: here * factor,
        gpu=on_gpu,
        arguments=[numbers, 2],
        times=10,
        machine=mine,
    )
    assert all(isinstance(one, isthmus.DeviceArray) for one in seen)
    asked = advice.computation
    assert (asked.up_bytes, asked.down_bytes, asked.times) == (4096, 8192, 10)
    assert asked.cpu_seconds > 0
    assert asked.gpu_seconds > 0


def test_functions_without_arrays_are_refused(mine: str) -> None:
    with pytest.raises(UsageError, match="no NumPy array is among the arguments"):
        isthmus.advise.offload(cpu=len, gpu=len, arguments=["text"], machine=mine)


@pytest.mark.usefixtures("emulated")
def test_what_a_function_raises_reaches_the_caller(mine: str) -> None:
    def broken(_: object) -> None:
        raise ValueError("no kernel")

    with pytest.raises(ValueError, match="no kernel"):
        isthmus.advise.offload(cpu=np.sum, gpu=broken, arguments=[np.ones(4)], machine=mine)

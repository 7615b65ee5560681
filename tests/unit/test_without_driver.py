"""Where there is no driver, or no GPU: host arrays are copied; all else says what it needs."""

import mmap
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import isthmus
from fakes.device_arrays import CudaArray
from fakes.safetensors_files import write_file

pytestmark = pytest.mark.native


@pytest.fixture(params=["no driver", "no gpu"], autouse=True)
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    name = "emulated:no-gpu" if request.param == "no gpu" else str(tmp_path / "libcuda.so.1")
    monkeypatch.setenv("ISTHMUS_DRIVER", name)
    return name


def test_host_arrays_are_copied() -> None:
    sent = np.arange(12, dtype=np.float32).reshape(3, 4)
    back = np.zeros_like(sent)
    isthmus.copy(back, sent)
    assert np.array_equal(back, sent)
    turned = np.zeros((4, 3), np.float32).T
    isthmus.copy(turned, sent)
    assert np.array_equal(turned, sent)
    memory = bytearray(8)
    isthmus.copy_async(memory, b"12345678").result(60)
    assert memory == b"12345678"


def test_the_plan_of_such_a_copy_names_no_device() -> None:
    plan = isthmus.explain(bytearray(8), b"12345678")
    assert (plan.source, plan.target, plan.device) == ("pageable", "pageable", -1)
    assert str(plan) == (
        "8 B from pageable to pageable memory: by the CPU; no GPU is involved, "
        "and nothing is predicted"
    )


def test_there_are_statistics_of_no_copies_over_a_link() -> None:
    isthmus.copy(bytearray(8), b"12345678")
    assert isthmus.stats().calls == 0
    assert "window" in str(isthmus.stats())
    isthmus.trim()


def test_memory_that_is_not_there_is_refused_as_with_a_driver() -> None:
    with pytest.raises(isthmus.UsageError, match="not memory that can be"):
        isthmus.copy(bytearray(8), isthmus.HostPointer(4096, 8))


def test_a_file_that_has_become_shorter_is_refused_as_with_a_driver(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(bytes(8192))
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
        os.truncate(file, 100)
        with pytest.raises(isthmus.UsageError):
            isthmus.copy(bytearray(8192), mapped)


def load(folder: Path) -> object:
    file = write_file(folder / "m.safetensors", {"w": ("F32", [1], bytes(4))})
    return isthmus.load_safetensors(file, framework="dlpack")


NEEDS_A_DEVICE: dict[str, Callable[[Path], object]] = {
    "upload": lambda _: isthmus.copy(isthmus.DevicePointer(1 << 40, 4), b"1234"),
    "download": lambda _: isthmus.copy(bytearray(4), CudaArray(1 << 40, (4,))),
    "begin an upload": lambda _: isthmus.copy_async(isthmus.DevicePointer(1 << 40, 4), b"1234"),
    "explain": lambda _: isthmus.explain(isthmus.DevicePointer(1 << 40, 4), b"1234"),
    "device_empty": lambda _: isthmus.device_empty(4),
    "pinned": lambda _: isthmus.pinned.empty(4),
    "window on an array": lambda _: isthmus.window(CudaArray(1 << 40, (4,))),
    "window on a pointer": lambda _: isthmus.window(1 << 40, 4),
    "load_safetensors": load,
}


@pytest.mark.parametrize("call", NEEDS_A_DEVICE)
def test_what_needs_a_device_names_the_emulated_one(call: str, tmp_path: Path) -> None:
    with pytest.raises(isthmus.Unavailable, match="ISTHMUS_DRIVER=emulated"):
        NEEDS_A_DEVICE[call](tmp_path)


def test_windows_of_a_driver_that_is_named_must_have_it(source: str) -> None:
    if source.startswith("emulated"):
        assert isthmus.Windows(source)._driver.device_count() == 0
    else:
        with pytest.raises(isthmus.Unavailable, match="libcuda"):
            isthmus.Windows(source)

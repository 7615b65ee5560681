"""Arrays of `isthmus.device_empty`, on which PyTorch and CuPy compute without a copy."""

# ruff: noqa: ANN401 - modules and arrays of libraries

import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
from copies import SLOW_CYCLES
from isthmus import _native

pytestmark = pytest.mark.gpu

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_pytorch_computes_in_its_memory_and_keeps_it(torch: Any) -> None:
    array = isthmus.device_empty((4, 5), "float32")
    isthmus.copy(array, np.ones((4, 5), np.float32))
    tensor = torch.from_dlpack(array)
    assert tensor.data_ptr() == array.pointer
    tensor += 1
    torch.cuda.synchronize()
    del array
    gc.collect()
    back = np.zeros((4, 5), np.float32)
    isthmus.copy(back, tensor)
    assert back.min() == back.max() == 2


@pytest.mark.parametrize(
    "name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"]
)
def test_pytorch_computes_with_items_that_numpy_lacks(torch: Any, name: str) -> None:
    pytest.importorskip("ml_dtypes")
    array = isthmus.device_empty(16, getattr(torch, name), torch.device("cuda", 0))
    tensor = torch.from_dlpack(array)
    assert (tensor.dtype, tensor.data_ptr()) == (getattr(torch, name), array.pointer)
    tensor.copy_(torch.arange(16.0, device="cuda"))
    back = isthmus.pinned.empty(16, name)
    isthmus.copy(back, tensor)
    assert np.array_equal(back.astype("f4"), tensor.float().cpu().numpy())


def test_a_child_of_a_process_that_used_pytorch_on_a_gpu_copies_on_the_host(torch: Any) -> None:
    del torch
    code = """
import os, sys, torch
torch.ones(3, device="cuda")
if os.fork() == 0:
    import numpy, isthmus
    made = numpy.zeros(4)
    isthmus.copy(made, numpy.ones(4))
    try:
        isthmus.device_empty(3)
    except isthmus.Unavailable as refusal:
        print(made.sum(), "forked" in str(refusal), flush=True)
    os._exit(0)
os.wait()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "4.0 True\n"


def test_cupy_takes_it_by_both_protocols(driver: _native.Driver) -> None:
    del driver
    cupy = pytest.importorskip("cupy")
    array = isthmus.device_empty((4, 5), "int16")
    isthmus.copy(array, np.full((4, 5), 7, np.int16))
    for taken in (cupy.asarray(array), cupy.from_dlpack(array)):
        assert taken.data.ptr == array.pointer
        assert int(taken.sum()) == 140


def test_memory_is_freed_only_after_a_kernel_that_is_told_nothing_of_its_owner(torch: Any) -> None:
    array = isthmus.device_empty(1 << 20, "uint8")
    isthmus.copy(array, np.full(1 << 20, 3, np.uint8))
    view, result = torch.from_dlpack(array), torch.zeros(1 << 20, dtype=torch.uint8, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(SLOW_CYCLES)
        result.copy_(view)
    # Nothing but the running work knows of the memory now: freeing it waits for that.
    del view, array
    gc.collect()
    assert stream.query()
    assert int(result.min()) == int(result.max()) == 3


@pytest.mark.parametrize("example", ["1_copy_arrays", "4_write_window"])
@pytest.mark.usefixtures("torch")
def test_an_example_beside_pytorch_runs_on_the_gpu(example: str) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{example}.py")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""

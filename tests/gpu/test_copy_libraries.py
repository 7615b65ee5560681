"""Copies of the arrays of CuPy and JAX, and of two libraries at once."""

# ruff: noqa: ANN401 - modules and arrays of libraries

from typing import Any

import numpy as np
import pytest

import isthmus
from copies import SIZES, SLOW_CYCLES, random_bytes
from program import run_code

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def cupy() -> Any:
    found = pytest.importorskip("cupy")
    if found.cuda.runtime.getDeviceCount() == 0:
        pytest.skip("CuPy sees no GPU")
    return found


@pytest.mark.parametrize("size", SIZES)
def test_bytes_go_to_a_cupy_array_and_back(cupy: Any, size: int) -> None:
    sent, back = random_bytes(size), np.zeros(size, np.uint8)
    array = cupy.zeros(size, cupy.uint8)
    cupy.cuda.get_current_stream().synchronize()  # the other stream doesn't wait for this one
    with cupy.cuda.Stream(non_blocking=True):
        isthmus.copy(array, sent)
        array += 1
        isthmus.copy(back, array)
    assert np.array_equal(back, sent + np.uint8(1))


def test_cupy_arrays_of_every_kind(cupy: Any) -> None:
    for dtype in ("?", "i1", "u2", "f2", "f8", "c8", "c16"):
        sent = np.arange(35).reshape(5, 7).astype(dtype)
        array = cupy.zeros((5, 7), dtype)
        isthmus.copy(array, sent)
        assert np.array_equal(cupy.asnumpy(array), sent)
    fortran = cupy.asfortranarray(cupy.arange(35.0).reshape(5, 7))
    back = np.zeros((5, 7))
    isthmus.copy(back, fortran)
    assert np.array_equal(back, cupy.asnumpy(fortran))
    every_second = np.zeros((5, 4))
    isthmus.copy(every_second, cupy.arange(35.0).reshape(5, 7)[:, ::2])
    assert np.array_equal(every_second, np.arange(35.0).reshape(5, 7)[:, ::2])


def test_managed_memory_goes_through(cupy: Any) -> None:
    cupy.cuda.set_allocator(cupy.cuda.malloc_managed)
    try:
        array = cupy.zeros(100_000)
        data = np.random.default_rng(0).random(100_000)
        isthmus.copy(array, data)
        back = np.zeros_like(data)
        isthmus.copy(back, array)
    finally:
        cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)
    assert np.array_equal(back, data)


def test_two_libraries_that_are_busy_in_two_streams(torch: Any, cupy: Any) -> None:
    tensor = torch.zeros(1 << 20, dtype=torch.float32, device="cuda")
    array = cupy.zeros(1 << 20, cupy.float32)
    mine, theirs = torch.cuda.Stream(), cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.get_current_stream().synchronize()
    for value in range(1, 6):
        with torch.cuda.stream(mine):
            torch.cuda._sleep(SLOW_CYCLES)
            tensor.fill_(value)
        with theirs, torch.cuda.stream(mine):
            isthmus.copy(array, tensor)
            assert float(array.sum()) == value * (1 << 20)


def test_cupy_takes_its_pinned_memory_from_the_pool(cupy: Any) -> None:
    cupy.cuda.set_pinned_memory_allocator(isthmus.pinned.cupy_allocator)
    try:
        before = isthmus.pinned.stats().num_allocations
        data = random_bytes(1 << 20)
        assert np.array_equal(cupy.asnumpy(cupy.asarray(data)), data)
        memory = cupy.cuda.alloc_pinned_memory(1000)
        assert np.frombuffer(memory, np.uint8, 1000).nbytes == 1000
        assert isthmus.pinned.stats().num_allocations > before
    finally:
        cupy.cuda.set_pinned_memory_allocator(cupy.get_default_pinned_memory_pool().malloc)


def test_pinned_arrays_are_known_as_pinned_by_pytorch(torch: Any) -> None:
    array = isthmus.pinned.zeros(1000, np.uint8)
    tensor = torch.from_numpy(array)  # PyTorch 2.11 imports no pinned memory by DLPack
    assert tensor.is_pinned()
    array += 5
    assert int(tensor.sum()) == 5000


_JAX = """
import os
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import numpy as np, jax, isthmus
array = jax.device_put(np.arange(100_000, dtype=np.float32), jax.devices("gpu")[0])
home = np.zeros(100_000, np.float32)
for factor in range(1, 5):
    isthmus.copy(home, array * factor)
    assert np.array_equal(home, np.arange(100_000, dtype=np.float32) * factor)
try:
    isthmus.copy(array, home)
except isthmus.UsageError as refusal:
    assert "read-only" in str(refusal)
    print("works")
"""


def test_jax_arrays_are_sources() -> None:
    pytest.importorskip("jax")
    done = run_code(_JAX, max_seconds=300)
    if "Unknown backend" in done.err:
        pytest.skip("JAX sees no GPU")
    assert done.out == "works\n", done.err

"""
Programs in which others load the driver too, as libcuda.so.1: by ctypes, Numba, cuda.core.

Each is a process of its own, in which libcuda.so.1 is the driver under test. PyTorch, CuPy and JAX
can't be met so: the CUDA runtime in them takes a GPU's driver and no other.
"""

import importlib.util

import pytest

from isthmus import _native
from program import Outcome, run_code

pytestmark = pytest.mark.native

_COMMON = """
import ctypes, os
import numpy as np
import isthmus
from isthmus import _native
driver = _native.Driver.open()
data = np.arange(1000, dtype=np.float32).reshape(20, 50)
back = np.zeros_like(data)
cuda_library = ctypes.CDLL("libcuda.so.1")

def call(name, *arguments):
    code = getattr(cuda_library, name)(*arguments)
    assert code == 0, (name, code)
"""


def run_beside(code: str, environment: dict[str, str]) -> Outcome:
    return run_code(_COMMON + code + '\nprint("works")\n', environment, max_seconds=300)


def require_module(name: str, what: str) -> None:
    """Look without importing it: it is for a process whose driver is another."""
    try:
        found = importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # nor is the package that it would be in
        found = False
    if not found:
        pytest.skip(f"{what} isn't installed")


_CTYPES = """
context, pointer = ctypes.c_void_p(), ctypes.c_uint64()
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxPushCurrent_v2", context)
call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(data.nbytes))
device = isthmus.DevicePointer(pointer.value, data.nbytes)
isthmus.copy(device, data)
call("cuMemcpyDtoH_v2", ctypes.c_void_p(back.ctypes.data), pointer, ctypes.c_size_t(data.nbytes))
assert np.array_equal(back, data)
call("cuMemFree_v2", pointer)
try:
    isthmus.copy(device, data)
except isthmus.Error as refusal:
    assert "freed" in str(refusal), refusal
else:
    raise AssertionError("memory that another library freed was written")
"""


def test_memory_of_a_program_that_calls_the_driver_itself_is_copied_to_until_it_is_freed(
    shared_environment: dict[str, str],
) -> None:
    done = run_beside(_CTYPES, shared_environment)
    assert (done.out, done.err) == ("works\n", "")


_NUMBA = """
from numba import cuda

array = cuda.device_array(data.shape, data.dtype)
isthmus.copy(array, data)
assert np.array_equal(array.copy_to_host(), data)
isthmus.copy(back, array)
assert np.array_equal(back, data)
fortran = cuda.to_device(np.asfortranarray(data * 2))
isthmus.copy(back, fortran)
assert np.array_equal(back, data * 2)
for dtype in ("?", "i1", "u2", "f2", "i8", "f8", "c8", "c16"):
    sent, received = np.ones((3, 5), dtype), np.zeros((3, 5), dtype)
    typed = cuda.device_array((3, 5), dtype)
    isthmus.copy(typed, sent)
    isthmus.copy(received, typed)
    assert np.array_equal(received, sent) and np.array_equal(typed.copy_to_host(), sent)

stream = cuda.stream()
busy = cuda.to_device(data * 3, stream=stream)  # names its stream
isthmus.copy(back, busy)
assert np.array_equal(back, data * 3)
isthmus.copy_async(busy, data * 4, stream=stream).result(60)
assert np.array_equal(busy.copy_to_host(stream=stream), data * 4)

pinned = cuda.pinned_array(data.shape, data.dtype)
assert isthmus.explain(array, pinned).source == "pinned"
future = isthmus.copy_async(pinned, cuda.to_device(data * 5))  # keeps what nobody else does
future.result(60)
assert np.array_equal(pinned, data * 5)
managed = cuda.managed_array(data.shape, data.dtype)
isthmus.copy(managed, array)
cuda.synchronize()
assert np.array_equal(managed, data)

every_second = np.zeros((20, 25), np.float32)
isthmus.copy(every_second, array[:, ::2])
assert np.array_equal(every_second, data[:, ::2])
try:
    with isthmus.window(array[3]) as window:
        assert window.read() == data[3].tobytes()
        window.write(bytes(4), 196)
    assert array.copy_to_host()[3, 49] == 0
except isthmus.Unavailable as absence:
    assert not driver.emulated, absence
"""


def test_arrays_streams_and_pinned_memory_of_numba_are_understood(
    shared_environment: dict[str, str], driver: _native.Driver
) -> None:
    # Numba's own target for GPUs asks for IPC handles, which the emulated driver can't open.
    require_module("numba_cuda" if driver.emulated else "numba", "numba-cuda")
    done = run_beside(_NUMBA, shared_environment)
    assert done.out == "works\n", done.err


_CUDA_CORE = """
try:
    from cuda.core import Device, LegacyPinnedMemoryResource
except ImportError:  # before 0.5
    from cuda.core.experimental import Device, LegacyPinnedMemoryResource

device = Device(0)
device.set_current()
stream = device.create_stream()
data = data.view(np.int8).reshape(-1)  # cuda.core calls its bytes so
back = np.zeros_like(data)
buffer = device.allocate(data.nbytes, stream=stream)
isthmus.copy(buffer, data, stream=stream)
call("cuMemcpyDtoH_v2", ctypes.c_void_p(back.ctypes.data), ctypes.c_uint64(int(buffer.handle)),
     ctypes.c_size_t(data.nbytes))
assert np.array_equal(back, data)
back.fill(0)
pinned = LegacyPinnedMemoryResource().allocate(data.nbytes, stream=stream)
shown = np.frombuffer((ctypes.c_char * data.nbytes).from_address(int(pinned.handle)), np.int8)
isthmus.copy_async(pinned, buffer, stream=stream).result(60)
assert np.array_equal(shown, data)
assert isthmus.explain(buffer, pinned, stream=stream).source == "pinned"
isthmus.copy(back, buffer, stream=stream)
assert np.array_equal(back, data)
buffer.fill(0x55, stream=stream)
isthmus.copy_async(back, buffer, stream=stream).result(60)
assert (back == 0x55).all()
isthmus.copy(buffer, memoryview(data).cast("B"))  # bytes of no type go with every type
isthmus.copy_async(pinned, buffer, stream=stream).result(60)
assert np.array_equal(shown, data)
try:
    with isthmus.window(buffer) as window:
        assert window.read() == data.tobytes()
except isthmus.Unavailable as absence:
    assert not driver.emulated, absence
buffer.close(stream)
pinned.close(stream)
"""


def test_buffers_and_streams_of_cuda_core_are_understood(
    shared_environment: dict[str, str],
) -> None:
    require_module("cuda.core", "cuda.core")
    done = run_beside(_CUDA_CORE, shared_environment)
    assert done.out == "works\n", done.err

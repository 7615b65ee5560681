"""
Which memory of other libraries has windows: the table of docs/windows.md, a row a test.

Each row is a process of its own, since allocators are chosen once a process. It writes through a
window and reads back by the driver, and the other way round; or says why there is no window.
Libraries that aren't installed are skipped. With ISTHMUS_LIBRARY_MEMORY=FILE each row's answer is
added to FILE.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from program import EXPANDABLE_SEGMENTS, run_code

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("backend")]

# `tried(array)` or `tried(pointer, size)`, by the bytes at both ends. Arrays of JAX are only read.
_PRELUDE = """
import ctypes, sys
import isthmus

libcuda = ctypes.CDLL("libcuda.so.1")

def by_driver(name, *arguments):
    assert getattr(libcuda, name)(*arguments) == 0, name
    assert libcuda.cuCtxSynchronize() == 0

def agrees(window, offset, sent):
    pointer, size = ctypes.c_uint64(window.device_pointer + offset), ctypes.c_size_t(len(sent))
    by_driver("cuMemcpyHtoD_v2", pointer, ctypes.create_string_buffer(sent, len(sent)), size)
    assert window.read(len(sent), offset) == sent
    if not window.read_only:
        window.write(sent[::-1], offset)
        found = ctypes.create_string_buffer(len(sent))
        by_driver("cuMemcpyDtoH_v2", found, pointer, size)
        assert found.raw == sent[::-1]

def tried(*memory):
    try:
        window = isthmus.window(*memory)
    except (isthmus.Unavailable, isthmus.UsageError) as refusal:
        print("refused:", type(refusal).__name__, " ".join(str(refusal).split()))
        return
    with window:
        for seed, offset in enumerate((0, window.nbytes - 256)):
            agrees(window, offset, bytes((seed + 7 * i) % 256 for i in range(256)))
        print("window:", window.backend)
"""

_TORCH = "import torch; tried(torch.zeros(1_000_000, dtype=torch.uint8, device='cuda'))"
_JAX = "import jax.numpy; tried(jax.numpy.zeros(1_000_000, 'uint8').block_until_ready())"
_CUPY = "import cupy; cupy.cuda.set_allocator({}); tried(cupy.zeros(1_000_000, 'uint8'))"
_RMM = "import rmm; rmm.mr.set_current_device_resource({}); tried(rmm.DeviceBuffer(size=1_000_000))"
_NCCL = """
import glob, nvidia.nccl
nccl = ctypes.CDLL(glob.glob(next(iter(nvidia.nccl.__path__)) + "/lib/libnccl.so*")[0])
import torch; torch.zeros(1, device="cuda")
pointer = ctypes.c_void_p()
assert nccl.ncclMemAlloc(ctypes.byref(pointer), ctypes.c_size_t(1_000_000)) == 0
tried(pointer.value, 1_000_000)
"""
_NVSHMEM = """
import nvshmem.core
from cuda.core import Device
Device(0).set_current()
unique = nvshmem.core.get_unique_id()
nvshmem.core.init(device=Device(0), uid=unique, rank=0, nranks=1, initializer_method="uid")
tried(nvshmem.core.tensor((1_000_000,), dtype=__import__("torch").uint8))
"""
_POOL_OF_TORCH = """
import torch
pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    tensor = torch.zeros(1_000_000, dtype=torch.uint8, device="cuda")
tried(tensor)
"""
_IMPORTED = """
import multiprocessing, torch
def use(queue, done):
    tried(queue.get())
    sys.stdout.flush()
    done.set()
if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    import torch.multiprocessing
    queue, done = torch.multiprocessing.get_context("fork").SimpleQueue(), context.Event()
    process = context.Process(target=use, args=(queue, done))
    process.start()
    queue.put(torch.zeros(8_000_000, dtype=torch.uint8, device="cuda"))
    assert done.wait(120)
    process.join()
"""
_PEER = """
import torch
if torch.cuda.device_count() < 2:
    print("skipped: one GPU")
else:
    torch.cuda.set_device(0)
    tried(torch.zeros(1_000_000, dtype=torch.uint8, device="cuda:1"))
"""


@dataclass(frozen=True)
class Row:
    """
    Memory of a library.

    Attributes:
        name: As in docs/windows.md.
        needs: The module without which it is skipped.
        code: After `_PRELUDE`.
        refusal: Why it has no window; empty if it has one.
        environment: Variables of the process.
    """

    name: str
    needs: str
    code: str
    refusal: str = ""
    environment: dict[str, str] = field(default_factory=dict)


_POOL = "memory of cudaMallocAsync"
_ROWS = (
    Row("PyTorch", "torch", _TORCH),
    Row("PyTorch, expandable segments", "torch", _TORCH, environment=EXPANDABLE_SEGMENTS),
    Row(
        "PyTorch, cudaMallocAsync",
        "torch",
        _TORCH,
        _POOL,
        {
            "PYTORCH_ALLOC_CONF": "backend:cudaMallocAsync",
            "PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync",
        },
    ),
    Row("PyTorch, MemPool", "torch", _POOL_OF_TORCH),
    Row("CuPy, its pool", "cupy", _CUPY.format("cupy.get_default_memory_pool().malloc")),
    Row("CuPy, cudaMallocAsync", "cupy", _CUPY.format("cupy.cuda.malloc_async"), _POOL),
    Row("CuPy, managed", "cupy", _CUPY.format("cupy.cuda.malloc_managed"), "managed"),
    Row("JAX", "jax", _JAX),
    Row(
        "JAX, no preallocation", "jax", _JAX, environment={"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    ),
    Row("JAX, platform", "jax", _JAX, environment={"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}),
    Row("JAX, cuda_async", "jax", _JAX, _POOL, {"XLA_PYTHON_CLIENT_ALLOCATOR": "cuda_async"}),
    Row("Numba", "numba", "from numba import cuda; tried(cuda.device_array(1_000_000, 'uint8'))"),
    Row("RMM, cudaMalloc", "rmm", _RMM.format("rmm.mr.CudaMemoryResource()")),
    Row(
        "RMM, pool",
        "rmm",
        _RMM.format("rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), 64 << 20)"),
    ),
    Row("RMM, cudaMallocAsync", "rmm", _RMM.format("rmm.mr.CudaAsyncMemoryResource()"), _POOL),
    Row("RMM, managed", "rmm", _RMM.format("rmm.mr.ManagedMemoryResource()"), "managed"),
    Row("NCCL, ncclMemAlloc", "nvidia.nccl", _NCCL),
    Row("NVSHMEM", "nvshmem.core", _NVSHMEM, environment={"NVSHMEM_DISABLE_NVLS": "1"}),
    Row("imported by CUDA IPC", "torch", _IMPORTED, "of another process"),
    Row("of another GPU", "torch", _PEER),
)


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row.name)
def test_memory_of_a_library_has_a_window_or_is_refused_with_its_reason(
    row: Row,
    record_property: Any,  # noqa: ANN401
) -> None:
    pytest.importorskip(row.needs)
    done = run_code(_PRELUDE + row.code, row.environment, max_seconds=150)
    record_property(row.name, done.out)
    if path := os.environ.get("ISTHMUS_LIBRARY_MEMORY"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{row.name}\t{done.code}\t{done.out.strip()}\t{done.err[-600:]!r}\n")
    assert done.code == 0, done.err
    if done.out.startswith("skipped: "):
        pytest.skip(done.out.strip())
    assert done.out.startswith("refused:" if row.refusal else "window:"), done.out
    assert row.refusal in done.out

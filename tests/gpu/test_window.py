"""Windows on arrays of PyTorch and CuPy, against their own copies."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

import isthmus
from program import EXPANDABLE_SEGMENTS, run_code

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("backend")]

SIZE = 1 << 20


@pytest.fixture
def cupy() -> Iterator[Any]:
    module = pytest.importorskip("cupy")
    yield module
    module.cuda.set_allocator(module.get_default_memory_pool().malloc)


def random_bytes(count: int) -> bytes:
    return random.Random(count).randbytes(count)  # noqa: S311 - reproducible on purpose


# --- PyTorch ------------------------------------------------------------------------------------


def on_the_host(tensor: Any) -> bytes:  # noqa: ANN401
    """Copy a tensor's bytes as PyTorch does."""
    flat = tensor.contiguous().view(-1)
    return bytes(flat.view(dtype=__import__("torch").uint8).cpu().numpy().tobytes())


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "bfloat16", "bool"])
def test_a_tensor_of_any_type_is_written_and_read(torch: Any, dtype: str) -> None:  # noqa: ANN401
    tensor = torch.zeros(999, dtype=getattr(torch, dtype), device="cuda")
    data = bytes(999) if dtype == "bool" else random_bytes(999)
    with isthmus.window(tensor) as window:
        assert window.nbytes == tensor.numel() * tensor.element_size()
        window.write(data)
        assert on_the_host(tensor)[:999] == data
        tensor.fill_(1)
        torch.cuda.synchronize()
        assert window.read() == on_the_host(tensor)


def test_work_that_pytorch_has_launched_is_waited_for(torch: Any) -> None:  # noqa: ANN401
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        tensor = torch.zeros(SIZE, dtype=torch.uint8, device="cuda")
        torch.cuda._sleep(50_000_000)
        tensor.fill_(7)
        with isthmus.window(tensor) as window:
            assert window.read(16, SIZE - 16) == b"\7" * 16


def test_tensors_with_gaps_and_tensors_of_the_cpu_are_refused(torch: Any) -> None:  # noqa: ANN401
    square = torch.zeros(8, 8, device="cuda")
    for view in (square[:, :4], square.t(), square[::2]):
        with pytest.raises(isthmus.UsageError, match="not contiguous"):
            isthmus.window(view)
    pinned = torch.zeros(64).pin_memory()
    for tensor in (torch.zeros(4), pinned):
        with pytest.raises(isthmus.UsageError, match=r"CPU's memory|pinned host"):
            isthmus.window(tensor)
    with pytest.raises(isthmus.UsageError, match="host memory"):
        isthmus.window(pinned.data_ptr(), 256)
    with pytest.raises(isthmus.UsageError, match="at least one byte"):
        isthmus.window(square[:0])


def test_pytorch_does_not_give_the_memory_away_while_a_window_is_open(
    torch: Any,  # noqa: ANN401
) -> None:
    tensor = torch.zeros(SIZE, dtype=torch.uint8, device="cuda")
    pointer = tensor.data_ptr()
    window = isthmus.window(tensor)
    del tensor
    others = [torch.empty(SIZE, dtype=torch.uint8, device="cuda") for _ in range(50)]
    assert pointer not in {other.data_ptr() for other in others}
    window.write(b"still ours")
    held = torch.cuda.memory_allocated()
    window.close()
    assert torch.cuda.memory_allocated() < held


def test_a_kernel_launched_after_a_write_reads_the_new_bytes(torch: Any) -> None:  # noqa: ANN401
    tensor = torch.zeros(1000, dtype=torch.int32, device="cuda")
    with isthmus.window(tensor) as window:
        for value in range(1, 200):
            window.write(value.to_bytes(4, "little") * 1000)
            assert int(tensor.sum()) == 1000 * value


def test_a_window_may_be_opened_while_a_graph_is_captured(torch: Any) -> None:  # noqa: ANN401
    tensor = torch.zeros(SIZE, dtype=torch.uint8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tensor += 1
        window = isthmus.window(tensor, sync=False)
    window.write(b"\5" * 100)
    graph.replay()
    torch.cuda.synchronize()
    assert window.read(101) == b"\6" * 100 + b"\1"
    window.close()


_EXPANDABLE = """
import torch, isthmus
tensor = torch.arange(3 << 20, dtype=torch.int32, device="cuda")
try:
    with isthmus.window(tensor[5:]) as window:
        window.write((-1).to_bytes(4, "little", signed=True), window.nbytes - 4)
        assert window.read(4) == (5).to_bytes(4, "little")
        assert int(tensor[-1]) == -1
        print("works", window.backend)
except isthmus.Unavailable as absence:
    print("unavailable", absence)
"""


def test_expandable_segments_work_or_are_unavailable_with_a_reason(
    torch: Any,  # noqa: ANN401
    record_property: Any,  # noqa: ANN401
) -> None:
    del torch
    done = run_code(_EXPANDABLE, EXPANDABLE_SEGMENTS, max_seconds=300)
    record_property("expandable_segments", done.out)
    assert done.code == 0, done.err
    assert done.out.startswith(("works", "unavailable"))


def test_a_tensor_of_a_gpu_that_is_not_the_current_one(torch: Any) -> None:  # noqa: ANN401
    last = torch.cuda.device_count() - 1
    if last == 0:
        pytest.skip("this machine has one GPU")
    tensor = torch.arange(SIZE, dtype=torch.int32, device=f"cuda:{last}")
    with isthmus.window(tensor) as window:
        assert window.read(16) == tensor[:4].cpu().numpy().tobytes()
        window.write(b"\x07\x00\x00\x00", 8)
    assert tensor[2].item() == 7
    assert torch.cuda.current_device() == 0


# --- CuPy ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("pool", ["default pool", "no pool", "stream-ordered"])
def test_a_cupy_array_of_any_allocator_is_mapped_or_unavailable(
    cupy: Any,  # noqa: ANN401
    pool: str,
    record_property: Any,  # noqa: ANN401
) -> None:
    allocators = {
        "default pool": cupy.get_default_memory_pool().malloc,
        "no pool": cupy.cuda.memory._malloc,
        "stream-ordered": cupy.cuda.malloc_async,
    }
    cupy.cuda.set_allocator(allocators[pool])
    array = cupy.zeros(10_001, cupy.uint8)
    data = random_bytes(9_000)
    if pool == "stream-ordered":
        try:
            isthmus.window(array).close()
        except isthmus.Unavailable as absence:
            record_property(pool, str(absence))
            return
    with isthmus.window(array[1:]) as window:
        window.write(data, 17)
        assert cupy.asnumpy(array).tobytes() == bytes(18) + data + bytes(983)
        array += 1
        cupy.cuda.get_current_stream().synchronize()
        assert window.read() == cupy.asnumpy(array)[1:].tobytes()


def test_managed_memory_is_refused(cupy: Any) -> None:  # noqa: ANN401
    cupy.cuda.set_allocator(cupy.cuda.malloc_managed)
    array = cupy.zeros(100)
    with pytest.raises(isthmus.UsageError, match="managed"):
        isthmus.window(array)
    with pytest.raises(isthmus.UsageError, match="managed"):
        isthmus.window(array.data.ptr, 100)

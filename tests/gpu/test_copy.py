"""Copies of PyTorch's tensors, in its streams and its memory."""

# ruff: noqa: ANN401 - modules and arrays of libraries

from typing import Any

import numpy as np
import pytest

import isthmus
from copies import SIZES, SLOW_CYCLES, random_bytes
from program import EXPANDABLE_SEGMENTS, Outcome, run_code
from threads import run_in_threads

pytestmark = pytest.mark.gpu

LARGE = 40 << 20


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("pinned", [False, True])
def test_bytes_go_to_a_tensor_and_back(torch: Any, size: int, pinned: bool) -> None:
    sent = random_bytes(size)
    host = isthmus.pinned.empty(size, np.uint8) if pinned else np.empty(size, np.uint8)
    host[:] = sent
    tensor = torch.zeros(size, dtype=torch.uint8, device="cuda")
    isthmus.copy(tensor, host)
    assert np.array_equal(tensor.cpu().numpy(), sent)
    host[:] = 0
    isthmus.copy(host, tensor)
    assert np.array_equal(host, sent)
    isthmus.copy_async(tensor, np.flip(sent).copy()).result(60)
    assert np.array_equal(tensor.cpu().numpy(), np.flip(sent))


@pytest.mark.parametrize(
    "name",
    [
        "bool",
        "uint8",
        "int16",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "float8_e4m3fn",
    ],
)
def test_every_type_of_tensor_goes_home_and_back(torch: Any, name: str) -> None:
    dtype = getattr(torch, name)
    source = torch.randint(0, 2, (37, 5)).to(dtype)
    device = torch.zeros_like(source, device="cuda")
    home = torch.zeros_like(source)
    isthmus.copy(device, source)
    isthmus.copy(home, device)
    assert torch.equal(home.view(torch.uint8), source.view(torch.uint8))
    if name not in {"bfloat16", "float8_e4m3fn"}:
        array = np.zeros((37, 5), str(source.numpy().dtype))
        isthmus.copy(array, device)
        assert np.array_equal(array, source.numpy())
    with pytest.raises(isthmus.UsageError, match="converts nothing"):
        isthmus.copy(device, np.zeros((37, 5), np.uint32))


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (2, 3, 4, 5), (1, 7, 1)])
def test_every_shape_of_tensor_goes_home_and_back(torch: Any, shape: tuple[int, ...]) -> None:
    source = torch.randn(shape)
    device = torch.empty(shape, device="cuda")
    isthmus.copy(device, source.numpy())
    home = np.full(shape, -1, np.float32)
    isthmus.copy(home, device)
    assert np.array_equal(home, source.numpy())


def test_tensors_with_strides(torch: Any) -> None:
    device = torch.randn(64, 48, device="cuda")
    home = np.empty((48, 64), np.float32)
    isthmus.copy(home, device.T)  # its layout: the host's array is unpacked
    assert np.array_equal(home, device.T.cpu().numpy())
    fortran = np.empty((64, 48), np.float32, order="F")
    isthmus.copy(fortran.T, device.T.contiguous())
    assert np.array_equal(fortran, device.cpu().numpy())
    channels = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    moved = torch.empty_like(channels, device="cuda")
    assert not isthmus.explain(moved, channels).packed
    isthmus.copy(moved, channels)
    assert torch.equal(moved.cpu(), channels)
    isthmus.copy(device, np.arange(64 * 96, dtype=np.float32).reshape(64, 96)[:, ::2])
    assert device[1, 1].item() == 98
    every_second = np.empty((64, 24), np.float32)
    isthmus.copy(every_second, device[:, ::2])
    assert np.array_equal(every_second, device[:, ::2].cpu().numpy())
    with pytest.raises(isthmus.UsageError, match="share memory"):
        isthmus.copy(np.empty((64, 48), np.float32), device[:1].expand(64, 48))


def test_tensors_that_are_not_what_their_memory_is(torch: Any) -> None:
    device = torch.randn(8, dtype=torch.complex64, device="cuda")
    with pytest.raises(isthmus.UsageError, match="conjugation"):
        isthmus.copy(np.zeros(8, np.complex64), device.conj())
    with pytest.raises(isthmus.UsageError):
        isthmus.copy(np.zeros((), np.float32), device[0].conj().imag)
    parameter = torch.nn.Parameter(torch.randn(8, device="cuda"))
    home = np.zeros(8, np.float32)
    isthmus.copy(home, parameter)
    assert np.array_equal(home, parameter.detach().cpu().numpy())
    with pytest.raises(isthmus.UsageError, match="autograd"):
        isthmus.copy(parameter, home)
    isthmus.copy(parameter.detach(), home + 1)
    assert np.array_equal(parameter.detach().cpu().numpy(), home + 1)
    with pytest.raises(isthmus.UsageError):
        isthmus.copy(home, device.to_sparse())


def test_a_pinned_tensor_is_known_as_pinned(torch: Any) -> None:
    device = torch.empty(1000, device="cuda")
    assert isthmus.explain(device, torch.empty(1000).pin_memory()).source == "pinned"
    assert isthmus.explain(device, torch.empty(1000)).source == "pageable"


@pytest.mark.parametrize("size", [16, 4096, LARGE])
@pytest.mark.parametrize("pinned", [False, True])
def test_a_copy_comes_after_the_work_of_its_tensors_stream(
    torch: Any, size: int, pinned: bool
) -> None:
    host = isthmus.pinned.zeros(size, np.uint8) if pinned else np.zeros(size, np.uint8)
    stream = torch.cuda.Stream()
    tensor = torch.zeros(size, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    for value, named in ((1, False), (2, True), (3, False)):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(SLOW_CYCLES)
            tensor.fill_(value)
            if not named:
                isthmus.copy(host, tensor)
        if named:
            isthmus.copy(host, tensor, stream=stream)
        assert (host == value).all()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(SLOW_CYCLES)
        doubled = tensor * 2
        future = isthmus.copy_async(tensor, np.full(size, 9, np.uint8))
        host[:] = 0
        tripled = tensor * 3
    future.result(60)
    stream.synchronize()
    assert (doubled == 6).all()
    assert (tripled == 27).all()


@pytest.mark.parametrize("size", [16, LARGE])
def test_what_is_launched_after_a_copy_sees_it(torch: Any, size: int) -> None:
    tensor = torch.zeros(size, dtype=torch.uint8, device="cuda")
    streams = [torch.cuda.Stream() for _ in range(4)]
    for value in range(1, 20):
        isthmus.copy(tensor, np.full(size, value, np.uint8))
        with torch.cuda.stream(streams[value % 4]):
            total = int(tensor.sum(dtype=torch.int64))
        assert total == value * size


def test_a_copy_is_recorded_while_a_graph_is_captured(torch: Any) -> None:
    tensor = torch.zeros(4096, device="cuda")
    host = isthmus.pinned.zeros(4096, np.float32)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tensor += 1
        isthmus.copy_async(host, tensor)
    for times in (1, 2, 3):
        graph.replay()
        torch.cuda.synchronize()
        assert (host == times).all()


_EXPANDABLE = """
import numpy as np, torch, isthmus
for size in (100, 3 << 20, 40 << 20):
    tensor = torch.zeros(size, dtype=torch.uint8, device="cuda")
    data = np.random.default_rng(0).integers(0, 256, size, np.uint8)
    for _ in range(3):
        isthmus.copy(tensor, data)
        home = np.empty_like(data)
        isthmus.copy(home, tensor)
        assert np.array_equal(home, data)
        assert np.array_equal(tensor.cpu().numpy(), data)
"""


def test_expandable_segments(torch: Any) -> None:
    del torch
    done = run_code(_EXPANDABLE, EXPANDABLE_SEGMENTS, max_seconds=300)
    assert done.code == 0, done.err


def test_memory_that_goes_around_in_pytorchs_pool_is_never_mixed_up(torch: Any) -> None:
    for step in range(300):
        size = 1 + (step * 7919) % 50_000
        tensor = torch.empty(size, dtype=torch.uint8, device="cuda")
        data = random_bytes(size)
        isthmus.copy(tensor, data)
        assert np.array_equal(tensor.cpu().numpy(), data), step
        del tensor
        if step % 50 == 0:
            torch.cuda.empty_cache()


def test_many_threads_with_streams_of_their_own(torch: Any) -> None:
    def copy(number: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            for size in np.random.default_rng(number).integers(1, 1 << 20, 20):
                tensor = torch.empty(int(size), dtype=torch.uint8, device="cuda")
                sent, back = random_bytes(int(size)), np.empty(int(size), np.uint8)
                isthmus.copy(tensor, sent)
                isthmus.copy_async(back, tensor).result(120)
                assert np.array_equal(sent, back)

    run_in_threads(copy, 64)


def test_a_tensor_of_a_gpu_that_is_not_the_current_one(torch: Any) -> None:
    last = torch.cuda.device_count() - 1
    if last == 0:
        pytest.skip("this machine has one GPU")
    data = random_bytes(100_000)
    tensor = torch.zeros(100_000, dtype=torch.uint8, device=f"cuda:{last}")
    isthmus.copy(tensor, data)
    first = torch.zeros(100_000, dtype=torch.uint8, device="cuda:0")
    isthmus.copy(first, tensor)
    assert np.array_equal(first.cpu().numpy(), data)
    assert torch.cuda.current_device() == 0


def test_the_interpreter_ends_in_peace_with_copies_under_way(torch: Any) -> None:
    del torch
    code = """
import numpy as np, torch, isthmus
tensor = torch.zeros(200 << 20, dtype=torch.uint8, device="cuda")
torch.cuda._sleep(1_000_000_000)
isthmus.copy_async(np.zeros(200 << 20, np.uint8), tensor)
kept = isthmus.copy_async(isthmus.pinned.zeros(200 << 20, np.uint8), tensor)
also = isthmus.copy_async(np.zeros(200 << 20, np.uint8), tensor)
print("end")
"""
    assert run_code(code, max_seconds=300) == Outcome(0, "end\n", "")

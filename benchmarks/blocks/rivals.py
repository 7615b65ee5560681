"""The other ways to copy blocks to and from a GPU: the driver's batch, Triton, PyTorch."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

import isthmus

Call = Callable[[], object]

# The constants of vLLM's kernel for blocks of up to 28 KiB: programs, and bytes of a step.
# Source: https://github.com/vllm-project/vllm/pull/42212. The kernel below is written anew.
TRITON_PROGRAMS, TRITON_STEP_BYTES = 12, 8192
ORDER_STREAM, ORDER_ANY = 1, 3


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("order", ctypes.c_int),
        ("source", _Location),
        ("target", _Location),
        ("flags", ctypes.c_uint),
    )


_cuda = ctypes.CDLL("libcuda.so.1")


class Batch:
    """One call of cuMemcpyBatchAsync, whose arrays are made before."""

    def __init__(self, targets: torch.Tensor, sources: torch.Tensor, size: int, order: int) -> None:
        """Keep addresses on the host, int64."""
        self._arrays = targets.contiguous(), sources.contiguous(), torch.full_like(targets, size)
        self._attributes = _Attributes(order=order)

    def __call__(self) -> None:
        """Enqueue it in PyTorch's current stream."""
        targets, sources, sizes = (ctypes.c_void_p(one.data_ptr()) for one in self._arrays)
        start = ctypes.c_size_t(0)
        code = _cuda.cuMemcpyBatchAsync_v2(
            targets,
            sources,
            sizes,
            ctypes.c_size_t(len(self._arrays[0])),
            ctypes.byref(self._attributes),
            ctypes.byref(start),
            ctypes.c_size_t(1),
            ctypes.c_void_p(torch.cuda.current_stream().cuda_stream),
        )
        if code != 0:
            raise RuntimeError(f"cuMemcpyBatchAsync: {code}")


@triton.jit  # type: ignore[misc]
def _copy_pieces(targets, sources, words, count, step: tl.constexpr) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 - pointers and numbers of the GPU
    lanes = tl.arange(0, step)
    piece = tl.program_id(0)
    while piece < count:
        target = tl.load(targets + piece).to(tl.pointer_type(tl.int64))
        source = tl.load(sources + piece).to(tl.pointer_type(tl.int64))
        for first in range(0, words, step):
            inside = first + lanes < words
            held = tl.load(source + first + lanes, mask=inside)
            tl.store(target + first + lanes, held, mask=inside)
        piece += tl.num_programs(0)


class Triton:
    """A kernel of few programs that go over lists of addresses, as engines write it."""

    def __init__(self, targets: torch.Tensor, sources: torch.Tensor, size: int) -> None:
        """Keep addresses: they are sent to the GPU at each call, as an engine does."""
        self._addresses = targets.pin_memory(), sources.pin_memory()
        self._words = size // 8
        self._step = min(triton.next_power_of_2(self._words), TRITON_STEP_BYTES // 8)

    def __call__(self) -> None:
        """Launch it in PyTorch's current stream."""
        targets, sources = (one.to("cuda", non_blocking=True) for one in self._addresses)
        count = len(targets)
        _copy_pieces[(min(TRITON_PROGRAMS, count),)](
            targets, sources, self._words, count, step=self._step
        )


@dataclass
class Case:
    """Some blocks of two pools."""

    up: bool
    host: torch.Tensor
    device: torch.Tensor
    block_bytes: int
    targets: torch.Tensor
    sources: torch.Tensor

    @property
    def ends(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Give both pools as rows: the target, and the source."""
        rows = [pool.view(-1, self.block_bytes) for pool in (self.device, self.host)]
        return (rows[0], rows[1]) if self.up else (rows[1], rows[0])

    def addresses(self) -> tuple[torch.Tensor, torch.Tensor]:
        """List the addresses of blocks at both ends."""
        target, source = self.ends
        return (
            target.data_ptr() + self.targets * self.block_bytes,
            source.data_ptr() + self.sources * self.block_bytes,
        )


def _by_torch(case: Case) -> Call:
    """Gather into a packed buffer, one copy, scatter from another."""
    target, source = case.ends
    to, of = case.targets.to(target.device), case.sources.to(source.device)
    shape = (len(to), case.block_bytes)
    packed = torch.empty(shape, dtype=torch.uint8, pin_memory=True)
    there = torch.empty(shape, dtype=torch.uint8, device="cuda")

    def up() -> None:
        torch.index_select(source, 0, of, out=packed)
        there.copy_(packed, non_blocking=True)
        target.index_copy_(0, to, there)

    def down() -> None:
        torch.index_select(source, 0, of, out=there)
        packed.copy_(there, non_blocking=True)
        torch.cuda.current_stream().synchronize()
        target.index_copy_(0, to, packed)

    return up if case.up else down


def ways_of(case: Case, sms: int | None) -> dict[str, Call]:
    """Give ours and the others', each a call that begins the copy in PyTorch's current stream."""
    target, source = case.ends
    to, of = case.targets.int().cuda(), case.sources.int().cuda()
    addresses = case.addresses()
    plan = isthmus.plan_blocks(target, source, to, of, sms=sms)
    host_to, host_of = case.targets.int(), case.sources.int()
    ways: dict[str, Call] = {
        "isthmus": lambda: isthmus.copy_blocks(target, source, to, of, sms=sms),
        "isthmus host indices": lambda: isthmus.copy_blocks(
            target, source, host_to, host_of, sms=sms
        ),
        "isthmus plan": plan,
        "batch STREAM": Batch(*addresses, case.block_bytes, ORDER_STREAM),
        "batch ANY": Batch(*addresses, case.block_bytes, ORDER_ANY),
        "triton": Triton(*addresses, case.block_bytes),
        "torch": _by_torch(case),
    }
    return ways

"""PyTorch's tensors in the host's memory as ends of copies. Its wheel for CPUs is enough."""

# ruff: noqa: ANN401 - tensors of a library that need not be installed

import gc
import sys
import weakref
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.blocked_stream import BlockStream
from fakes.device_arrays import DlpackArray, read_capsule
from isthmus import _native
from program import run_process

torch: Any = pytest.importorskip("torch", reason="PyTorch isn't installed")

pytestmark = pytest.mark.native

LARGE = 16 << 20
SUBCLASS: Any = type("Subclass", (torch.Tensor,), {})
TYPES = [
    *("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
]


def bytes_of(tensor: Any) -> bytes:
    """Give a tensor's items in C order, as PyTorch copies them."""
    if tensor.numel() == 0:
        return b""
    packed = tensor.detach().clone(memory_format=torch.contiguous_format)
    content: bytes = packed.reshape(-1).view(torch.uint8).numpy().tobytes()
    return content


def shown_as(tensor: Any, pointer: int) -> DlpackArray:
    """Show memory of the device as a tensor's type and shape, in C order."""
    described = read_capsule(tensor.detach().__dlpack__())
    return DlpackArray(
        pointer, tensor.shape, item_bits=described.item_bits, type_code=described.type_code
    )


def numbers(*shape: int) -> Any:
    return torch.arange(1.0, 1 + int(np.prod(shape, dtype=int))).reshape(shape)


@pytest.fixture
def memory(context: _native.Context) -> _native.DeviceMemory:
    return _native.DeviceMemory(context, LARGE)


Kind = Callable[[Any], Any]
KINDS = [lambda tensor: tensor, lambda tensor: tensor.as_subclass(SUBCLASS)]


@pytest.fixture(params=KINDS, ids=["Tensor", "subclass"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """Give tensors as they are, which are read natively, or as a subclass's, which are asked."""
    made: Kind = request.param
    return made


# --- types and shapes -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", TYPES)
def test_every_type_goes_to_the_device_and_home_as_it_is(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, kind: Kind, name: str
) -> None:
    sent = kind(torch.randint(0, 2, (37, 5)).to(getattr(torch, name)))
    device, home = shown_as(sent, memory.pointer), kind(torch.zeros_like(sent))
    transfers.copy(device, sent)
    assert memory.read(sent.nbytes) == bytes_of(sent)
    transfers.copy(home, device)
    assert bytes_of(home) == bytes_of(sent)
    other = np.zeros((37, 5), "M8[s]")
    with pytest.raises(isthmus.UsageError, match="converts nothing"):
        transfers.copy(other, sent)


@pytest.mark.parametrize("name", [name for name in TYPES[:15] if name != "bfloat16"])
def test_types_of_pytorch_and_of_numpy_are_the_same_by_name(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, name: str
) -> None:
    sent = torch.randint(0, 2, (4, 3)).to(getattr(torch, name))
    home = np.zeros((4, 3), sent.numpy().dtype)
    transfers.copy(shown_as(sent, memory.pointer), sent)
    transfers.copy(home, shown_as(sent, memory.pointer))
    assert np.array_equal(home, sent.numpy())
    home[:] = 0
    transfers.copy(home, sent)
    assert np.array_equal(home, sent.numpy())


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (2, 3, 4, 5), (1, 7, 1)])
def test_every_shape_goes_to_the_device_and_home(
    transfers: isthmus.Transfers,
    memory: _native.DeviceMemory,
    kind: Kind,
    shape: tuple[int, ...],
) -> None:
    sent = kind(numbers(*shape))
    device, home = shown_as(sent, memory.pointer), kind(torch.full(shape, -1.0))
    transfers.copy(device, sent)
    transfers.copy_async(home, device).result(60)
    assert torch.equal(home, sent)


# --- layouts --------------------------------------------------------------------------------------

VIEWS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda t: t.t(),
    "every second column": lambda t: t[:, ::2],
    "a block inside": lambda t: t[1:4, 2:5],
    "one column": lambda t: t[:, 3],
    "the diagonal": lambda t: t.diagonal(),
    "dimensions permuted": lambda t: t.view(2, 3, 8).permute(2, 0, 1),
    "channels last": lambda t: t.view(1, 2, 6, 4).to(memory_format=torch.channels_last),
    "complex numbers' imaginary parts": lambda t: torch.view_as_complex(t.view(6, 4, 2)).imag,
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_packed_and_unpacked_and_only_its_own_items_are_written(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, kind: Kind, view: str
) -> None:
    sent = kind(VIEWS[view](numbers(6, 8)))
    device = shown_as(sent, memory.pointer)
    transfers.copy(device, sent)
    assert memory.read(sent.nbytes) == bytes_of(sent)
    base = torch.zeros(6, 8)
    target, expected = VIEWS[view](base), torch.zeros(6, 8)
    VIEWS[view](expected).copy_(sent)
    transfers.copy(kind(target), device)
    assert torch.equal(target, sent)
    if target.untyped_storage().data_ptr() == base.untyped_storage().data_ptr():
        assert torch.equal(base, expected), "items beside the view were written"
    target.zero_()
    transfers.copy_async(kind(target), device).result(60)
    assert torch.equal(target, sent)


def test_items_that_share_memory_are_refused(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, kind: Kind
) -> None:
    for broadcast in (torch.ones(1, 8).expand(6, 8), torch.ones(10).unfold(0, 4, 1)):
        device = shown_as(broadcast, memory.pointer)
        for target, source in ((device, kind(broadcast)), (kind(broadcast), device)):
            with pytest.raises(isthmus.UsageError, match="share memory"):
                transfers.copy(target, source)


def test_what_is_written_is_seen_through_everything_that_shares_the_memory(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    array = np.zeros(100, np.float32)
    tensor = torch.from_numpy(array)
    shared = torch.zeros(100).share_memory_()
    transfers.copy(isthmus.DevicePointer(memory.pointer, 400), numbers(100))
    for target in (tensor, shared):
        slice_of_it = target[10:20]
        transfers.copy(target, isthmus.DevicePointer(memory.pointer, 400))
        assert torch.equal(slice_of_it, numbers(100)[10:20])
    assert np.array_equal(array, numbers(100).numpy())


def test_a_tensor_and_an_array_of_numpy_are_copied_to_each_other_on_the_host(
    transfers: isthmus.Transfers, kind: Kind
) -> None:
    sent, home = numbers(5, 7), np.zeros((7, 5), np.float32)
    transfers.copy(home.T, kind(sent))
    assert np.array_equal(home.T, sent.numpy())
    back = torch.zeros(7, 5)
    transfers.copy(kind(back.t()), home.T)
    assert torch.equal(back.t(), sent)


# --- what is more, or less, than memory -----------------------------------------------------------


def test_a_conjugation_or_a_sign_that_is_pending_is_refused_until_it_is_resolved(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, kind: Kind
) -> None:
    numbers_in_memory = torch.randn(8, dtype=torch.complex64)
    for pending, resolve in (
        (numbers_in_memory.conj(), torch.Tensor.resolve_conj),
        (numbers_in_memory.conj().imag, torch.Tensor.resolve_neg),
    ):
        device = shown_as(resolve(pending), memory.pointer)
        for target, source in ((device, kind(pending)), (kind(pending), device)):
            with pytest.raises(
                isthmus.UsageError, match=r"its (conjugation|sign) is pending"
            ) as refusal:
                transfers.copy(target, source)
            assert resolve.__name__ in refusal.value.hint
        transfers.copy(device, kind(resolve(pending)))
        assert memory.read(pending.nbytes) == bytes_of(resolve(pending))


def test_a_tensor_that_needs_a_gradient_is_a_source_and_without_autograd_a_target(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, kind: Kind
) -> None:
    parameter = torch.nn.Parameter(numbers(8))
    device = shown_as(parameter, memory.pointer)
    for tensor in (parameter, kind(parameter), parameter * 2):
        transfers.copy(device, tensor)
        assert memory.read(32) == bytes_of(tensor)
        with pytest.raises(isthmus.UsageError, match="autograd") as refusal:
            transfers.copy(tensor, device)
        assert "no_grad" in refusal.value.hint
        with torch.no_grad():
            tensor.zero_()
            transfers.copy(tensor, device)
        assert memory.read(32) == bytes_of(tensor)
    transfers.copy(kind(parameter.detach()), device)
    assert torch.equal(parameter.detach(), numbers(8) * 2)


def test_tensors_of_inference_are_ends_as_any_others(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    with torch.inference_mode():
        sent, home = numbers(8), torch.zeros(8)
    transfers.copy(shown_as(sent, memory.pointer), sent)
    with torch.inference_mode():
        transfers.copy(home, shown_as(sent, memory.pointer))
    assert torch.equal(home, sent)


class Wrapper(torch.Tensor):  # type: ignore[misc]
    """Has a shape and a type, and its items in another tensor, as distributed tensors have."""

    @staticmethod
    def __new__(cls: Any, inner: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    @classmethod
    def __torch_dispatch__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        del types, args, kwargs
        raise NotImplementedError(f"a Wrapper does no {function}")


def _of_fake_mode() -> Any:
    with import_module("torch._subclasses.fake_tensor").FakeTensorMode():
        return torch.ones(4)


WITHOUT_ITEMS: dict[str, Callable[[], Any]] = {
    "sparse": lambda: torch.eye(2).to_sparse(),
    "sparse rows": lambda: torch.eye(2).to_sparse_csr(),
    "meta": lambda: torch.ones(4, device="meta"),
    "opaque": lambda: torch.ones(2, 2).to_mkldnn(),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(1), torch.ones(3)]),
    "quantised": lambda: torch.quantize_per_tensor(torch.ones(16), 0.1, 0, torch.quint8),
    "wrapped": lambda: Wrapper(torch.ones(4)),
    "fake": _of_fake_mode,
}


@pytest.mark.filterwarnings("ignore")  # some of these are beta, or going
@pytest.mark.parametrize("name", WITHOUT_ITEMS)
def test_a_tensor_without_items_in_memory_is_refused_and_nothing_is_written(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, name: str
) -> None:
    if name == "opaque" and not torch.backends.mkldnn.is_available():
        pytest.skip("this PyTorch has no oneDNN")
    tensor = WITHOUT_ITEMS[name]()
    memory.write(b"\xee" * 16)
    device = isthmus.DevicePointer(memory.pointer, 16)
    for call in (transfers.copy, transfers.copy_async, transfers.explain):
        for target, source in ((device, tensor), (tensor, device)):
            with pytest.raises(isthmus.UsageError, match=r"Tensor|Wrapper|null pointer"):
                call(target, source)
    assert memory.read(16) == b"\xee" * 16


def test_inside_a_transform_of_functions_a_tensor_is_refused(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    device = isthmus.DevicePointer(memory.pointer, 16)

    def copy(tensor: Any) -> Any:
        with pytest.raises(isthmus.UsageError, match="can't be exported"):
            transfers.copy(device, tensor)
        return tensor.sum()

    torch.vmap(copy)(torch.ones(2, 4))
    torch.func.grad(copy)(torch.ones(4))


# --- copies under way -----------------------------------------------------------------------------


def test_a_tensor_lives_as_long_as_the_copy_that_writes_it(
    transfers: isthmus.Transfers,
    memory: _native.DeviceMemory,
    kind: Kind,
    block_stream: BlockStream,
) -> None:
    tensor = kind(torch.zeros(LARGE, dtype=torch.uint8))
    same_memory = tensor.numpy()
    gone = weakref.ref(tensor)
    device = isthmus.DevicePointer(memory.pointer, LARGE)
    transfers.copy(device, tensor)
    transfers.copy(tensor, device)  # what the first copies allocate is there before it stands still
    memory.write(b"\x07" * LARGE)
    stream = block_stream()
    future = transfers.copy_async(tensor, device, stream=stream.handle)
    del tensor
    gc.collect()
    assert gone() is not None
    assert not future.done()
    stream.go_on()
    future.result(60)
    assert (same_memory == 7).all()
    gc.collect()
    assert gone() is None


def test_a_source_may_change_after_the_call_unless_it_was_said_otherwise(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, kind: Kind
) -> None:
    tensor = kind(torch.full((LARGE,), 3, dtype=torch.uint8))
    future = transfers.copy_async(isthmus.DevicePointer(memory.pointer, LARGE), tensor)
    tensor.zero_()
    future.result(60)
    assert memory.read(LARGE) == b"\x03" * LARGE
    tensor.fill_(4)
    device = isthmus.DevicePointer(memory.pointer, LARGE)
    future = transfers.copy_async(device, tensor, source_order="stream")
    del tensor
    gc.collect()
    noise = [torch.full((LARGE,), 9, dtype=torch.uint8) for _ in range(4)]
    future.result(60)
    assert memory.read(LARGE) == b"\x04" * LARGE
    del noise


_LET_GO = """
import sys
import numpy as np
import torch
import isthmus
from fakes.blocked_stream import BlockedStream
from fakes.cuda_calls import Cuda
from isthmus import _native
from program import run_process
SIZE = 16 << 20
driver = _native.Driver.open()
memory = _native.DeviceMemory(_native.Context(driver, 0), SIZE)
memory.write(np.full(SIZE, 7, np.uint8))
device = isthmus.DevicePointer(memory.pointer, SIZE)
tensor = torch.zeros(SIZE, dtype=torch.uint8)
isthmus.copy(tensor, device)  # what the first copy allocates is there before a stream stands still
if sys.argv[1] == "subclass":
    tensor = tensor.as_subclass(type("Subclass", (torch.Tensor,), {}))
stream = BlockedStream(Cuda(driver.path))
future = isthmus.copy_async(tensor, device, stream=stream.handle)
if sys.argv[2] == "data":
    tensor.data = torch.zeros(1, dtype=torch.uint8)
else:
    tensor.set_()
others = [np.zeros(SIZE, np.uint8) for _ in range(4)]
stream.go_on()
future.result(60)
print(sum(np.count_nonzero(other) for other in others), "foreign bytes written")
"""


@pytest.mark.parametrize("replaced_by", ["data", "set_"])
@pytest.mark.parametrize("kind_of_tensor", ["Tensor", "subclass"])
def test_memory_that_a_tensor_lets_go_of_is_not_written_by_a_copy_under_way(
    environment: dict[str, str], kind_of_tensor: str, replaced_by: str
) -> None:
    command = [sys.executable, "-c", _LET_GO, kind_of_tensor, replaced_by]
    done = run_process(command, environment, max_seconds=300)
    assert (done.out, done.err) == ("0 foreign bytes written\n", "")


@pytest.mark.usefixtures("default_driver")
def test_tensors_whose_memory_isnt_rows_are_no_table_of_a_row_cache() -> None:
    plain = torch.zeros(4, 128)
    for made, message in (
        (torch.quantize_per_tensor(plain, 0.1, 0, torch.qint8), "is quantized"),
        (torch.view_as_complex(plain.view(4, 64, 2)).conj(), "conjugation is pending"),
        (plain.to_sparse(), "is sparse"),
        (plain.t(), "this table has gaps or isn't in C order"),
    ):
        with pytest.raises(isthmus.UsageError, match=message):
            isthmus.RowCache(made, 1)

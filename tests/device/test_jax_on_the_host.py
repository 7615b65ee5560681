"""JAX's arrays in the host's memory as sources of copies. Its wheel for CPUs is enough."""

# ruff: noqa: ANN401 - arrays of a library that need not be installed

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.blocked_stream import BlockStream
from fakes.device_arrays import DlpackArray, read_capsule
from isthmus import _native

jax: Any = pytest.importorskip("jax", reason="JAX isn't installed")
# Not by the environment: other tests' processes need to see a GPU.
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)  # noqa: FBT003 - JAX's own signature
jnp: Any = jax.numpy

pytestmark = pytest.mark.native

LARGE = 16 << 20
TYPES = [
    *("bool_", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
]


def shown_as(array: Any, pointer: int) -> DlpackArray:
    """Show memory of the device as an array's type and shape, in C order."""
    described = read_capsule(array.__dlpack__())
    return DlpackArray(
        pointer, array.shape, item_bits=described.item_bits, type_code=described.type_code
    )


@pytest.fixture
def memory(context: _native.Context) -> _native.DeviceMemory:
    return _native.DeviceMemory(context, LARGE)


@pytest.mark.parametrize("name", TYPES)
def test_every_type_goes_to_the_device_and_to_numpy_as_it_is(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, name: str
) -> None:
    sent = jnp.arange(15).astype(getattr(jnp, name)).reshape(3, 5)
    same = np.asarray(sent)  # of ml_dtypes' types where NumPy has none
    device = shown_as(sent, memory.pointer)
    transfers.copy(device, sent)
    assert memory.read(sent.nbytes) == same.tobytes()
    home = np.zeros_like(same)
    transfers.copy(home, device)
    assert home.tobytes() == same.tobytes()
    for source in (sent, same):
        home[...] = 0
        transfers.copy(home, source)
        assert home.tobytes() == same.tobytes()
        transfers.copy_async(device, source).result(60)
    with pytest.raises(isthmus.UsageError, match="converts nothing"):
        transfers.copy(np.zeros((3, 5), "M8[s]"), sent)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (2, 3, 4, 5), (1, 7, 1)])
def test_every_shape_goes_to_the_device(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, shape: tuple[int, ...]
) -> None:
    sent = jnp.arange(np.prod(shape, dtype=int), dtype=jnp.float32).reshape(shape)
    transfers.copy(shown_as(sent, memory.pointer), sent)
    assert memory.read(sent.nbytes) == np.asarray(sent).tobytes()


def test_slices_and_transposed_arrays_arrive_in_c_order(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    base = jnp.arange(48.0).reshape(6, 8)
    for view in (base.T, base[:, ::2], base[::-1], base[1:4, 2:5], base.reshape(2, 3, 8).mT):
        transfers.copy(shown_as(view, memory.pointer), view)
        assert memory.read(view.nbytes) == np.asarray(view).tobytes()
        unpacked = np.zeros(view.shape[::-1]).T
        transfers.copy(unpacked, view)
        assert np.array_equal(unpacked, view)


def test_an_array_never_changes_and_so_it_is_no_target(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    array = jnp.arange(12.0)
    device = shown_as(array, memory.pointer)
    transfers.copy(device, array * 2)
    for target in (array, np.asarray(array)):
        for call in (transfers.copy, transfers.copy_async, transfers.explain):
            with pytest.raises(isthmus.UsageError, match="read-only"):
                call(target, device)
    assert np.array_equal(array, np.arange(12.0))


def test_what_jax_has_still_to_compute_is_waited_for(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    pending = jnp.ones((512, 512))
    for _ in range(20):
        pending = jnp.tanh(pending @ pending)
    transfers.copy(shown_as(pending, memory.pointer), pending)
    assert memory.read(pending.nbytes) == np.asarray(pending).tobytes()


def test_an_array_that_is_dropped_lives_as_long_as_the_copy_that_reads_it(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, block_stream: BlockStream
) -> None:
    array = jnp.full(LARGE, 4, jnp.uint8)
    gone = weakref.ref(array)
    device = isthmus.DevicePointer(memory.pointer, LARGE)
    transfers.copy(device, array)  # what the first copy allocates is there before it stands still
    memory.write(bytes(LARGE))
    stream = block_stream()
    future = transfers.copy_async(device, array, stream=stream.handle, source_order="stream")
    del array
    gc.collect()
    assert gone() is not None
    noise = [jnp.full(LARGE, 9, jnp.uint8) for _ in range(4)]
    stream.go_on()
    future.result(60)
    assert memory.read(LARGE) == b"\x04" * LARGE
    gc.collect()
    assert gone() is None
    del noise


def test_an_array_without_items_in_memory_is_refused_and_nothing_is_written(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    memory.write(b"\xee" * 16)
    device = isthmus.DevicePointer(memory.pointer, 16)

    def require_refusal(array: Any, words: str) -> None:
        for target, source in ((device, array), (array, device)):
            for call in (transfers.copy, transfers.copy_async, transfers.explain):
                with pytest.raises(isthmus.UsageError, match=words):
                    call(target, source)

    deleted = jnp.ones(2)
    deleted.delete()
    require_refusal(deleted, "was deleted: by delete")
    require_refusal(jax.random.key(0), "has no memory")
    require_refusal(jnp.arange(4).astype(jnp.int4), "can't be exported: [^\n]*S4[^\n]*$")

    def traced(array: Any) -> Any:
        require_refusal(array, "traced by JAX")
        return array + 1

    jax.jit(traced)(jnp.ones(2))
    jax.vmap(traced)(jnp.ones((2, 2)))
    jax.grad(lambda array: traced(array).sum())(jnp.ones(2))
    assert memory.read(16) == b"\xee" * 16


def test_an_array_goes_to_a_tensor_of_pytorch(transfers: isthmus.Transfers) -> None:
    torch: Any = pytest.importorskip("torch", reason="PyTorch isn't installed")
    sent = jnp.arange(15).astype(jnp.bfloat16).reshape(3, 5)
    target = torch.zeros(3, 5, dtype=torch.bfloat16)
    transfers.copy(target, sent)
    assert target.float().numpy().tobytes() == np.asarray(sent).astype(np.float32).tobytes()

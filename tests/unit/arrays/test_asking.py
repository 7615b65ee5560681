"""What arrays of other libraries raise if they expose no memory; how they name types."""

from types import SimpleNamespace

import pytest

import isthmus
from fakes.array_libraries import Torch
from fakes.device_arrays import DlpackArray
from isthmus.arrays.host_array import array_interface_of, from_array_interface
from isthmus.arrays.recognition import array_of
from isthmus.arrays.streams import current_stream
from isthmus.arrays.torch_tensor import plain_tensor
from isthmus.windows.recognition import device_bytes_of

# What PyTorch, JAX and NumPy were seen to raise.
REFUSALS = [
    AttributeError("a traced array has no such attribute"),
    BufferError("it is sparse"),
    NotImplementedError("an opaque tensor has no storage"),
    RuntimeError("the array has been deleted"),
    TypeError("object of type 'NoneType' has no len()"),
    ValueError("unknown device type meta"),
]


class Unexportable(DlpackArray):
    """Raises when it is asked for its memory, or before that for its device."""

    def __init__(self, refusal: Exception, *, asked_for: str) -> None:
        super().__init__(64, (4,))
        self.refusal = refusal
        self.asked_for = asked_for

    def __dlpack_device__(self) -> tuple[int, int]:
        if self.asked_for == "device":
            raise self.refusal
        return super().__dlpack_device__()

    def __dlpack__(self, **_: object) -> object:
        raise self.refusal


@pytest.mark.parametrize("asked_for", ["device", "memory"])
@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: type(refusal).__name__)
def test_whatever_an_array_raises_is_a_usage_error_that_names_it_and_the_reason(
    refusal: Exception, asked_for: str
) -> None:
    array = Unexportable(refusal, asked_for=asked_for)
    for ask in (
        lambda: array_of(array, as_target=False, exporting=None),
        lambda: device_bytes_of(array, None, None),
    ):
        with pytest.raises(isthmus.UsageError, match="this Unexportable can't be") as failure:
            ask()
        assert str(refusal) in str(failure.value)
        assert failure.value.__cause__ is refusal
        assert failure.value.hint == ""


def test_a_want_of_memory_is_not_the_arrays_fault() -> None:
    array = Unexportable(MemoryError("no more"), asked_for="memory")
    with pytest.raises(MemoryError, match="no more"):
        array_of(array, as_target=False, exporting=None)


def test_a_tensor_that_answers_nothing_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Subclasses of PyTorch's Tensor may forbid any call; meta tensors have no device here."""
    library = Torch(exchange=False)
    monkeypatch.setitem(__import__("sys").modules, "torch", library.module)

    def refuse(*_: object) -> bool:
        raise RuntimeError("no such call")

    silent = library.tensor(64, (4,))
    for name in ("is_conj", "detach", "__dlpack_device__"):
        monkeypatch.setattr(type(silent), name, refuse)
    with pytest.raises(isthmus.UsageError, match="no such call"):
        current_stream(silent)
    with pytest.raises(isthmus.UsageError, match="no such call"):
        plain_tensor(silent, as_target=False)
    monkeypatch.setattr(type(silent), "is_conj", lambda _tensor: False)
    silent.requires_grad = True
    with pytest.raises(isthmus.UsageError, match="no such call") as failure:
        plain_tensor(silent, as_target=False)
    assert failure.value.hint == "pass tensor.detach()"


def test_a_type_that_numpy_was_told_of_has_its_own_name_whatever_its_letter_is() -> None:
    """ml_dtypes' float8_e5m2 has the letter of NumPy's floats; float8_e4m3fn has none."""
    for letter, name in (("<f1", "float8_e5m2"), ("|V1", "float8_e4m3fn"), ("<V2", "bfloat16")):
        array = SimpleNamespace(
            dtype=SimpleNamespace(isbuiltin=2, fields=None, name=name),
            __array_interface__={"shape": (3,), "typestr": letter, "data": (64, False)},
        )
        interface = array_interface_of(array)
        assert interface is not None
        assert from_array_interface(array, interface).item == name

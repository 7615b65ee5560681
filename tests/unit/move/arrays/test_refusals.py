"""What is said of real objects that can't be copied: one line, true, and what to do instead."""

import array
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.device_arrays import DlpackArray

pytestmark = pytest.mark.native


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISTHMUS_DRIVER", "emulated")


def require_refusal(thing: Any, words: str, hint: str = "") -> None:  # noqa: ANN401
    """Require it in either role, in one line that isn't a chain of foreign frames."""
    for target, source in ((bytearray(64), thing), (thing, bytes(64))):
        with pytest.raises(isthmus.UsageError, match=words) as failure:
            isthmus.copy(target, source)
        assert "\n" not in str(failure.value)
        assert "\n" not in failure.value.hint
        assert hint in failure.value.hint
        assert "\n" not in str(failure.value.__cause__ or "")


TENSORS: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "sparse": (lambda torch: torch.eye(4).to_sparse(), "is sparse", "to_dense"),
    "rows": (lambda torch: torch.eye(4).to_sparse_csr(), "is sparse", "to_dense"),
    "meta": (lambda torch: torch.zeros(4, device="meta"), "meta device", "on the host or a GPU"),
    "quantized": (
        lambda torch: torch.quantize_per_tensor(torch.zeros(4), 1.0, 0, torch.quint8),
        "is quantized",
        "int_repr",
    ),
    "nested": (
        lambda torch: torch.nested.nested_tensor([torch.zeros(4), torch.zeros(2)]),
        "is nested",
        "unbind",
    ),
    "jagged": (
        lambda torch: torch.nested.nested_tensor(
            [torch.zeros(4), torch.zeros(2)], layout=torch.jagged
        ),
        "is nested",
        "unbind",
    ),
    "masked": (
        lambda torch: torch.masked.masked_tensor(torch.zeros(4), torch.ones(4, dtype=torch.bool)),
        "is masked",
        "get_data",
    ),
    "bits": (lambda torch: torch.empty(4, dtype=torch.bits8), "can't be exported", ""),
    "storage": (lambda torch: torch.zeros(4).untyped_storage(), "no memory", "set_"),
    "type": (lambda torch: torch.float32, "no memory", "pass an array"),
}


@pytest.mark.filterwarnings("ignore")  # of prototypes
@pytest.mark.parametrize("kind", TENSORS)
def test_a_tensor_that_is_not_memory_with_strides_is_refused_in_a_line(kind: str) -> None:
    make, words, hint = TENSORS[kind]
    require_refusal(make(pytest.importorskip("torch")), words, hint)


@pytest.mark.filterwarnings("ignore")  # of PyTorch, which is asked for an address
def test_a_tensor_whose_memory_is_gone_or_never_was_is_refused() -> None:
    torch = pytest.importorskip("torch")
    freed = torch.zeros(16)
    freed.untyped_storage().resize_(0)
    require_refusal(freed, "has items, but no memory")
    fake = pytest.importorskip("torch._subclasses.fake_tensor")
    with fake.FakeTensorMode():
        example = torch.zeros(16)
    require_refusal(example, "this FakeTensor has items, but no memory")


@pytest.mark.parametrize("text", ["", "first\nframe #0: isthmus", "\n first \r\n second"])
def test_of_what_a_library_says_only_the_first_line_is_told(text: str) -> None:
    class Talkative(DlpackArray):
        def __dlpack__(self, **_: object) -> object:
            raise BufferError(text)

    require_refusal(Talkative(64, (4,)), "exported: (first|BufferError) *$")


def test_what_says_nonsense_about_its_device_is_refused() -> None:
    class Nonsense(DlpackArray):
        def __dlpack_device__(self) -> tuple[int, int]:
            return "a", "b"  # type: ignore[return-value]

    require_refusal(Nonsense(64, (4,)), "isn't a number")


def test_a_table_is_refused_with_a_way_to_its_numbers() -> None:
    pandas = pytest.importorskip("pandas")
    numbers = pandas.Series([1.0, 2.0])
    for table in (numbers, numbers.to_frame(), numbers.index, numbers.array):
        require_refusal(table, "no memory", ".to_numpy()")


@pytest.mark.parametrize(
    ("thing", "words", "hint"),
    [
        (np.ma.zeros(16), "is masked", ".filled()"),
        (np.zeros(4, object), "holds Python objects", "astype"),
        (np.zeros(2, [("a", "O"), ("b", "f8")]), "holds Python objects", "astype"),
        (np.zeros(16).flat, "no memory", "numpy.asarray"),
        (io.BytesIO(bytes(64)), "no memory", "getbuffer"),
        (range(64), "no memory", "pass an array"),
        ("text", "no memory", "pass an array"),
        (1.5, "no memory", "pass an array"),
        (array, "no memory", "pass an array"),
    ],
)
def test_what_has_no_plain_memory_is_refused_in_a_line(
    thing: object, words: str, hint: str
) -> None:
    require_refusal(thing, words, hint)


@pytest.mark.skipif(np.__version__ < "2", reason="of NumPy 2")
def test_strings_of_any_length_are_refused() -> None:
    require_refusal(np.zeros(4, np.dtypes.StringDType()), "holds Python objects", "astype('U')")


@pytest.mark.parametrize(
    "thing",
    [
        np.zeros(8, "f4,i4").view(np.recarray),
        np.zeros(16, ">f4"),
        np.zeros(8, "M8[ns]"),
        np.zeros(4, "U4"),
        np.zeros((), "V64"),
        array.array("d", [0.0] * 8),
        memoryview(bytearray(128))[::2],
        memoryview(np.zeros((4, 4), "f4").data),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_what_has_memory_is_copied_there_and_back_whatever_its_items_are(
    thing: Any,  # noqa: ANN401
) -> None:
    shape, form = np.asarray(thing).shape, np.asarray(thing).dtype
    device = isthmus.device_empty(shape, form)
    sent = np.arange(64, dtype="u1").view(form).reshape(shape)
    isthmus.copy(device, sent)
    isthmus.copy(thing, memoryview(sent.tobytes()) if np.ndim(thing) < 2 else sent)
    back = np.empty(shape, form)
    isthmus.copy(back, device)
    assert back.tobytes() == np.asarray(thing).tobytes() == sent.tobytes()

"""Headers of safetensors files: what is read, and what is refused by name."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.safetensors_files import description, encoded, write_file
from isthmus.errors import UsageError
from isthmus.move.safetensors.header import Header, parse_header, read_header
from isthmus.move.safetensors.types import ITEM_BITS

Read = Callable[[bytes], Header]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read the header of a file with these bytes."""

    def reading(content: bytes) -> Header:
        path = tmp_path / "model.safetensors"
        path.write_bytes(content)
        descriptor = os.open(path, os.O_RDONLY)
        try:
            return read_header(descriptor, "model.safetensors")
        finally:
            os.close(descriptor)

    return reading


def with_header(members: object, data: bytes = b"") -> bytes:
    return encoded(json.dumps(members).encode(), data)


@pytest.mark.parametrize(
    ("content", "words", "hint"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer", "git lfs pull"),
        (b"\n<!DOCTYPE html><html>", "an HTML or XML page", "download it again"),
        (b"PK\x03\x04" + bytes(40), "a zip archive", "isthmus.load_pt"),
        (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j", "a pickle", "torch.load"),
        (gzip.compress(bytes(1000), mtime=0), "compressed by gzip", "gunzip"),
        (gzip.compress(b"{" * 1000, mtime=1), "compressed by gzip", "gunzip"),
        (b"GGUF\x03\0\0\0" + bytes(40), "a GGUF file", "safetensors"),
        (b"\x93NUMPY\x01\0v\0{'descr'", "an array of NumPy", "numpy.load"),
        (b'{"error": "Repository not found"}', "JSON", "an index"),
    ],
)
def test_another_format_is_named_and_what_to_do(
    read: Read, content: bytes, words: str, hint: str
) -> None:
    with pytest.raises(UsageError, match=f"not a safetensors file, but {words}") as failure:
        read(content)
    assert "\n" not in str(failure.value)
    assert hint in failure.value.hint


def test_a_header_whose_length_looks_like_another_format_is_read(read: Read) -> None:
    """0x88b1f bytes: the signature of gzip."""
    content = (0x88B1F).to_bytes(8, "little") + b"{}".ljust(0x88B1F)
    assert read(content).entries == ()


def test_tensors_come_in_the_order_of_their_bytes(read: Read) -> None:
    members = {
        "b": description("F32", [2, 3], 4, 28),
        "a": description("U8", [4], 0, 4),
        "scalar": description("BF16", [], 28, 30),
    }
    header = read(with_header(members, bytes(30)))
    assert [entry.name for entry in header.entries] == ["a", "b", "scalar"]
    b = header.entries[1]
    assert (b.dtype, b.shape, b.first, b.size_bytes) == ("F32", (2, 3), 4, 24)
    assert header.entries[2].shape == ()


def test_the_data_begins_behind_the_header_and_its_padding(read: Read, tmp_path: Path) -> None:
    path = write_file(tmp_path / "x", {"t": ("I8", [3], b"abc")}, padding=13)
    header = read(path.read_bytes())
    assert path.read_bytes()[header.data_offset :] == b"abc"
    assert header.data_bytes == 3


def test_metadata_is_text(read: Read) -> None:
    assert read(with_header({"__metadata__": {"format": "pt"}})).metadata == {"format": "pt"}
    assert read(with_header({"__metadata__": None})).metadata == {}
    assert read(with_header({})).metadata == {}


def test_a_file_without_tensors_is_one(read: Read) -> None:
    assert read(with_header({})).entries == ()


def test_tensors_without_items_may_lie_anywhere_between_others(read: Read) -> None:
    members = {
        "a": description("F32", [1], 0, 4),
        "none": description("F32", [0, 5], 4, 4),
        "b": description("F32", [1], 4, 8),
        "last": description("I64", [0], 8, 8),
    }
    names = [entry.name for entry in read(with_header(members, bytes(8))).entries]
    assert names == ["a", "none", "b", "last"]


@pytest.mark.parametrize("dtype", sorted(ITEM_BITS))
def test_every_type_of_the_format_has_its_size(read: Read, dtype: str) -> None:
    size = ITEM_BITS[dtype]  # of 8 items, in bytes
    header = read(with_header({"t": description(dtype, [2, 4], 0, size)}, bytes(size)))
    assert header.entries[0].size_bytes == size


def test_a_tensor_has_up_to_64_dimensions(read: Read) -> None:
    members = {"t": description("U8", [1] * 63 + [4], 0, 4)}
    assert read(with_header(members, bytes(4))).entries[0].shape == (*[1] * 63, 4)


def test_escapes_of_whole_characters_are_names(read: Read) -> None:
    names = {rb"\ud83d\ude00": "\U0001f600", rb"\\ud83d": "\\ud83d", rb"\u00e9": "\xe9"}
    for escaped, name in names.items():
        header = read(
            encoded(b'{"%s":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}' % escaped, b"")
        )
        assert header.entries[0].name == name


class Counted(str):
    """A text that counts how often it is compared with another."""

    __slots__ = ()
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return super().__eq__(other)

    __hash__ = str.__hash__


def test_a_name_that_is_there_twice_is_found_with_a_comparison_for_each_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Twenty thousand members took eight seconds: each was compared with all."""
    loads = json.loads

    def counting(text: str, *, object_pairs_hook: Callable[[Any], Any], **others: Any) -> Any:  # noqa: ANN401
        def of_counted(pairs: list[tuple[str, Any]]) -> Any:  # noqa: ANN401
            return object_pairs_hook([(Counted(name), value) for name, value in pairs])

        return loads(text, object_pairs_hook=of_counted, **others)

    monkeypatch.setattr(json, "loads", counting)
    names = [f"t{number}" for number in range(20_000)]
    text = "{" + ",".join(f'"{name}":{{}}' for name in [*names, names[-1]]) + "}"
    Counted.comparisons = 0
    with pytest.raises(UsageError, match="'t19999' occurs twice"):
        parse_header(text.encode(), file="f", data_offset=0, file_bytes=0)
    assert Counted.comparisons <= len(names)


def test_a_message_shows_a_long_or_strange_name_in_one_short_line(read: Read) -> None:
    for name in ("x" * 1_000_000, "\x1b[31m\n" * 1000):
        with pytest.raises(UsageError) as caught:
            read(with_header({name: {}}))
        assert len(str(caught.value)) < 500
        assert str(caught.value).isprintable()


def test_names_may_be_any_text(read: Read) -> None:
    name = 'Ω "quoted"\n/../'
    assert read(with_header({name: description("U8", [0], 0, 0)})).entries[0].name == name


ONE = {"t": description("U8", [4], 0, 4)}


def changed(**members: Any) -> dict[str, Any]:  # noqa: ANN401 - wrong on purpose
    """Describe one tensor of four bytes wrongly."""
    return {"t": {**ONE["t"], **members}}


def without(member: str) -> dict[str, Any]:
    return {"t": {key: value for key, value in ONE["t"].items() if key != member}}


WRONG_FILES = {
    "no bytes": (b"", "has 0 bytes"),
    "seven bytes": (bytes(7), "has 7 bytes"),
    "a header that isn't there": (encoded(b"", b"", length=2), "truncated: the header has 2"),
    "a header cut off": (encoded(b'{"t"', b"", length=400), "truncated: the header has 400"),
    "a header of 100 MB and one byte": (encoded(b"{}", b"", length=100_000_001), "100000001"),
    "a length above all files": (encoded(b"{}", b"", length=(1 << 64) - 1), "the limit is"),
    "no header": (encoded(b"", b""), "doesn't begin with '{'"),
    "a list": (encoded(b"[]", b""), "doesn't begin with '{'"),
    "a space first": (encoded(b" {}", b""), "doesn't begin with '{'"),
    "no JSON": (encoded(b"{]", b""), "can't be read"),
    "something behind the JSON": (encoded(b"{} {}", b""), "can't be read"),
    "no UTF-8": (encoded(b'{"\xff": 1}', b""), "can't be read"),
    "not a number": (encoded(b'{"t": NaN}', b""), "NaN"),
    "endless nesting": (encoded(b'{"t":' + b"[" * 100_000, b""), "can't be read"),
    "a tensor twice": (encoded(b'{"t": {}, "t": {}}', b""), "'t' occurs twice"),
    "a member twice": (
        encoded(
            b'{"t": {"dtype": "U8", "dtype": "I8", "shape": [], "data_offsets": [0, 1]}}', b"x"
        ),
        "'dtype' occurs twice",
    ),
    "half of a surrogate pair": (encoded(rb'{"\ud83d": 1}', b""), "surrogate pair"),
    "the other half": (encoded(rb'{"__metadata__": {"a": "\uDE00"}}', b""), "surrogate pair"),
    "two first halves": (encoded(rb'{"\ud83d\ud83d": 1}', b""), "surrogate pair"),
    "half a pair behind backslashes": (encoded(rb'{"\\\ud83d": 1}', b""), "surrogate pair"),
    "a number of thousands of digits": (encoded(b'{"t": ' + b"9" * 5000 + b"}", b""), "digits"),
    "metadata that is a number": (with_header({"__metadata__": {"a": 1}}), "__metadata__"),
    "metadata that is a list": (with_header({"__metadata__": []}), "__metadata__"),
}

WRONG_TENSORS = {
    "no object": ({"t": [1]}, "not an object"),
    "no type": (without("dtype"), "no 'dtype'"),
    "no shape": (without("shape"), "no 'shape'"),
    "no offsets": (without("data_offsets"), "no 'data_offsets'"),
    "an unknown type": (changed(dtype="F128"), "'F128' is not a type"),
    "a type that is a number": (changed(dtype=8), "8 is not a type"),
    "a type that can't be looked up": (changed(dtype=[]), "is not a type"),
    "a shape that is a number": (changed(shape=4), "'shape'"),
    "a length below zero": (changed(shape=[-4]), "'shape'"),
    "a length with a fraction": (changed(shape=[4.0]), "'shape'"),
    "a length that is true": (changed(shape=[True, 4]), "'shape'"),
    "a length of 2^63": (changed(shape=[1 << 63, 0]), "'shape'"),
    "one offset": (changed(data_offsets=[0]), "must be two numbers"),
    "three offsets": (changed(data_offsets=[0, 4, 4]), "must be two numbers"),
    "an offset below zero": (changed(data_offsets=[-4, 0]), "'data_offsets'"),
    "an end before the beginning": (changed(data_offsets=[4, 0]), "takes 4 bytes"),
    "a shape too large": (changed(shape=[5]), "takes 5 bytes; 'data_offsets' gives it 4"),
    "a shape whose size overflows 64 bits": (changed(shape=[1 << 62, 1 << 62]), "takes"),
    "lengths that no memory has": (changed(shape=[(1 << 63) - 1] * 64), r"more than 2\^63 - 1"),
    "no items along lengths that no memory has": (
        {"t": description("U8", [0, 1 << 62, 1 << 62], 0, 0)},
        r"more than 2\^63 - 1",
    ),
    "65 dimensions": (changed(shape=[1] * 64 + [4]), "it has 65 dimensions; the limit is 64"),
    "40,000 dimensions": (changed(shape=[(1 << 63) - 1] * 40_000), "it has 40000 dimensions"),
    "a million offsets": (changed(data_offsets=[0] * 1_000_000), "two numbers, not 1000000"),
    "nested text for a type": (changed(dtype=[[[[[[[["F32"]]]]]]]]), "is not a type"),
    "half a byte": (changed(dtype="F4", shape=[3]), "whole byte"),
    "bytes behind the file": ({"t": description("U8", [5], 0, 5)}, "truncated: tensor 't' ends at"),
    "a gap before the first": ({"t": description("U8", [3], 1, 4)}, "1 bytes before tensor 't'"),
    "data without a tensor": ({"t": description("U8", [3], 0, 3)}, "1 bytes at the end"),
    "data and no tensors": ({}, "4 bytes at the end"),
    "two on the same bytes": (
        {"t": description("U8", [4], 0, 4), "u": description("U8", [4], 0, 4)},
        "tensor 'u' overlaps tensor 't'",
    ),
    "one inside another": (
        {"t": description("U8", [4], 0, 4), "u": description("U8", [1], 1, 2)},
        "tensor 'u' overlaps tensor 't'",
    ),
    "a gap between two": (
        {"t": description("U8", [1], 0, 1), "u": description("U8", [2], 2, 4)},
        "1 bytes before tensor 'u'",
    ),
}


@pytest.mark.parametrize("what", WRONG_FILES)
def test_what_is_no_safetensors_file_is_refused_with_its_name(read: Read, what: str) -> None:
    content, message = WRONG_FILES[what]
    with pytest.raises(UsageError, match=message) as caught:
        read(content)
    assert str(caught.value).startswith("model.safetensors: ")


@pytest.mark.parametrize("what", WRONG_TENSORS)
def test_a_tensor_that_is_described_wrongly_is_refused(read: Read, what: str) -> None:
    members, message = WRONG_TENSORS[what]
    with pytest.raises(UsageError, match=message) as caught:
        read(with_header(members, bytes(4)))
    assert str(caught.value).startswith("model.safetensors: ")


def test_a_file_that_is_cut_off_anywhere_is_refused(read: Read, tmp_path: Path) -> None:
    tensors = {"a": ("U8", [5], b"12345"), "b": ("I16", [2], b"abcd")}
    content = write_file(tmp_path / "x", tensors, metadata={"k": "v"}).read_bytes()
    for size in range(len(content)):
        with pytest.raises(UsageError, match=r"^model\.safetensors: "):
            read(content[:size])
    with pytest.raises(UsageError, match="1 bytes at the end"):
        read(content + b"x")


tensor_shapes = st.lists(st.integers(0, 5), max_size=4)
described = st.lists(
    st.tuples(st.sampled_from(sorted(set(ITEM_BITS) - {"F4", "F6_E2M3", "F6_E3M2"})), tensor_shapes)
)


@given(described)
def test_whatever_was_laid_one_after_the_other_is_found_again(
    tensors: list[tuple[str, list[int]]],
) -> None:
    members, end = {}, 0
    for index, (dtype, shape) in enumerate(tensors):
        size = ITEM_BITS[dtype] // 8
        for length in shape:
            size *= length
        members[str(index)] = description(dtype, shape, end, end + size)
        end += size
    text = json.dumps(dict(reversed(members.items()))).encode()
    header = parse_header(text, file="f", data_offset=8, file_bytes=8 + end)
    found = {entry.name: (entry.dtype, list(entry.shape), entry.first) for entry in header.entries}
    assert found == {
        name: (member["dtype"], member["shape"], member["data_offsets"][0])
        for name, member in members.items()
    }
    firsts = [entry.first for entry in header.entries]
    assert firsts == sorted(firsts)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
nearly = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.sampled_from(["U8", "F32", "F4"]) | json_values,
        "shape": st.lists(st.integers(-1, 4)) | json_values,
        "data_offsets": st.lists(st.integers(-1, 40), max_size=3) | json_values,
    },
)


@given(
    st.dictionaries(st.text() | st.just("__metadata__"), nearly | json_values), st.integers(0, 40)
)
def test_any_json_is_either_refused_as_a_whole_or_describes_exactly_the_data(
    members: dict[str, Any], data_bytes: int
) -> None:
    text = json.dumps(members).encode()
    try:
        header = parse_header(text, file="f", data_offset=0, file_bytes=data_bytes)
    except UsageError:
        return
    covered = [
        byte
        for entry in header.entries
        for byte in range(entry.first, entry.first + entry.size_bytes)
    ]
    assert covered == list(range(data_bytes))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_header_or_a_usage_error(text: bytes) -> None:
    try:
        parse_header(b"{" + text, file="f", data_offset=0, file_bytes=0)
    except UsageError:
        return
    assert json.loads(b"{" + text) is not None

"""Copies that convert items: every pair of types, against numpy.copyto."""

# ruff: noqa: ANN401 - what NumPy takes as an index

import itertools
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.blocked_stream import BlockedStream
from fakes.cuda_calls import Cuda
from fakes.device_arrays import CudaArray, DlpackArray
from isthmus import _native
from isthmus.move.transfer.pairs import least_casting

pytestmark = pytest.mark.native

Array = np.ndarray[Any, np.dtype[Any]]

TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
TYPES += ["float16", "float32", "float64"]
PAIRS = [(to, of) for to, of in itertools.product(TYPES, TYPES) if to != of]
CASTINGS = ["no", "equiv", "safe", "same_kind", "unsafe"]
TARGET_AT = 1 << 19


def integers(dtype: np.dtype[Any]) -> Array:
    """Give the ends of the range, powers of two and their neighbours, and random bits."""
    info = np.iinfo(dtype)
    near = [s * (1 << p) + d for p in range(64) for d in (-1, 0, 1) for s in (-1, 1)]
    known = [n for n in (*near, info.min, info.max, 0) if info.min <= n <= info.max]
    random = np.random.default_rng(1).integers(0, 256, 1000 * dtype.itemsize, np.uint8).view(dtype)
    return np.concatenate([np.array(known, dtype), random])


def floats(dtype: np.dtype[Any]) -> Array:
    """Give special numbers, those around every rounding of the narrower types, and random bits."""
    exponents = np.arange(-160, 160) if dtype.itemsize > 2 else np.arange(-24, 16)
    steps = np.array([1, 1 + 2**-11, 1 + 2**-10, 1 + 3 * 2**-11, 1 + 2**-8, 1 + 2**-7, 1 + 2**-24])
    steps = np.concatenate([steps, 2 - steps * 2**-11, np.nextafter(steps, 0)])
    with np.errstate(all="ignore"):
        near = np.outer(np.ldexp(1.0, exponents), steps).ravel()
        known = np.concatenate([near, -near, [0.0, -0.0, np.inf, -np.inf, np.nan, 65504, 65520]])
        random = np.random.default_rng(2).integers(0, 256, 4000 * dtype.itemsize, np.uint8)
        return np.concatenate([known.astype(dtype), random.view(dtype)])


def numbers(of: str, to: str) -> Array:
    """Give numbers of a type; only those of which NumPy says what they become."""
    dtype, other = np.dtype(of), np.dtype(to)
    if dtype.kind == "b":
        return np.tile([True, False], 50)
    if dtype.kind in "iu":
        return integers(dtype)
    found = floats(dtype)
    if other.kind not in "iu":
        return found
    info = np.iinfo(other)
    with np.errstate(invalid="ignore"):
        whole = np.trunc(found.astype("f8"))
    # The largest int64 is no double; the next power of two is.
    within: Array = found[
        (whole >= float(info.min)) & (whole < 2.0 ** (info.bits - (info.min < 0)))
    ]
    return within


def converted(source: Array, to: str) -> Array:
    """Convert as NumPy does."""
    target = np.empty(source.shape, to)
    with np.errstate(all="ignore"):
        np.copyto(target, source, casting="unsafe")
    return target


def same(one: Array, other: Array) -> bool:
    """Compare bits; of NaN any is as good."""
    if one.dtype.kind == "f":
        both = np.isnan(one) & np.isnan(other)
        one, other = np.where(both, 0, one), np.where(both, 0, other)
    return (
        one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    )


class OnDevice:
    """Arrays in device memory."""

    def __init__(self, memory: _native.DeviceMemory) -> None:
        self.memory = memory

    def holding(self, array: Array, at: int = 0) -> CudaArray:
        self.memory.write(np.frombuffer(array.tobytes() or b"\0", np.uint8), at)
        return self.like(array, at)

    def like(self, array: Array, at: int = 0, strides: tuple[int, ...] | None = None) -> CudaArray:
        where = self.memory.pointer + at
        return CudaArray(where, array.shape, typestr=array.dtype.str, strides=strides)

    def read(self, array: Array, at: int = 0) -> Array:
        found = np.frombuffer(self.memory.read(max(1, array.nbytes), at)[: array.nbytes], "u1")
        return found.view(array.dtype).reshape(array.shape)


@pytest.fixture
def device(memory: _native.DeviceMemory) -> OnDevice:
    return OnDevice(memory)


@pytest.mark.parametrize(
    ("to", "of"),
    [
        pytest.param(*pair, marks=() if {"float32", "int64"} & {*pair} else pytest.mark.long)
        for pair in PAIRS
    ],
)
def test_every_pair_of_types_gives_what_numpy_gives(
    transfers: isthmus.Transfers, device: OnDevice, to: str, of: str
) -> None:
    source = numbers(of, to)
    expected = converted(source, to)
    there = device.like(expected)
    transfers.copy(there, source, casting="unsafe")
    assert same(device.read(expected), expected), "up, pageable"
    back = np.zeros_like(expected)
    transfers.copy(back, device.holding(source), casting="unsafe")
    assert same(back, expected), "down, pageable"
    pinned = isthmus.pinned.empty_like(source)
    pinned[:] = source
    device.holding(np.zeros_like(expected))
    transfers.copy(there, pinned, casting="unsafe")
    assert same(device.read(expected), expected), "up, pinned"
    home = isthmus.pinned.zeros(expected.shape, to)
    transfers.copy(home, device.holding(source), casting="unsafe")
    assert same(home, expected), "down, pinned"
    transfers.copy(device.like(expected, TARGET_AT), device.holding(source), casting="unsafe")
    assert same(device.read(expected, TARGET_AT), expected), "on the device"
    on_host = np.zeros_like(expected)
    with np.errstate(all="ignore"):
        transfers.copy(on_host, source, casting="unsafe")
    assert same(on_host, expected), "on the host"


@pytest.mark.parametrize("to", [name for name in TYPES if np.dtype(name).kind in "iu"])
@pytest.mark.parametrize("of", ["float16", "float32", "float64"])
def test_beyond_an_integers_range_is_the_nearest_integer(
    transfers: isthmus.Transfers, device: OnDevice, to: str, of: str
) -> None:
    info = np.iinfo(to)
    source = np.array([np.inf, -np.inf, np.nan, -1.0, -0.5], of)
    target = np.zeros(5, to)
    transfers.copy(target, device.holding(source), casting="unsafe")
    negative = 0 if info.min == 0 else -1
    assert target.tolist() == [info.max, info.min, 0, negative, 0]
    if of == "float64" and info.max < 2**63:
        beyond = np.array([info.max + 1.0, info.max + 0.5, info.min - 1.0, info.min - 0.5])
        ends = np.zeros(4, to)
        transfers.copy(ends, device.holding(beyond), casting="unsafe")
        assert ends.tolist() == [info.max, info.max, info.min, info.min]


def bfloat16(numbers_: Array) -> Array:
    """Round float32 to the bits of bfloat16: to the nearest, ties to even."""
    bits = numbers_.astype("f4").view("u4").astype("u8")
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("u2")
    return np.where(np.isnan(numbers_), np.uint16(0x7FC0), rounded)


def as_bfloat16(device: OnDevice, count: int, at: int = 0) -> DlpackArray:
    return DlpackArray(device.memory.pointer + at, (count,), type_code=4, item_bits=16)


def test_bfloat16_is_rounded_to_the_nearest(transfers: isthmus.Transfers, device: OnDevice) -> None:
    source = floats(np.dtype("f4"))
    there = as_bfloat16(device, len(source))
    transfers.copy(there, source, casting="same_kind")
    with np.errstate(all="ignore"):
        expected = bfloat16(source)
    found = device.read(expected)
    nan = np.isnan(source)
    assert np.array_equal(found[~nan], expected[~nan])
    assert np.all((found[nan] & 0x7FFF) > 0x7F80)
    back = np.zeros(len(source), "f4")
    transfers.copy(back, there, casting="safe")
    assert same(back, (found.astype("u4") << 16).view("f4")), "all of them are float32"


@pytest.mark.parametrize("of", [name for name in TYPES if name != "float32"])
def test_bfloat16_takes_every_type_and_gives_every_type(
    transfers: isthmus.Transfers, device: OnDevice, of: str
) -> None:
    small = np.array([0, 1, 1, 0, 1] if of == "bool" else [0, 1, 3, 100, 127], of)
    there = as_bfloat16(device, 5)
    transfers.copy(there, small, casting="unsafe")
    assert np.array_equal(device.read(np.zeros(5, "u2")), bfloat16(small.astype("f4")))
    back = np.zeros(5, of)
    transfers.copy(back, there, casting="unsafe")
    assert np.array_equal(back, small)


def test_large_integers_are_rounded_to_bfloat16_once(
    transfers: isthmus.Transfers, device: OnDevice
) -> None:
    half = (1 << 62) + (1 << 54)  # between two neighbours, of which the lower is even
    source = np.array([half, half + 1, half - 1, -half - 1, (1 << 63) - 1])
    transfers.copy(as_bfloat16(device, 5), source, casting="same_kind")
    lower, upper = 0x5E80, 0x5E81
    expected = [lower, upper, lower, upper | 0x8000, 0x5F00]
    assert device.read(np.zeros(5, "u2")).tolist() == expected


@pytest.mark.parametrize(("to", "of"), PAIRS)
def test_the_rule_that_a_conversion_needs_is_numpys(to: str, of: str) -> None:
    allowed = [casting for casting in CASTINGS if np.can_cast(of, to, casting)]  # type: ignore[arg-type]
    assert least_casting(to, of) == allowed[0]


def test_what_of_bfloat16_is_safe() -> None:
    assert [name for name in TYPES if least_casting("bfloat16", name) == "safe"] == [
        "bool",
        "int8",
        "uint8",
    ]
    assert [name for name in TYPES if least_casting(name, "bfloat16") == "safe"] == [
        "float32",
        "float64",
    ]
    assert least_casting("float16", "bfloat16") == "same_kind"
    assert least_casting("bfloat16", "float32") == "same_kind"
    assert least_casting("int32", "bfloat16") == "unsafe"


@pytest.mark.parametrize(("to", "of"), [("float16", "float32"), ("uint8", "int8"), ("bool", "u1")])
def test_what_a_rule_forbids_is_refused_and_nothing_written(
    transfers: isthmus.Transfers, device: OnDevice, to: str, of: str
) -> None:
    source = np.ones(10, of)
    there = device.holding(np.zeros(10, to))
    needed = least_casting(np.dtype(to).name, np.dtype(of).name)
    for casting in itertools.takewhile(lambda each: each != needed, CASTINGS):
        for begin in (transfers.copy, transfers.copy_async):
            with pytest.raises(isthmus.UsageError, match=r"can't copy .* to ") as refusal:
                begin(there, source, casting=casting)  # type: ignore[arg-type]
            assert "casting=" in f"{refusal.value} {refusal.value.hint}"
    assert not device.read(np.zeros(10, to)).any()
    transfers.copy(there, source, casting=needed)
    assert device.read(np.zeros(10, to)).all()


@pytest.mark.parametrize("dtype", ["c8", "c16", ">c8", "M8[s]", "S4", "g", [("a", "f4")]])
def test_types_that_are_not_converted_are_refused(
    transfers: isthmus.Transfers, device: OnDevice, dtype: Any
) -> None:
    other = np.zeros(4, dtype)
    there = device.like(np.zeros(4, "f8"))
    if np.dtype(dtype).kind == "V":
        with pytest.raises(isthmus.UsageError):
            transfers.copy(there, other, casting="unsafe")
        return
    with pytest.raises(isthmus.UsageError, match="isn't converted; only booleans, integers and"):
        transfers.copy(there, other, casting="unsafe")
    with pytest.raises(isthmus.UsageError, match="isn't converted"):
        transfers.copy(other, there, casting="unsafe")


@pytest.mark.parametrize("dtype", ["i2", "u4", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_another_byte_order_is_equivalent(
    transfers: isthmus.Transfers, device: OnDevice, dtype: str
) -> None:
    numbers = np.arange(60).reshape(6, 10).astype(dtype)
    swapped = numbers.astype(f">{dtype}")
    for source in (swapped, np.asfortranarray(swapped)):
        there = device.holding(np.zeros((6, 10), dtype))
        with pytest.raises(isthmus.UsageError, match="converts nothing") as refusal:
            transfers.copy(there, source)
        assert "casting='equiv'" in refusal.value.hint
        transfers.copy(there, source, casting="equiv")
        assert same(device.read(numbers), numbers)
        back, on_host = np.zeros_like(source), np.zeros_like(numbers)
        transfers.copy_async(back, there, casting="equiv").result(60)
        assert np.array_equal(back, source)
        transfers.copy([on_host], [source], casting="equiv")
        assert np.array_equal(on_host, source)


def test_another_byte_order_is_changed_on_the_way_to_another_type(
    transfers: isthmus.Transfers, device: OnDevice
) -> None:
    source = np.linspace(-3, 3, 50).astype(">f8")
    there = device.holding(np.zeros(50, "f4"))
    with pytest.raises(isthmus.UsageError, match="casting='equiv' doesn't allow it"):
        transfers.copy(there, source, casting="equiv")
    transfers.copy(there, source, casting="same_kind")
    assert same(device.read(np.zeros(50, "f4")), source.astype("f4"))
    back = np.zeros(50, ">f8")
    transfers.copy(back, there, casting="safe")
    assert np.array_equal(back, source.astype("f4"))


@pytest.mark.parametrize("dtype", ["M8[ns]", "m8[s]", "U5"])
def test_times_and_texts_change_their_byte_order_too(
    transfers: isthmus.Transfers, dtype: str
) -> None:
    numbers = np.arange(5).astype(dtype)
    back = np.zeros_like(numbers, dtype=numbers.dtype.newbyteorder())
    transfers.copy(back, numbers, casting="equiv")
    assert np.array_equal(back, numbers)


def test_float8_is_refused(transfers: isthmus.Transfers, device: OnDevice) -> None:
    tensor = DlpackArray(device.memory.pointer, (4,), type_code=10, item_bits=8)
    with pytest.raises(isthmus.UsageError, match="float8_e4m3fn isn't converted"):
        transfers.copy(tensor, np.zeros(4, "f4"), casting="unsafe")


@pytest.mark.parametrize("wrong", ["", "Safe", "samekind", None, 1, ["no"]])
def test_what_is_no_rule_is_refused_even_if_none_is_needed(
    transfers: isthmus.Transfers, device: OnDevice, wrong: Any
) -> None:
    there, source = device.like(np.zeros(4, "f4")), np.zeros(4, "f4")
    for begin in (transfers.copy, transfers.copy_async):
        with pytest.raises(isthmus.UsageError, match="casting must be 'no', 'equiv'"):
            begin(there, source, casting=wrong)


def test_same_types_and_bytes_are_copied_as_without_a_rule(
    transfers: isthmus.Transfers, device: OnDevice
) -> None:
    source = np.arange(100, dtype="f4")
    for casting in CASTINGS:
        transfers.copy(device.holding(np.zeros(100, "f4")), source, casting=casting)  # type: ignore[arg-type]
        assert same(device.read(source), source)
    back = bytearray(400)
    transfers.copy(back, device.like(source), casting="unsafe")
    assert bytes(back) == source.tobytes()


SHAPES = [(), (0,), (1,), (3, 0, 2), (5, 7), (2, 3, 4, 5)]


@pytest.mark.parametrize("shape", SHAPES)
def test_arrays_of_every_shape_are_converted(
    transfers: isthmus.Transfers, device: OnDevice, shape: Any
) -> None:
    source = np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape) / 3
    expected = source.astype("f2")
    transfers.copy(device.like(expected), source, casting="same_kind")
    assert same(device.read(expected), expected)
    back = np.zeros(shape, "f8")
    transfers.copy(back, device.like(expected), casting="safe")
    assert same(back, expected.astype("f8"))


PARTS: dict[str, Any] = {
    "columns": np.s_[:, 3:9],
    "every other column": np.s_[:, ::2],
    "reversed": np.s_[::-1, ::-3],
    "one column": np.s_[:, 5],
    "one item": np.s_[2, 3, ...],
}


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("part", PARTS)
def test_parts_of_arrays_are_converted_both_ways(
    transfers: isthmus.Transfers, device: OnDevice, part: str, *, pinned: bool
) -> None:
    whole = np.arange(170, dtype="f4").reshape(17, 10)
    where, far = PARTS[part], np.zeros((17, 10), "i2")
    device.holding(whole)
    seen = whole[where]
    shown = CudaArray(
        device.memory.pointer + seen.ctypes.data - whole.ctypes.data,
        seen.shape,
        typestr="<f4",
        strides=seen.strides,
    )
    home = isthmus.pinned.zeros((17, 10), "i2") if pinned else np.zeros((17, 10), "i2")
    transfers.copy(home[where], shown, casting="unsafe")
    far[where] = seen
    assert same(np.asarray(home), far), "both ends have gaps, and nothing beside is written"
    home[...] = np.arange(170).reshape(17, 10)[::-1]
    transfers.copy(shown, home[where], casting="safe")
    whole[where] = home[where]
    assert same(device.read(whole), whole)


def test_orders_of_dimensions_may_differ(transfers: isthmus.Transfers, device: OnDevice) -> None:
    source = np.asfortranarray(np.arange(63, dtype="i4").reshape(7, 9))
    expected = source.astype("f8", order="C")
    transfers.copy(device.like(expected), source, casting="safe")
    assert same(device.read(expected), expected)
    back = np.zeros((7, 9), "u1", order="F")
    transfers.copy(back, device.like(expected), casting="unsafe")
    assert same(back, np.asfortranarray(expected.astype("u1")))
    columns = CudaArray(device.memory.pointer, (9, 7), typestr="<f8", strides=(8, 72))
    turned = np.zeros((9, 7), "f4")
    transfers.copy(turned, columns, casting="same_kind")
    assert same(turned, expected.T.astype("f4"))


@pytest.mark.parametrize("pinned", [False, True])
def test_long_arrays_are_converted_in_pieces(
    transfers: isthmus.Transfers, driver: _native.Driver, *, pinned: bool
) -> None:
    count = (5 << 20) + 3
    long = OnDevice(_native.DeviceMemory(_native.Context(driver, 0), 8 * count))
    source = np.arange(count, dtype="u4")
    if pinned:
        kept = isthmus.pinned.empty(count, "u4")
        kept[:] = source
        source = kept
    expected = source.astype("u1")
    transfers.copy(long.like(expected), source, casting="unsafe")
    assert same(long.read(expected), expected)
    transfers.copy(long.like(expected.astype("f8")), source, casting="safe")
    back = np.zeros(count, "u4")
    transfers.copy(back, long.like(expected.astype("f8")), casting="unsafe")
    assert same(back, np.asarray(source))


def test_lists_may_convert_some_of_their_arrays(
    transfers: isthmus.Transfers, device: OnDevice
) -> None:
    sources = [np.arange(10, dtype="f4"), np.arange(10, dtype="f2"), np.arange(6, dtype="i8")]
    results = [np.zeros(10, "f2"), np.zeros(10, "f2"), np.zeros(6, "f4")]
    targets = [device.holding(each, 256 * i) for i, each in enumerate(results)]
    with pytest.raises(isthmus.UsageError, match="0: can't copy float32"):
        transfers.copy(targets, sources, casting="safe")
    assert not any(device.read(each, 256 * i).any() for i, each in enumerate(results))
    transfers.copy(targets, sources, casting="same_kind")
    for i, (source, result) in enumerate(zip(sources, results, strict=True)):
        assert same(device.read(result, 256 * i), source.astype(result.dtype))
    back = {"a": np.zeros(10, "f8"), "b": np.zeros(10, "f2"), "c": np.zeros(6, "i2")}
    transfers.copy_async(
        back, dict(zip("abc", targets, strict=True)), casting="unsafe", source_order="stream"
    ).result()
    for name, source in zip("abc", sources, strict=True):
        assert same(back[name], source.astype(back[name].dtype))


def test_a_conversion_begins_after_the_work_in_its_stream(
    transfers: isthmus.Transfers, device: OnDevice, blocked: BlockedStream
) -> None:
    blocked.go_on()
    source = np.arange(8, dtype="f4")
    expected = source.astype("f2")
    future = transfers.copy_async(
        device.like(expected), source, stream=blocked.handle, casting="same_kind"
    )
    assert future.done()
    assert same(device.read(expected), expected)


def test_shapes_still_have_to_match(transfers: isthmus.Transfers, device: OnDevice) -> None:
    with pytest.raises(isthmus.UsageError, match="can't copy shape"):
        transfers.copy(device.like(np.zeros(8, "f2")), np.zeros(4, "f4"), casting="unsafe")
    both = CudaArray(device.memory.pointer + 4, (8,), typestr="<f2")
    with pytest.raises(isthmus.UsageError, match="overlap"):
        transfers.copy(both, device.like(np.zeros(8, "f4")), casting="unsafe")
    read_only = np.zeros(4, "f4")
    read_only.flags.writeable = False
    with pytest.raises(isthmus.UsageError, match="read-only"):
        transfers.copy(read_only, device.like(np.zeros(4, "f2")), casting="unsafe")


@pytest.mark.parametrize("at", [0, 8, 56, 64, 72, 127, 128])
def test_host_arrays_of_different_sizes_may_lie_beside_each_other(
    transfers: isthmus.Transfers, at: int
) -> None:
    both = np.zeros(200, "u1")
    wide, narrow = both[64:128].view("i8"), both[at : at + 8].view("i1")
    if 56 < at < 128:
        with pytest.raises(isthmus.UsageError, match="overlap"):
            transfers.copy(wide, narrow, casting="safe")
        return
    narrow[:] = range(8)
    transfers.copy(wide, narrow, casting="safe")
    assert wide.tolist() == list(range(8))


def test_two_host_arrays_of_bfloat16_are_refused(transfers: isthmus.Transfers) -> None:
    memory = np.zeros(8, "u1")
    tensor = DlpackArray(memory.ctypes.data, (4,), type_code=4, item_bits=16, device_type=1)
    with pytest.raises(isthmus.UsageError, match="has no bfloat16"):
        transfers.copy(np.zeros(4, "f4"), tensor, casting="unsafe")


def test_without_the_kernel_it_is_said_what_is_missing(
    driver: _native.Driver, cuda: Cuda, device: OnDevice
) -> None:
    del driver
    transfers = isthmus.Transfers(isthmus.Windows("emulated"))
    strided = CudaArray(device.memory.pointer, (4,), typestr="<f4", strides=(8,))
    transfers.copy(strided, np.zeros(4, "f4"))
    cuda.library.isthmus_emulator_fail_call(b"cuModuleGetFunction", 1, 500)
    try:
        with pytest.raises(isthmus.Unavailable, match="a copy that converts items"):
            transfers.copy(device.like(np.zeros(4, "f2")), np.zeros(4, "f4"), casting="unsafe")
    finally:
        cuda.library.isthmus_emulator_reset()
    transfers.copy(strided, np.ones(4, "f4"))

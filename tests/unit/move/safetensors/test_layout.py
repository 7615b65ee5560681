"""Where tensors are placed in GPU memory."""

from hypothesis import given
from hypothesis import strategies as st

from isthmus.move.safetensors.header import Header, TensorEntry
from isthmus.move.safetensors.layout import Stretch, lay_out
from isthmus.move.safetensors.types import ITEM_BITS


def header_of(*tensors: tuple[str, int]) -> Header:
    """Place tensors of these types and numbers of items one after the other."""
    entries, end = [], 0
    for index, (dtype, count) in enumerate(tensors):
        size = count * ITEM_BITS[dtype] // 8
        entries.append(
            TensorEntry(name=str(index), dtype=dtype, shape=(count,), first=end, size_bytes=size)
        )
        end += size
    return Header(entries=tuple(entries), metadata={}, data_offset=100, data_bytes=end)


def test_a_file_whose_tensors_are_aligned_is_one_run() -> None:
    layout = lay_out(header_of(("F32", 4096), ("BF16", 4096), ("I8", 3)))
    assert layout.size_bytes == 4096 * 6 + 3
    assert layout.runs == (Stretch(target=0, first=0, size_bytes=4096 * 6 + 3),)
    assert layout.places == (0, 4096 * 4, 4096 * 6)


def test_a_tensor_that_would_be_badly_aligned_begins_a_run() -> None:
    layout = lay_out(header_of(("I8", 3), ("F32", 2), ("I8", 1)))
    assert layout.runs == (
        Stretch(target=0, first=0, size_bytes=3),
        Stretch(target=256, first=3, size_bytes=9),
    )
    assert layout.places == (0, 256, 264)
    assert layout.size_bytes == 265


def test_thousands_of_small_scales_are_one_run() -> None:
    layout = lay_out(header_of(*[("F32", 1)] * 5000))
    assert len(layout.runs) == 1


def test_a_large_tensor_behind_small_scales_is_aligned_for_vector_loads() -> None:
    layout = lay_out(header_of(*[("F32", 1)] * 3, ("F8_E4M3", 8192)))
    assert layout.places[3] % 16 == 0
    assert len(layout.runs) == 2


def test_a_file_without_data_has_no_runs() -> None:
    assert lay_out(header_of()).runs == ()
    assert lay_out(header_of(("F32", 0), ("I8", 0))).runs == ()


@given(st.lists(st.tuples(st.sampled_from(["I8", "F16", "F32", "F64"]), st.integers(0, 5000))))
def test_runs_bring_every_byte_to_its_tensors_place(tensors: list[tuple[str, int]]) -> None:
    header = header_of(*tensors)
    layout = lay_out(header)
    where: dict[int, int] = {}
    for run in layout.runs:
        assert run.target + run.size_bytes <= layout.size_bytes
        where[run.first] = run.target
    assert sum(run.size_bytes for run in layout.runs) == header.data_bytes
    for entry, place in zip(header.entries, layout.places, strict=True):
        if entry.size_bytes == 0:
            continue
        (run,) = (r for r in layout.runs if r.first <= entry.first < r.first + r.size_bytes)
        assert place == run.target + entry.first - run.first
        assert entry.first + entry.size_bytes <= run.first + run.size_bytes
        assert place % (ITEM_BITS[entry.dtype] // 8) == 0

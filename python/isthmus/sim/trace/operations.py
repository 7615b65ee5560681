"""Operations of warps as users give them, in NumPy arrays, and the blocks made of them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isthmus.errors import UsageError
from isthmus.ground.spelling import did_you_mean, shortened
from isthmus.sim.trace.format import ADDRESSES_END, KINDS, BlockArrays, arrays_of_warps

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_LOCAL = (KINDS.index("local_load"), KINDS.index("local_store"))
_NO_ACCESS = (KINDS.index("barrier"), KINDS.index("end"))
_END = KINDS.index("end")
# As in cpp/src/trace: trace.hpp, block_builder.hpp.
_LINE_BYTES, _WORD_BYTES = 128, 4
_FULL_BLOCK = 1 << 17
_MAX_LANES = 32
_POSSIBLE_LANES = {(lanes,) for lanes in range(1, _MAX_LANES + 1)}
# A whole warp's, of 128 B for each lane.
_MAX_BYTES = 4096
# Rows are converted in pieces of about this many candidates for lines, to bound memory.
_PIECE = 1 << 21
_NO_LINE = np.uint64((1 << 64) - 1)


class Rows(NamedTuple):
    """Operations as given, each of one warp; addresses by row and lane, and which lanes access."""

    warps: "NDArray[np.uint64]"
    kinds: "NDArray[np.uint64]"
    compute: "NDArray[np.uint64]"
    addresses: "NDArray[np.uint64]"
    size_bytes: "NDArray[np.uint64]"
    active: "NDArray[np.bool_]"


def rows_of(  # noqa: PLR0913 - those of `TraceWriter.write`
    all_warps: range,
    kinds: "str | Sequence[str] | ArrayLike",
    addresses: "ArrayLike | None",
    active: "ArrayLike | None",
    *,
    warps: "ArrayLike",
    size_bytes: "ArrayLike",
    compute: "ArrayLike",
) -> Rows:
    """Read arrays of which any shape, type or number may be wrong."""
    of_warps = _numbers("warps", _array("warps", warps).reshape(-1), all_warps)
    num_rows = len(of_warps)
    of_kinds = _numbers("kinds", _numbered(_array("kinds", kinds)), range(len(KINDS)), num_rows)
    table = _whole("addresses", np.zeros(num_rows, np.uint64) if addresses is None else addresses)
    table = table[:, None] if table.ndim == 1 else table
    if table.shape[:1] != (num_rows,) or table.shape[1:] not in _POSSIBLE_LANES:
        raise UsageError(
            f"addresses has the shape {table.shape}: ({num_rows},) or ({num_rows}, lanes) is "
            f"needed, with 1 to {_MAX_LANES} lanes"
        )
    lanes = (
        np.full(table.shape, addresses is not None) if active is None else _array("active", active)
    )
    if lanes.dtype != np.bool_ or lanes.shape != table.shape:
        raise UsageError(
            f"active has the shape {lanes.shape} and the type {lanes.dtype}: the shape of "
            f"addresses, {table.shape}, and bool are needed"
        )
    lanes = lanes & ~np.isin(of_kinds, _NO_ACCESS)[:, None]
    return Rows(
        of_warps,
        of_kinds,
        _numbers("compute", compute, range(1 << 32), num_rows),
        # What lanes hold that don't access isn't looked at.
        _numbers("addresses", table * lanes, range(ADDRESSES_END - _MAX_BYTES)),
        _numbers("size_bytes", size_bytes, range(1, _MAX_BYTES + 1), num_rows),
        lanes,
    )


def check_allocated(rows: Rows, allocations: Sequence[tuple[int, int]]) -> None:
    """Refuse accesses that aren't in one allocation; these are (address, bytes), ascending."""
    begins, sizes = np.array(allocations or [(0, 0)], np.uint64).T
    place = np.maximum(np.searchsorted(begins, rows.addresses, side="right"), 1) - 1
    past = rows.addresses + rows.size_bytes[:, None]
    inside = (begins[place] <= rows.addresses) & (past <= (begins + sizes)[place])
    outside = rows.active & ~inside & ~np.isin(rows.kinds, _LOCAL)[:, None]
    for row, lane in np.argwhere(outside)[:1].tolist():
        raise UsageError(
            f"row {row}, lane {lane}: {int(rows.addresses[row, lane]):#x} and the bytes behind it "
            "aren't in one allocation",
            hint="declare the program's memory first: allocate(name, size_bytes)",
        )


def blocks_of(rows: Rows, launch: int, ctas: range, warps_per_cta: int) -> Iterator[BlockArrays]:
    """Order rows by their warps, end each warp, and cut all into blocks as the recorder does."""
    warps = np.arange(ctas.start * warps_per_cta, ctas.stop * warps_per_cta + 1)
    num_lines, lines = _lines_of(rows)
    to_end = np.setdiff1d(warps[:-1], rows.warps[rows.kinds == _END])
    none = np.zeros(len(to_end), np.int64)
    of_warps = np.concatenate([rows.warps.astype(np.int64), to_end])
    order = np.argsort(of_warps, kind="stable")
    kinds = np.concatenate([rows.kinds, none + _END])[order].astype(np.uint8)
    compute = np.concatenate([rows.compute, none])[order].astype(np.uint32)
    counts = np.concatenate([num_lines, none])
    op_begin = np.searchsorted(of_warps[order], warps)
    line_begin = np.concatenate([[0], np.cumsum(counts[order])])
    # Where each line stands in the old order.
    moved = (np.cumsum(counts) - counts)[order] - line_begin[:-1]
    lines = lines[np.arange(len(lines)) + np.repeat(moved, counts[order])]
    for place in np.setdiff1d(np.flatnonzero(kinds == _END), op_begin[1:] - 1)[:1]:
        raise UsageError(
            f"row {order[place]} ends warp {of_warps[order[place]]}, and row {order[place + 1]} is "
            "of the same warp: a warp's end is its last row"
        )
    begins = op_begin[::warps_per_cta], line_begin[op_begin[::warps_per_cta]]
    first = 0
    while first < len(ctas):
        full = (int(np.searchsorted(each, each[first] + _FULL_BLOCK)) for each in begins)
        past = min(*full, len(ctas))
        ops, of_lines = (slice(each[first], each[past]) for each in begins)
        of_block = op_begin[first * warps_per_cta : past * warps_per_cta + 1]
        of_launch, of_ctas = arrays_of_warps(launch, ctas[first], past - first, warps_per_cta)
        yield BlockArrays(
            of_launch,
            of_ctas,
            (of_block - ops.start).astype(np.uint32),
            kinds[ops],
            compute[ops],
            (line_begin[ops.start : ops.stop + 1] - of_lines.start).astype(np.uint32),
            lines[of_lines],
        )
        first = past


def _array(what: str, given: object) -> "NDArray[Any]":
    try:
        return np.asarray(given)
    except (ValueError, TypeError, OverflowError) as cause:
        raise UsageError(f"{what} is no array of numbers: {cause}") from cause


def _whole(what: str, given: object) -> "NDArray[Any]":
    numbers = _array(what, given)
    if not numbers.size:
        return numbers.astype(np.uint64)
    if numbers.dtype.kind not in "iu":
        raise UsageError(
            f"{what} has the type {numbers.dtype}, not whole numbers",
            hint=f"convert it: {what}.astype(numpy.uint64)",
        )
    return numbers


def _numbers(
    what: str, given: object, possible: range, num_rows: int | None = None
) -> "NDArray[np.uint64]":
    """Read whole numbers of a range, if wanted one for each row or one for all."""
    numbers = _whole(what, given)
    for place in np.argwhere((numbers < possible.start) | (numbers >= possible.stop))[:1].tolist():
        raise UsageError(
            f"{what}{place or ''} is {numbers[tuple(place)]}: "
            f"{possible.start} to {possible.stop - 1} are possible"
        )
    if num_rows is not None and numbers.shape not in {(), (num_rows,)}:
        raise UsageError(
            f"{what} has the shape {numbers.shape}: one number, or one for each of {num_rows} rows"
        )
    wanted = numbers.shape if num_rows is None else (num_rows,)
    return np.broadcast_to(numbers, wanted).astype(np.uint64)


def _numbered(kinds: "NDArray[Any]") -> "NDArray[Any]":
    """Give the numbers of kinds that have names."""
    if kinds.dtype.kind not in "OTU":
        return kinds
    names, inverse = np.unique(kinds.astype(str), return_inverse=True)
    for name in [one for one in names.tolist() if one not in KINDS][:1]:
        hint = did_you_mean(name, KINDS) or f"kinds are {', '.join(KINDS)}"
        raise UsageError(f"there is no kind of operation '{shortened(name)}'", hint=hint)
    return np.array([KINDS.index(name) for name in names.tolist()], np.uint8)[inverse]


def _lines_of(rows: Rows) -> "tuple[NDArray[np.int64], NDArray[np.uint64]]":
    """Give the number of lines of each row, and all lines, each once a row, by the first lane."""
    local = np.isin(rows.kinds, _LOCAL)
    unit = np.where(local, _WORD_BYTES, _LINE_BYTES).astype(np.uint64)[:, None]
    first = rows.addresses // unit
    last = (rows.addresses + rows.size_bytes[:, None] - np.uint64(1)) // unit
    most = int((last - first).max(initial=0)) + 1
    step = max(1, _PIECE // (first.shape[1] * most))
    counts, lines = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
    for at in range(0, len(first), step):
        part = slice(at, at + step)
        candidates = first[part, :, None] + np.arange(most, dtype=np.uint64)
        wanted = rows.active[part, :, None] & (candidates <= last[part, :, None])
        of_row = np.where(wanted, candidates, _NO_LINE).reshape(len(candidates), -1)
        order = np.argsort(of_row, axis=1, kind="stable")
        ascending = np.take_along_axis(of_row, order, axis=1)
        new = ascending != _NO_LINE
        new[:, 1:] &= ascending[:, 1:] != ascending[:, :-1]
        kept = np.zeros_like(new)
        np.put_along_axis(kept, order, new, axis=1)
        counts.append(kept.sum(axis=1, dtype=np.int64))
        lines.append(of_row[kept])
    num_lines = np.concatenate(counts)
    for row in np.flatnonzero(~np.isin(rows.kinds, _NO_ACCESS) & (num_lines == 0))[:1]:
        raise UsageError(
            f"row {row}, a {KINDS[rows.kinds[row]]}, has no active lane",
            hint="leave the row out, and count it in the next row's compute",
        )
    for row in np.flatnonzero(local & (num_lines > 1))[:1]:
        raise UsageError(
            f"row {row}, a {KINDS[rows.kinds[row]]}, is of {num_lines[row]} words of 4 B",
            hint="give a row for each word of a thread's local memory",
        )
    return num_lines, np.concatenate(lines)

"""Tables of other kinds of copies: duplex, streams, rows, boxes, many pieces, pipelines."""

from collections.abc import Sequence

from isthmus.ground.sizes import format_size
from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.naming import Kind
from isthmus.show.page import Table
from isthmus.show.tables.labels import BANDWIDTH, direction_of, of_kind, of_suite
from isthmus.show.tables.pivot import pivot, size_word, two_decimal_cell

# Ways of copies that have a shape, and the headings of their columns.
_BOXES = {"3d": "pitched", "array": "array"}
_DUPLEX = "duplex_memcpy_ce"
_DUPLEX_HEADS = {"duplex_total": "together", "duplex_h2d": "of it H2D", "duplex_d2h": "of it D2H"}
_RATIO = "overlap_ratio"
# Ways to make many copies, and the headings of their columns.
_MANY = {
    "loop": "one by one",
    "batch": "in a batch",
    "graph": "in a graph",
    "kernel": "in a kernel",
}
# The metrics of a pipeline, and the headings of their columns.
_PIPELINE = {
    "copy_alone": "copies",
    "compute_alone": "kernels",
    "together": "together",
    _RATIO: "overlap",
}


def request_tables(run: Run) -> list[Table]:
    """Lay out a table for each kind of copies that was measured."""
    return [*shape_tables(run), *many_tables(run), *overlap_tables(run)]


def shape_tables(run: Run) -> list[Table]:
    """Lay out copies in both directions, by several streams, of rows and of boxes."""
    tables = (
        _duplex_table(run),
        pivot(
            "One copy shared by several streams, GB/s (median)",
            _copies(run, "streams", axis="streams"),
            row={"direction": direction_of, "size": size_word},
            column=streams,
        ),
        pivot(
            "2-D copies, GB/s by the width of a row (median)",
            _copies(run, "2d", axis="row_bytes"),
            row={"direction": direction_of, "size": size_word},
            column=lambda result: format_size(int(result.axes["row_bytes"])),
        ),
        _boxes_table(run),
    )
    return [table for table in tables if table is not None]


def many_tables(run: Run) -> list[Table]:
    """Lay out many small copies, by each way to make them."""
    table = pivot(
        "Many small copies, us until all are complete (median)",
        _many(run),
        row={"direction": direction_of, "pieces": _pieces, "of each": _piece_size},
        column=many_way,
        cell=two_decimal_cell,
    )
    return [] if table is None else [table]


def overlap_tables(run: Run) -> list[Table]:
    """Lay out copies behind computation."""
    table = _overlap_table(run)
    return [] if table is None else [table]


def request_notes(run: Run) -> list[str]:
    """Explain the numbers of these tables."""
    return [*shape_notes(run), *many_notes(run), *overlap_notes(run)]


def shape_notes(run: Run) -> list[str]:
    """Explain copies in both directions and those with a shape."""
    lines = []
    if of_kind(run, Kind.BIDIRECTIONAL):
        lines.append("loaded: copies of one direction while twice as many run in the other")
    if any(result.test == _DUPLEX for result in run.results):
        lines.append(
            "together: bytes of both directions from their common start until the slower is done"
        )
    if any(result.way in _BOXES for result in of_kind(run, Kind.MEMCPY)):
        lines.append(
            "shape: bytes of a row x rows x slices; pitched: gaps after rows and slices on the "
            "device; array: a CUDA array"
        )
    return lines


def many_notes(run: Run) -> list[str]:
    """Name the fastest way to make many small copies."""
    return _best_ways(_many(run))


def overlap_notes(run: Run) -> list[str]:
    """Explain copies behind computation."""
    if not any(result.metric == _RATIO for result in run.results):
        return []
    return ["overlap: total / longer half (1.00x = fully hidden)"]


def many_way(result: Result) -> str:
    """Say how many copies were made."""
    return _MANY.get(result.way, result.way)


def streams(result: Result) -> str:
    """Say how many streams copied; one if the result doesn't say it."""
    number = result.axes.get("streams", 1)
    return f"{number} stream{'' if number == 1 else 's'}"


def _boxes_table(run: Run) -> Table | None:
    """Put pitched memory beside arrays of the same shape, and arrays of rows below."""
    results = [r for r in _copies(run, *_BOXES, axis="rows") if "row_bytes" in r.axes]
    return pivot(
        "3-D and array copies, GB/s (median)",
        sorted(results, key=lambda r: (r.direction != "h2d", r.bytes, "slices" not in r.axes)),
        row={"direction": direction_of, "size": size_word, "shape": _shape},
        column=lambda result: _BOXES[result.way],
    )


def _duplex_table(run: Run) -> Table | None:
    return pivot(
        "Both directions at once, GB/s (median)",
        [
            *of_kind(run, Kind.BIDIRECTIONAL, BANDWIDTH),
            *(result for result in run.results if result.test == _DUPLEX),
        ],
        row={"size": size_word},
        column=_duplex_head,
    )


def _duplex_head(result: Result) -> str:
    if result.test == _DUPLEX:
        return _DUPLEX_HEADS.get(result.metric, result.metric)
    engine = " by SM" if result.way == "sm" else ""
    return f"{direction_of(result)} loaded{engine}"


def _overlap_table(run: Run) -> Table | None:
    metrics = list(_PIPELINE)
    results = [
        result
        for result in of_suite(run, "overlap")
        if result.metric in metrics and {"chunks", "streams"} <= result.axes.keys()
    ]
    return pivot(
        "Copies behind computation, us (median)",
        sorted(results, key=lambda result: metrics.index(result.metric)),
        row={
            "test": lambda result: result.test,
            "size": size_word,
            "chunks": lambda result: str(result.axes["chunks"]),
            "streams": lambda result: str(result.axes["streams"]),
        },
        column=lambda result: _PIPELINE[result.metric],
        cell=two_decimal_cell,
    )


def _best_ways(results: Sequence[Result]) -> list[str]:
    """Name the fastest way for each set of pieces."""
    best: dict[str, tuple[float, str]] = {}
    for result in results:
        if result.median is not None:
            pieces = f"{direction_of(result)} {_pieces(result)} x {_piece_size(result)}"
            found = (result.median, many_way(result))
            best[pieces] = min(best.get(pieces, found), found, key=lambda pair: pair[0])
    ways = [f"{pieces} {way}" for pieces, (_, way) in best.items()]
    return [f"fastest way to make many copies: {', '.join(ways)}"] if ways else []


def _many(run: Run) -> list[Result]:
    found = of_kind(run, Kind.MANY_COPIES, "completion")
    return [result for result in found if "pieces" in result.axes]


def _copies(run: Run, *ways: str, axis: str) -> list[Result]:
    """List the bandwidths of some ways, in named circumstances."""
    found = of_kind(run, Kind.MEMCPY, BANDWIDTH)
    return [result for result in found if result.way in ways and axis in result.axes]


def _shape(result: Result) -> str:
    numbers = [str(result.axes[name]) for name in ("rows", "slices") if name in result.axes]
    return " x ".join([format_size(int(result.axes["row_bytes"])), *numbers])


def _pieces(result: Result) -> str:
    return str(result.axes["pieces"])


def _piece_size(result: Result) -> str:
    return format_size(result.bytes // int(result.axes["pieces"]))

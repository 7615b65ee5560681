"""The table of suite `blocks`: blocks by index, by each way to copy them."""

from isthmus.ground.sizes import format_size
from isthmus.ground.spelling import counted
from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.naming import Kind
from isthmus.show.numbers import gigabytes_per_second
from isthmus.show.page import Table
from isthmus.show.tables.labels import direction_of, of_kind
from isthmus.show.tables.pivot import attempted, pivot

_BY_DRIVER = {"batch": "batch", "batch_in_order": "in order"}


def blocks_tables(run: Run) -> list[Table]:
    """Lay out the rates of all ways."""
    found = [one for one in of_kind(run, Kind.BLOCKS, "completion") if "blocks" in one.axes]
    table = pivot(
        "Blocks by index, scattered at both ends: GB/s until all have arrived (median)",
        attempted(found),
        row={"direction": direction_of, "block": _block, "number": _number},
        column=_way,
        cell=_rate,
    )
    return [] if table is None else [table]


def blocks_notes(run: Run) -> list[str]:
    """Explain the columns that there are."""
    by_driver = {one.way in _BY_DRIVER for one in of_kind(run, Kind.BLOCKS)}
    notes = {
        False: "SM: isthmus.copy_blocks by a kernel on so many multiprocessors (SMs)",
        True: "batch: one call of cuMemcpyBatchAsync, source order ANY; in order: STREAM",
    }
    return [note for is_by_driver, note in notes.items() if is_by_driver in by_driver]


def _block(result: Result) -> str:
    return format_size(result.bytes // int(result.axes["blocks"]))


def _number(result: Result) -> str:
    return str(result.axes["blocks"])


def _way(result: Result) -> str:
    sms = int(result.axes["sms"])
    return _BY_DRIVER.get(result.way) or counted(sms, "SM")


def _rate(result: Result) -> str:
    if not result.median:
        return result.status.value
    return gigabytes_per_second(result.bytes / result.median)

"""The table of suite blocks, from results that were made up."""

from itertools import product
from types import SimpleNamespace
from typing import cast

from isthmus.measure.run.model import Run, Status
from isthmus.measure.run.naming import Kind
from isthmus.show.fitting import table_lines
from isthmus.show.tables.blocks import blocks_notes, blocks_tables

WAYS = [*(("kernel", sms) for sms in (1, 2, 4, 16)), ("batch", 4), ("batch_in_order", 4)]


def _run() -> Run:
    return cast(
        "Run",
        SimpleNamespace(
            results=[
                SimpleNamespace(
                    kind=Kind.BLOCKS,
                    metric="completion",
                    direction=direction,
                    way=way,
                    axes={"blocks": 100_000, "sms": sms},
                    bytes=100_000 << 10,
                    median=0.002,
                    status=Status.PASSED,
                )
                for direction, (way, sms) in product(("h2d", "d2h"), WAYS)
            ]
        ),
    )


def test_all_ways_stand_side_by_side_in_eighty_columns() -> None:
    (table,) = blocks_tables(_run())
    lines = table_lines(table, 80)
    assert len(lines) == 1 + 1 + 2
    heads = ("1 SM", "2 SMs", "4 SMs", "16 SMs", "batch", "in order")
    assert table.heads == ("direction", "block", "number", *heads)
    assert max(map(len, lines)) <= 80
    assert all(len(note) <= 80 for note in blocks_notes(_run()))


def test_only_columns_that_there_are_have_notes() -> None:
    run = _run()
    run.results[:] = [result for result in run.results if result.way == "kernel"]
    assert [note.partition(":")[0] for note in blocks_notes(run)] == ["SM"]

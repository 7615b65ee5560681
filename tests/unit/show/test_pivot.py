"""How results become rows and columns."""

from fakes import runs
from isthmus.measure.run.model import Result, Status
from isthmus.show.tables.pivot import attempted, by_size, median_cell, pivot, size_word, sizes

COPY = next(r for r in runs.run().results if r.test == "host_to_device_memcpy_ce")


def result(size_bytes: int, test: str, gb_per_s: float = 1.0) -> Result:
    return COPY.model_copy(
        update={"bytes": size_bytes, "test": test, "median": gb_per_s * 1e9},
    )


def test_each_result_stands_in_its_row_and_its_column() -> None:
    results = [result(4, "up"), result(8, "up", 2.0), result(8, "down", 3.0)]
    table = pivot("Rates", results, row={"size": size_word}, column=lambda one: one.test)
    assert table is not None
    assert (table.title, table.heads, table.num_text_columns) == (
        "Rates",
        ("size", "up", "down"),
        1,
    )
    assert table.rows == (("4 B", "1.00", ""), ("8 B", "2.00", "3.00"))


def test_rows_stand_as_results_come_and_columns_as_they_are_named() -> None:
    results = [result(8, "up"), result(4, "up"), result(4, "down")]
    table = pivot(
        "Rates",
        by_size(results),
        row={"size": size_word, "clock": lambda one: one.clock},
        column=lambda one: one.test,
        cell=lambda one: f"{one.bytes}",
        columns=["none", "down", "up", "down"],
    )
    assert table is not None
    assert table.heads == ("size", "clock", "none", "down", "up")
    assert table.rows == (("4 B", "device", "", "4", "4"), ("8 B", "device", "", "", "8"))
    assert sizes(results) == ["4 B", "8 B"]


def test_without_results_there_is_no_table() -> None:
    assert pivot("Rates", [], row={"size": size_word}, column=lambda one: one.test) is None


def test_what_has_no_median_says_why() -> None:
    waived = COPY.model_copy(update={"status": Status.WAIVED, "median": None, "reason": "no"})
    assert median_cell(waived) == "waived"
    assert attempted([waived, COPY]) == [COPY]

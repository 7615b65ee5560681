"""The output of `isthmus bench --list`."""

from collections.abc import Sequence

from isthmus.ground.json_text import csv_text, json_text
from isthmus.measure.bench.tests.catalogue import METRIC_MEANING, BenchTest
from isthmus.show.fitting import PAGE_WIDTH, table_lines
from isthmus.show.format import RunFormat
from isthmus.show.formats.nvbandwidth_tests import listing_text
from isthmus.show.page import Table


def listing(tests: Sequence[BenchTest], wanted: RunFormat, *, width: int = PAGE_WIDTH) -> str:
    """Write the tests, one after the other, in a format; text in lines of this width."""
    writers = {
        RunFormat.JSON: _as_json,
        RunFormat.CSV: _as_csv,
        RunFormat.NVBANDWIDTH: _as_nvbandwidth,
    }
    write = writers.get(wanted)
    return write(tests) if write else _as_text(tests, width)


def _as_nvbandwidth(tests: Sequence[BenchTest]) -> str:
    return listing_text({test.name: test.about for test in tests})


def _as_text(tests: Sequence[BenchTest], width: int) -> str:
    table = Table(
        title="Tests",
        heads=("suite", "name", "what it measures"),
        rows=tuple((test.suite.value, test.name, test.about) for test in tests),
        num_text_columns=3,
    )
    used = {metric for test in tests for metric in (*test.metrics, *test.derived)}
    metrics = Table(
        title="Metrics",
        heads=("name", "what it is"),
        rows=tuple(
            (metric.value, METRIC_MEANING[metric]) for metric in METRIC_MEANING if metric in used
        ),
        num_text_columns=2,
    )
    return "\n".join([*table_lines(table, width), "", *table_lines(metrics, width)]) + "\n"


def _as_json(tests: Sequence[BenchTest]) -> str:
    rows = [
        {
            "suite": test.suite.value,
            "test": test.name,
            "about": test.about,
            "source": test.source,
            "target": test.target,
            "direction": test.direction and test.direction.value,
            "metrics": [metric.value for metric in (*test.metrics, *test.derived)],
        }
        for test in tests
    ]
    return json_text(rows)


def _as_csv(tests: Sequence[BenchTest]) -> str:
    heads = ("suite", "test", "about", "source", "target", "direction", "metrics")
    rows = []
    for test in tests:
        metrics = " ".join((*test.metrics, *test.derived))
        ends = (test.source, test.target, test.direction)
        rows.append([test.suite, test.name, test.about, *ends, metrics])
    return csv_text(heads, rows)

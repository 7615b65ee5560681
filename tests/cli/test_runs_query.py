"""`isthmus runs query`: SQL over a folder of runs."""

import csv
import json
import sys
from pathlib import Path

import pytest

from fakes import runs
from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.store import run_text, save_run
from program import Invoke

pytest.importorskip("duckdb", reason="isthmus[scale] is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two nodes, one of them with a narrow link, and a file that is no run."""
    run = runs.run()
    narrow = run.machine.link.model_copy(update={"width": 8})
    machine = run.machine.model_copy(update={"link": narrow})
    (tmp_path / "a.json").write_text(run_text(run), "utf-8")
    (tmp_path / "b.json").write_text(run_text(run.model_copy(update={"machine": machine})), "utf-8")
    return tmp_path


def passed(run: Run) -> list[Result]:
    return [result for result in run.results if result.median is not None]


def test_a_question_is_answered_as_text(invoke: Invoke, folder: Path) -> None:
    outcome = invoke(
        "runs", "query", "SELECT node, width FROM links WHERE width < 16", "--folder", str(folder)
    )
    assert (outcome.code, outcome.out, outcome.err) == (0, "node  width\nb         8\n", "")


def test_all_that_a_run_has_is_in_the_views(invoke: Invoke, folder: Path) -> None:
    sql = "SELECT node, test, metric, bytes, median FROM results WHERE status = 'passed'"
    outcome = invoke("runs", "query", sql, "--folder", str(folder), "--format", "json")
    expected = [
        {"node": node, "test": r.test, "metric": r.metric, "bytes": r.bytes, "median": r.median}
        for node in ("a", "b")
        for r in passed(runs.run())
    ]
    assert json.loads(outcome.out) == expected


def test_reasons_and_errors_are_asked_for_in_one_column(invoke: Invoke, folder: Path) -> None:
    sql = "SELECT DISTINCT status, reason FROM results WHERE reason IS NOT NULL ORDER BY ALL"
    outcome = invoke("runs", "query", sql, "--folder", str(folder), "--format", "csv")
    rows = list(csv.reader(outcome.out.splitlines()))
    assert rows[0] == ["status", "reason"]
    assert {row[0] for row in rows[1:]} == {"error", "waived"}


def test_without_a_folder_the_kept_runs_are_asked(invoke: Invoke) -> None:
    assert invoke("runs", "query", "SELECT 1 AS x").err.startswith("there is no run in ")
    save_run(runs.run())
    sql = "SELECT node, run, started_at, gpu_name FROM machines"
    outcome = invoke("runs", "query", sql, "--format", "json")
    assert json.loads(outcome.out) == [
        {
            "node": None,
            "run": "0badcafe",
            "started_at": "2025-01-02T03:04:05",
            "gpu_name": "Test GPU",
        }
    ]


def test_a_run_that_cannot_be_read_is_named_and_the_rest_is_asked(
    invoke: Invoke, folder: Path
) -> None:
    (folder / "c.json").write_text("{")
    outcome = invoke("runs", "query", "SELECT count(*) FROM links", "--folder", str(folder))
    assert outcome.out.splitlines()[1].strip() == "2"
    assert outcome.err == f"left out: {folder}/c.json is not a run: it isn't JSON\n"


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT medan FROM results", 'Binder Error: Referenced column "medan" not found'),
        ("SELEC 1", "Parser Error"),
        ("", "a question is one SQL statement, and this is 0"),
        ("SELECT 1; SELECT 2", "a question is one SQL statement, and this is 2"),
        ("CREATE TABLE t (i INT)", "this statement is of the kind CREATE"),
        ("INSERT INTO results VALUES (1)", "this statement is of the kind INSERT"),
        ("SET enable_external_access = true", "this statement is of the kind SET"),
        ("COPY (SELECT 1) TO 'x.csv'", "this statement is of the kind COPY"),
        ("SELECT * FROM range(100000) a, range(100000) b", "the answer has more than 1000000 rows"),
        (
            "SELECT count(*) FROM (SELECT DISTINCT range FROM range(100000000))",
            "the question needs more memory than 1GiB",
        ),
    ],
)
def test_a_statement_that_is_wrong_or_does_not_read_is_refused(
    invoke: Invoke, folder: Path, sql: str, said: str
) -> None:
    outcome = invoke("runs", "query", sql, "--folder", str(folder))
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert "\nhint: " in outcome.err


@pytest.mark.parametrize(
    "source",
    [
        "read_csv('{}')",
        "read_text('{}')",
        "'{}'",
        "glob('{}')",
        "runs",
        "read_csv('https://example.org/x.csv')",
    ],
)
def test_sql_reaches_neither_files_nor_the_network_nor_variables(
    invoke: Invoke, folder: Path, source: str
) -> None:
    secret = folder / "secret.csv"
    secret.write_text("word\nplugh\n")
    sql = f"SELECT * FROM {source.format(secret)}"  # noqa: S608 - that is what is tested
    outcome = invoke("runs", "query", sql, "--folder", str(folder))
    assert (outcome.code, outcome.out) == (2, "")
    assert "plugh" not in outcome.err


def test_without_duckdb_the_error_names_the_extra(
    invoke: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    outcome = invoke("runs", "query", "SELECT 1", "--folder", str(folder))
    assert (outcome.code, outcome.out) == (1, "")
    assert "duckdb is not installed (needs pip install 'isthmus[scale]')" in outcome.err


def test_a_folder_that_is_not_there_is_a_clear_error(invoke: Invoke, tmp_path: Path) -> None:
    outcome = invoke("runs", "query", "SELECT 1", "--folder", str(tmp_path / "nothing"))
    assert outcome.code == 2
    assert "nothing: No such file or directory" in outcome.err


def test_odd_values_are_written_as_json_and_on_one_line(invoke: Invoke, folder: Path) -> None:
    sql = (
        "SELECT 'a\nb' AS text, 1.5::DECIMAL(4, 2) AS part, 'nan'::DOUBLE AS none, "
        "[1, 2] AS list, {'a': DATE '2026-01-02'} AS struct, 1 AS x, 2 AS x"
    )
    arguments = ("runs", "query", sql, "--folder", str(folder))
    assert json.loads(invoke(*arguments, "--format", "json").out) == [
        {
            "text": "a\nb",
            "part": 1.5,
            "none": None,
            "list": [1, 2],
            "struct": {"a": "2026-01-02"},
            "x": 1,
            "x_2": 2,
        }
    ]
    assert len(invoke(*arguments).out.splitlines()) == 2

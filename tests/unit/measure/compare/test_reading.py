import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes import runs
from isthmus.errors import UsageError
from isthmus.measure.run.reading import read_run
from isthmus.measure.run.store import run_text, save_run


def written(folder: Path, text: str) -> str:
    path = folder / "run.json"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_run_is_read_by_its_file_its_id_or_as_the_last(tmp_path: Path) -> None:
    run = runs.run()
    file = save_run(run)
    assert [read_run(name) for name in (str(file), run.run.id, "0bad", "last")] == [run] * 4
    assert read_run(written(tmp_path, run_text(run))) == run


def test_the_last_run_is_the_latest_that_was_kept() -> None:
    first = runs.run()
    identity = first.run.model_copy(
        update={"id": "ffffffff", "started_at": first.run.started_at.replace(year=2026)}
    )
    save_run(first.model_copy(update={"run": identity}))
    save_run(first)
    assert read_run("last").run.id == "ffffffff"


@pytest.mark.parametrize(
    "name", ["last", "0bad", "", "/no/such/run.json", "/", "null\0byte", "\ud800", "x" * 5000]
)
def test_a_run_that_is_not_there_is_a_usage_error_that_says_what_to_name(name: str) -> None:
    with pytest.raises(UsageError, match="there is no run") as caught:
        read_run(name)
    assert "--output run.json" in caught.value.hint


def test_a_pipe_of_a_runs_name_is_no_run_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.json")
    with pytest.raises(UsageError, match="there is no run"):
        read_run(str(tmp_path / "run.json"))


def test_an_id_that_fits_several_runs_is_refused() -> None:
    run = runs.run()
    save_run(run)
    save_run(run.model_copy(update={"run": run.run.model_copy(update={"id": "0badbadd"})}))
    with pytest.raises(UsageError, match="more than one run fits"):
        read_run("0bad")


def test_another_schema_is_refused_always(tmp_path: Path) -> None:
    document = json.loads(run_text(runs.run())) | {"schema_version": 2}
    with pytest.raises(UsageError, match="is of schema 2, and this version reads schema 1 only"):
        read_run(written(tmp_path, json.dumps(document)))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "isn't JSON"),
        ("\xff\x00", "isn't JSON"),
        ("[1]", "no schema version"),
        ('{"schema_version": "1", "results": []}', "no schema version"),
        ('{"schema_version": 1, "results": []}', "not a run: run: Field required"),
        ("[" * 100_000, "isn't JSON"),
        ('{"schema_version": 1, "results":' + "[" * 900 + "]" * 900 + "}", "isn't JSON"),
        ('{"schema_version": 1, "results": ' + "9" * 5000 + "}", "not a run: "),
        ('{"schema_version": ' + "9" * 4000 + ', "results": []}', r"is of schema 9+\.\.\. \(4000"),
        ('{"schema_version": 1, "results": [], "\\ud800": 1}', "isn't JSON"),
        ('{"schema_version": 1, "results": [], "' + "x" * 9999 + '": 1}', "not a run: "),
    ],
)
def test_a_file_that_is_no_run_is_refused_with_the_reason(
    tmp_path: Path, text: str, why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        read_run(written(tmp_path, text))


def changed(path: tuple[str, ...], value: object) -> str:
    """Give the fakes' run as text, with one value changed; * is every item of a list."""

    def change(place: Any, rest: tuple[str, ...]) -> None:  # noqa: ANN401 - JSON
        first, *others = rest
        for key in range(len(place)) if first == "*" else [first]:
            if others:
                change(place[key], tuple(others))
            else:
                place[key] = value

    document = json.loads(run_text(runs.run()))
    change(document, path)
    return json.dumps(document)


@pytest.mark.parametrize("number", [1 << 63, 10**400, -(10**400)])
@pytest.mark.parametrize(
    "path",
    [
        ("machine", "device", "total_memory_bytes"),
        ("machine", "host", "memory_bytes"),
        ("machine", "link", "width"),
        ("results", "*", "bytes"),
        ("results", "*", "num_threads"),
        ("results", "*", "axes", "streams"),
        ("options", "max_bytes"),
    ],
    ids=".".join,
)
def test_a_number_that_no_64_bits_hold_is_refused_with_its_place(
    tmp_path: Path, path: tuple[str, ...], number: int
) -> None:
    with pytest.raises(UsageError, match=f"is not a run: {path[0]}") as caught:
        read_run(written(tmp_path, changed(path, number)))
    assert "\n" not in str(caught.value)


def test_every_integer_of_a_run_has_a_most(pytestconfig: pytest.Config) -> None:
    for name in ("run-v1", "profile-v2", "machine-v1"):
        text = (pytestconfig.rootpath / "docs" / "schema" / f"{name}.json").read_text("utf-8")
        integers = [part for part in parts(json.loads(text)) if part.get("type") == "integer"]
        assert integers
        assert [part for part in integers if not {"maximum", "const"} & part.keys()] == []


def parts(schema: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - JSON
    """List all that a schema has inside."""
    if isinstance(schema, dict):
        yield schema
    for inner in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(inner, dict | list):
            yield from parts(inner)


COMMITTED = sorted((Path(__file__).parents[4] / "benchmarks").glob("*/*/run.json"))


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: "-".join(path.parts[-3:-1]))
def test_runs_that_were_committed_earlier_can_still_be_read(path: Path) -> None:
    assert read_run(str(path)).results

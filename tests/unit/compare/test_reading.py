import json
from pathlib import Path

import pytest

from fakes import runs
from isthmus.errors import UsageError
from isthmus.run.reading import read_run
from isthmus.run.store import run_text, save_run


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


@pytest.mark.parametrize("name", ["last", "0bad", "", "/no/such/run.json"])
def test_a_run_that_is_not_there_is_a_usage_error_that_says_what_to_name(name: str) -> None:
    with pytest.raises(UsageError, match="there is no run") as caught:
        read_run(name)
    assert "--output run.json" in caught.value.hint


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
        ('{"schema_version": 1, "results": []}', "no run: run: Field required"),
    ],
)
def test_a_file_that_is_no_run_is_refused_with_the_reason(
    tmp_path: Path, text: str, why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        read_run(written(tmp_path, text))


COMMITTED = sorted((Path(__file__).parents[3] / "benchmarks").glob("*/*/run.json"))


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: "-".join(path.parts[-3:-1]))
def test_runs_that_were_committed_earlier_can_still_be_read(path: Path) -> None:
    assert read_run(str(path)).results

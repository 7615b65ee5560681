"""The store of a folder of runs: each run is read once, and the folder is the truth."""

import errno
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes import runs
from isthmus.files import whole
from isthmus.measure.run import folder as run_folder
from isthmus.measure.run.folder import files_of
from isthmus.measure.run.model import Run
from isthmus.measure.run.reading import read_run_file
from isthmus.measure.run.store import run_text

pa = pytest.importorskip("pyarrow", reason="isthmus[scale] is not installed")
import pyarrow.parquet as pq  # noqa: E402

from isthmus.measure.query.store import FILE, SCHEMA_VERSION, Found, find_runs  # noqa: E402
from isthmus.measure.query.tables import stored_schema  # noqa: E402


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """List the files of runs that are read."""
    names: list[str] = []

    def reading(path: Path) -> Run:
        names.append(path.name)
        return read_run_file(path)

    monkeypatch.setattr(run_folder, "read_run_file", reading)
    return names


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in "abc":
        write(tmp_path / f"{name}.json", name)
    return tmp_path


def write(path: Path, name: str) -> Run:
    """Write a run with an id."""
    run = runs.run()
    run = run.model_copy(update={"run": run.run.model_copy(update={"id": name})})
    path.write_text(run_text(run), "utf-8")
    return run


def find(folder: Path) -> Found:
    return find_runs(folder, files_of(folder))


def ids(found: Found, view: str = "machines") -> list[str]:
    return list(dict.fromkeys(found.views[view]["run"].to_pylist()))


def test_a_run_is_read_once(folder: Path, read: list[str]) -> None:
    first = find(folder)
    assert read == ["a.json", "b.json", "c.json"]
    second = find(folder)
    assert len(read) == 3
    assert first.complaints == second.complaints == []
    for view, table in first.views.items():
        assert table.to_pylist() == second.views[view].to_pylist()
    assert len(first.views["results"]) == 3 * len(runs.run().results)


def test_what_is_new_or_changed_is_read_and_what_is_gone_is_left_out(
    folder: Path, read: list[str]
) -> None:
    find(folder)
    read.clear()
    write(folder / "b.json", "changed")
    write(folder / "d.json", "d")
    (folder / "a.json").unlink()
    found = find(folder)
    assert read == ["b.json", "d.json"]
    assert ids(found) == ids(found, "results") == ["changed", "c", "d"]


def test_an_older_file_in_place_of_a_run_is_read(folder: Path, read: list[str]) -> None:
    find(folder)
    read.clear()
    write(folder / "b.json", "B")
    os.utime(folder / "b.json", (1, 1))
    assert ids(find(folder)) == ["a", "B", "c"]
    assert read == ["b.json"]


def test_node_and_file_are_those_of_where_the_folder_lies_now(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, read: list[str]
) -> None:
    find(folder)
    elsewhere = tmp_path_factory.mktemp("moved") / "fleet"
    folder.rename(elsewhere)
    read.clear()
    machines = find(elsewhere).views["machines"].to_pylist()
    assert read == []
    assert [one["node"] for one in machines] == ["a", "b", "c"]
    assert machines[0]["file"] == str(elsewhere / "a.json")


def test_what_cannot_be_read_is_named_each_time(folder: Path) -> None:
    (folder / "b.json").write_text("{")
    for _ in range(2):
        found = find(folder)
        assert ids(found) == ["a", "c"]
        assert found.unread == [f"{folder}/b.json is not a run: it isn't JSON"]


def test_what_the_files_no_longer_say_goes_from_the_store(folder: Path) -> None:
    find(folder)
    for name in "abc":
        write(folder / f"{name}.json", f"{name}{name}")
    assert ids(find(folder)) == ["aa", "bb", "cc"]
    (folder / "a.json").unlink()
    assert pq.read_table(folder / FILE).num_rows == 3
    assert ids(find(folder)) == ["bb", "cc"]
    assert pq.read_table(folder / FILE).num_rows == 2


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def of_version(version: bytes) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        table = pq.read_table(path)
        pq.write_table(table.replace_schema_metadata({b"isthmus_store": version}), path)

    return change


def of_other_columns(path: Path) -> None:
    table = pa.table({"path": [b"a.json"]})
    pq.write_table(table.replace_schema_metadata({b"isthmus_store": b"1"}), path)


def without_a_file(path: Path) -> None:
    table = pq.read_table(path)
    none = pa.nulls(table.num_rows, pa.binary())
    changed = table.set_column(0, table.schema.field("path"), none)
    pq.write_table(changed.replace_schema_metadata({b"isthmus_store": b"1"}), path)


def nothing(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (truncate, "it isn't Parquet, or damaged"),
        (nothing, "it isn't Parquet, or damaged"),
        (of_version(b"0"), "it is no store of schema 1"),
        (of_version(b"nonsense"), "it is no store of schema 1"),
        (of_other_columns, "it is no store of schema 1"),
        (without_a_file, "a run in it has no file"),
    ],
)
def test_a_store_that_is_damaged_or_of_another_schema_is_named_and_made_anew(
    folder: Path, read: list[str], change: Callable[[Path], None], said: str
) -> None:
    find(folder)
    one = folder / FILE
    change(one)
    read.clear()
    found = find(folder)
    assert ids(found) == [name.removesuffix(".json") for name in read] == ["a", "b", "c"]
    [complaint] = found.complaints
    assert complaint.startswith(f"{one} will be replaced, and no run is lost: {said}")
    again = find(folder)
    assert (again.complaints, ids(again), len(read)) == ([], ["a", "b", "c"], 3)


def test_a_store_of_a_newer_version_stays(folder: Path) -> None:
    find(folder)
    newer = folder / FILE
    of_version(b"2")(newer)
    kept = newer.read_bytes()
    for _ in range(2):
        found = find(folder)
        assert ids(found) == ["a", "b", "c"]
        [complaint] = found.complaints
        assert complaint.startswith(f"{newer} is left as it is, and runs are read again: ")
        assert complaint.endswith(": it is of schema 2, and this version reads schema 1")
    assert newer.read_bytes() == kept


@pytest.mark.parametrize("kind", [Path.mkdir, os.mkfifo])
def test_a_store_that_cannot_be_used_is_named_and_the_rest_goes_on(
    folder: Path, kind: Callable[[Path], None]
) -> None:
    kind(folder / FILE)
    found = find(folder)
    assert ids(found) == ["a", "b", "c"]
    assert "will be replaced, and no run is lost: " in found.complaints[0]


def test_a_store_that_cannot_be_written_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(whole, "write_all", full)
    found = find(folder)
    assert ids(found) == ["a", "b", "c"]
    [complaint] = found.complaints
    assert complaint.startswith("the store isn't written, and runs are read again: ")
    assert {one.name for one in folder.iterdir()} == {"a.json", "b.json", "c.json"}


@pytest.mark.parametrize("exists", [False, True])
def test_a_link_in_place_of_the_store_is_neither_read_nor_written(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, *, exists: bool
) -> None:
    research = tmp_path_factory.mktemp("research")
    kept = {"a.parquet": "three years of work"} if exists else {}
    for name, contents in kept.items():
        (research / name).write_text(contents)
    (folder / FILE).symlink_to(research / "a.parquet")
    found = find(folder)
    assert ids(found) == ["a", "b", "c"]
    [complaint] = found.complaints
    assert complaint.endswith(
        f"{FILE} is left as it is, and runs are read again: it is a link, which may lead anywhere"
    )
    assert (folder / FILE).is_symlink()
    assert {one.name: one.read_text() for one in research.iterdir()} == kept


def test_a_run_that_is_there_twice_or_outside_of_the_folder_is_no_run_of_it(folder: Path) -> None:
    find(folder)
    table = pq.read_table(folder / FILE)
    odd = pa.array([b"../x", b"/etc/passwd", b"a\0b"], pa.binary())
    led_out = table.set_column(0, table.schema.field("path"), odd)
    changed = pa.concat_tables([led_out, table, table])
    pq.write_table(changed.replace_schema_metadata({b"isthmus_store": b"1"}), folder / FILE)
    found = find(folder)
    assert (ids(found), found.complaints) == (["a", "b", "c"], [])
    assert found.views["machines"].num_rows == pq.read_table(folder / FILE).num_rows == 3


def test_a_store_is_read_by_the_thread_that_asks(folder: Path) -> None:
    # One of Arrow's that still holds Python's bytes while the process ends keeps it from ending.
    find(folder)
    program = """
import os, sys
from pathlib import Path
import pyarrow.parquet
from isthmus.measure.query.store import find_runs
from isthmus.measure.run.folder import files_of
before = set(os.listdir("/proc/self/task"))
folder = Path(sys.argv[1])
assert find_runs(folder, files_of(folder)).views["machines"].num_rows == 3
print(len(set(os.listdir("/proc/self/task")) - before))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, folder], capture_output=True, text=True, check=True
    )
    assert done.stdout == "0\n"


def test_a_changed_schema_has_another_version() -> None:
    # If this fails: count SCHEMA_VERSION up, so that stores of older versions are replaced.
    columns = hashlib.sha256(str(stored_schema()).encode()).hexdigest()[:12]
    assert (SCHEMA_VERSION, columns) == (1, "ffe9a40056c9")

"""Files from which a sweep continues: they hold points of that sweep, or are refused."""

import contextlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fakes.sweeps import BASE, POINTS, sweep
from isthmus.errors import UsageError, WriteError
from isthmus.sim.points import build_points
from isthmus.sim.store import SweepStore
from isthmus.sim.sweep import columns_of

HEAD = b'{"sweep": 1, "identity": "this"}\n'


def opened(path: Path) -> SweepStore:
    return SweepStore(path, "this", [point.key for point in POINTS])


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000,
        b"\xff\xfe",
        b"null",
        b'{"key": "k"}',
        b'{"key": "k", "row": 5}',
        b'{"key": "k", "row": {}}',
        b'{"key": "k", "row": {"error": []}}',
        b'{"key": "k", "row": {"error": null, "a": {"b": 1}}}',
        b'{"key": "k", "row": {"error": ' + b"9" * 5000 + b"}}",
        b'{"row": {"error": null}}',
    ],
)
def test_a_line_of_a_journal_that_is_no_point_is_left_out(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "s.parquet"
    whole = b'{"key": "whole", "row": {"error": null, "modelled": true}}\n'
    path.with_name("s.parquet.journal").write_bytes(HEAD + line + b"\n" + whole)
    store = opened(path)
    assert "whole" in store
    assert "k" not in store


@pytest.mark.parametrize(
    ("key", "rows"),
    [
        ("a", [{"error": None}, {"error": 5}, {"error": "text"}]),
        ("a", [{"error": None, "x": 1}, {"error": None, "x": "1"}]),
        ("a", [{"error": None, "x": 10**20}]),
        ("a", [{"error": None, "x": "\ud800"}]),
        ("\ud800", [{"error": None}]),
    ],
)
def test_a_journal_that_makes_no_table_is_refused_before_anything_runs(
    tmp_path: Path, key: str, rows: list[dict[str, object]]
) -> None:
    path = tmp_path / "s.parquet"
    journal = path.with_name("s.parquet.journal")
    entries = ({"key": f"{key}{number}", "row": row} for number, row in enumerate(rows))
    lines = "\n".join(json.dumps(entry) for entry in entries).encode()
    journal.write_bytes(HEAD + lines)
    with pytest.raises(UsageError, match=r"s\.parquet\.journal is of another sweep, or isn't one"):
        opened(path)
    assert journal.read_bytes() == HEAD + lines


@pytest.mark.parametrize("name", ["s.parquet", "s.parquet.journal"])
def test_a_pipe_in_the_place_of_a_sweep_is_refused_and_not_waited_for(
    tmp_path: Path, name: str
) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(WriteError, match="it is not a regular file"):
        opened(tmp_path / "s.parquet")


def test_a_table_without_keys_or_errors_is_of_no_sweep(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    for columns in ({"key": ["a"]}, {"error": [None]}):
        table = pa.table(columns).replace_schema_metadata({b"isthmus.sweep": b"this"})
        pq.write_table(table, path)
        with pytest.raises(UsageError, match="another sweep, or isn't one"):
            opened(path)


def test_a_sweep_that_ended_before_its_first_point_can_be_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    with opened(path):
        pass
    assert pq.read_table(path).num_rows == 0
    assert sweep(path).num_finished == len(POINTS)


def test_a_table_with_any_wrong_byte_is_a_sweep_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    sweep(path)
    contents = path.read_bytes()
    for place in range(0, len(contents), 7):
        broken = bytearray(contents)
        broken[place] ^= 0xFF
        path.write_bytes(broken)
        with contextlib.suppress(UsageError):
            opened(path)


def test_text_that_is_no_unicode_is_kept_escaped(tmp_path: Path) -> None:
    """The name of a trace's file, for instance."""
    (point,) = build_points(BASE, [{"seed": "1"}])
    strange = replace(point, workload="bfs\udcff")
    path = tmp_path / "s.parquet"
    store = SweepStore(path, "this", [strange.key])
    with store:
        store.add(strange.key, {**columns_of(strange), "error": None})
    assert pq.read_table(path).to_pylist()[0]["workload"] == r"bfs\udcff"

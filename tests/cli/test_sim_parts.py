"""`isthmus sim run --by`, its files and its pictures; a page explains every column."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from documents.snippets import ROOT
from isthmus.sim.parts import COLUMNS, By
from isthmus.sim.result import empty_result
from program import Invoke

pytestmark = pytest.mark.native

PAGE = ROOT / "docs" / "simulate-results.md"
KINDS = {".json", ".svg", ".png", ".html"}


@pytest.mark.parametrize("by", By)
def test_every_format_has_the_same_rows(invoke: Invoke, tmp_path: Path, by: By) -> None:
    run_it = ("sim", "run", "cp", "-p", "ranges", "-p", "programmer", "--by", by.value)
    document = json.loads(invoke(*run_it, "--format", "json").out)
    rows = [
        {"workload": "cp", "policy": one["policy"], **row}
        for one in document["runs"]
        for row in one[f"by_{by.value}"]
    ]
    path = tmp_path / "cp.parquet"
    outcome = invoke(*run_it, "--format", "csv", "-o", str(path))
    assert pq.read_table(path).to_pylist() == rows
    assert list(csv.DictReader(outcome.out.splitlines())) == [
        {name: str(value) for name, value in row.items()} for row in rows
    ]
    assert {row["policy"] for row in rows} <= {"ranges", "programmer"}
    shown = invoke(*run_it).out
    assert all(str(row[by.value]) in shown for row in rows)


def test_a_run_without_parts_is_a_row_for_each_policy_in_parquet(
    invoke: Invoke, tmp_path: Path
) -> None:
    path = tmp_path / "cp.parquet"
    outcome = invoke("sim", "run", "cp", "-p", "ideal", "-p", "ranges", "-o", str(path))
    assert (outcome.code, f"written: {path}" in outcome.err) == (0, True)
    table = pq.read_table(path)
    assert table["policy"].to_pylist() == ["ideal", "ranges"]
    assert table.column_names == ["workload", "policy", *empty_result().flat()]


def test_one_table_explains_every_column(invoke: Invoke, tmp_path: Path) -> None:
    table = PAGE.read_text("utf-8").split("## All columns")[1]
    rows = re.findall(r"^\| (`.+?) \| (.+?) \| .+ \|$", table, re.MULTILINE)
    explained: dict[str, set[str]] = {}
    for names, of in rows:
        for name in re.findall(r"`(\w+)`", names):
            assert name not in explained, f"{name} stands twice"
            explained[name] = set(of.split(", "))
    flat, own = set(empty_result().flat()), {"workload", "policy"}
    path = tmp_path / "s.parquet"
    invoke("sim", "sweep", "cp", "-a", "seed=0", "-o", str(path))
    in_sweep = set(pq.read_table(path).column_names)
    document = json.loads(invoke("sim", "run", "cp", "-p", "ideal", "--format", "json").out)
    in_json = set(document["runs"][0]) | {f"by_{by.value}" for by in By}
    of_parts = {name for columns in COLUMNS.values() for name in columns}
    assert set(explained) == flat | own | in_sweep | in_json | of_parts
    for name in flat:
        assert {"run", "sweep"} <= explained[name]
    for by, columns in COLUMNS.items():
        of = {name for name, where in explained.items() if by.value in where}
        assert of == set(columns) - {by.value}


def panels(folder: Path, name: str) -> dict[str, list[dict[str, Any]]]:
    """Read a picture's panels from its Vega-Lite: their titles, and the rows that each draws."""
    drawn = json.loads((folder / f"{name}.json").read_text("utf-8"))
    return {
        panel["title"]["text"]: drawn["datasets"][panel["data"]["name"]]
        for panel in drawn["vconcat"]
    }


def test_a_run_is_drawn_over_time(invoke: Invoke, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    run_it = ("sim", "run", "bfs", "-p", "ranges", "-p", "programmer", "--format", "json")
    outcome = invoke(*run_it, "--plots", str(tmp_path))
    document = json.loads(outcome.out)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"run-{policy}{kind}" for policy in ("ranges", "programmer") for kind in KINDS
    }
    ranges, programmer = (panels(tmp_path, f"run-{one}") for one in ("ranges", "programmer"))
    names = "kernels", "link to the GPU, busy", "link to the CPU, busy"
    assert [*programmer][:3] == [*ranges][:3] == list(names)
    assert [title.split(";")[0] for title in [*ranges][3:-1]] == [
        "migrations under way",
        "arrivals",
    ]
    assert len(programmer) == 4  # nothing migrates
    run = document["runs"][0]
    arrived = sum(row["KiB"] for row in next(v for k, v in ranges.items() if "arrivals" in k))
    assert round(arrived * 1024) == run["bytes_migrated_to_gpu"]
    waits = [*ranges.values()][-1]
    for cause, column in (("memory", "stall_memory_ps"), ("migration", "stall_migration_ps")):
        spent_us = sum(
            (row["high"] - row["low"]) * (row["to"] - row["from"])
            for row in waits
            if row["what"] == cause
        )
        assert spent_us * 1e6 == pytest.approx(run[column], rel=1e-6)
    assert len(ranges["kernels"]) == len(run["launches_ps"])


def test_own_policies_of_one_file_are_drawn_side_by_side(invoke: Invoke, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    (file := tmp_path / "mine.v2.py").write_text(
        "class One:\n"
        "    def __init__(self, setup): pass\n"
        "    def on_access(self, accesses, asked): return [accesses[-1].item()[1:3]]\n"
        "class Two(One): pass\n"
    )
    (drawn := tmp_path / "drawn").mkdir()
    outcome = invoke(
        *("sim", "run", "cp", "-p", f"{file}:One", "-p", f"{file}:Two", "--plots", str(drawn))
    )
    assert outcome.code == 0
    names = sorted(re.sub("[0-9a-f]{12}$", "", path.stem) for path in drawn.glob("*.svg"))
    assert names == ["run-mine_v2_py_One_", "run-mine_v2_py_Two_"]


def test_a_sweep_is_drawn_over_its_numbers(invoke: Invoke, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    table = tmp_path / "s.parquet"
    sweep = ("sim", "sweep", "cp", "-a", "policy=ranges,tree", "-a", "policy.unit=1KiB,4KiB")
    invoke(*sweep, "-o", str(table), "--plots", str(tmp_path))
    drawn = json.loads((tmp_path / "sweep.json").read_text("utf-8"))
    ((_, rows),) = drawn["datasets"].items()
    found = {(row["x"], row["line"]): row["us"] for row in rows}
    points = pq.read_table(table)
    assert found == {
        (f"{unit // 1024}KiB", policy): time_ps / 1e6
        for unit, policy, time_ps in zip(
            *(points[name].to_pylist() for name in ("policy.unit", "policy", "total_ps")),
            strict=True,
        )
    }
    assert drawn["encoding"]["x"]["title"] == "policy.unit"


@pytest.mark.parametrize("command", [("run", "cp"), ("sweep", "cp", "-a", "seed=0", "-o", "s")])
def test_a_folder_that_cannot_be_made_is_refused_before_anything_runs(
    invoke: Invoke, tmp_path: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    outcome = invoke("sim", *command, "--plots", "file/below")
    assert outcome.code in {1, 2}
    assert "--plots" in outcome.err
    assert not (tmp_path / "s").exists()


def test_a_part_that_does_not_exist_is_refused_with_the_ones_that_do(invoke: Invoke) -> None:
    outcome = invoke("sim", "run", "cp", "--by", "allocatoin")
    assert outcome.code == 2
    assert "allocation" in outcome.err

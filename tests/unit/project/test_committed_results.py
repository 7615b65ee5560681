"""Committed results: the product's own readers read each of them."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from isthmus.decide.profile.store import load_profile
from isthmus.ground.json_text import json_text
from isthmus.measure.run.reading import read_run
from program import run_process

_ROOT = Path(__file__).parents[3]
_RESULTS = sorted(
    path.relative_to(_ROOT).as_posix()
    for folder in ("benchmarks", "tests/stress/results")
    for path in (_ROOT / folder).rglob("*.json")
)


def named(name: str) -> list[str]:
    found = [path for path in _RESULTS if Path(path).name == name]
    assert found, f"no {name} is committed: has the layout moved?"
    return found


_RUNS = [
    path for name in ("run.json", "managed.json", "managed_random.json") for path in named(name)
]


def records(value: object) -> list[Any]:
    """List the objects in lists, without those that hold others."""
    if isinstance(value, dict):
        return [record for member in value.values() for record in records(member)]
    if not isinstance(value, list):
        return []
    found: list[Any] = []
    for element in value:
        inner = records(element)
        found += inner if inner or not isinstance(element, dict) else [element]
    return found


def objects_of_a_line(text: str) -> list[Any]:
    found = []
    for line in text.splitlines():
        row = line.strip().removesuffix(",")
        if row.startswith("{") and row.endswith("}"):
            found.append(json.loads(row))
    return found


@pytest.mark.parametrize("path", _RUNS)
def test_a_committed_run_is_read_by_the_reader_of_runs(path: str) -> None:
    assert read_run(str(_ROOT / path)).results


@pytest.mark.parametrize("path", named("profile.json"))
def test_a_committed_profile_is_read_by_the_reader_of_profiles(path: str) -> None:
    assert load_profile(_ROOT / path).costs


@pytest.mark.parametrize("path", [*_RUNS, *named("profile.json")])
def test_a_committed_file_is_laid_out_as_the_product_writes_it(path: str) -> None:
    text = (_ROOT / path).read_text("utf-8")
    assert json_text(json.loads(text)) == text, "write it again, with isthmus.ground.json_text"


@pytest.mark.parametrize("path", _RESULTS)
def test_a_committed_result_has_one_record_a_line(path: str) -> None:
    text = (_ROOT / path).read_text("utf-8")
    assert objects_of_a_line(text) == records(json.loads(text)), "see isthmus.ground.json_text"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("now.json", "isthmus slower: 11 of 344"),
        ("to_1gib.json", "isthmus slower: 0 of 272"),
        ("to_1gib.json", "CPU time above twice torch's: 1 of 40"),
    ],
)
def test_the_summary_of_rhythms_says_what_their_readme_says(name: str, said: str) -> None:
    folder = _ROOT / "benchmarks" / "rhythms"
    done = run_process([sys.executable, str(folder / "summary.py"), str(folder / "h200" / name)])
    assert done.code == 0
    assert said in done.out

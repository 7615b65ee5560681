from pathlib import Path

import pytest

from fakes.counters import MIB, MS, CounterFile, download, upload
from isthmus.errors import UsageError
from isthmus.watching.conditions import parse_conditions
from isthmus.watching.costs import COSTS_UNKNOWN
from isthmus.watching.counters import read_counters
from isthmus.watching.model import Violation
from isthmus.watching.reporting import report_on

pytestmark = pytest.mark.native


def violated(file: CounterFile, folder: Path, conditions: str) -> list[Violation]:
    process = read_counters(file.write(folder))
    return report_on([process], COSTS_UNKNOWN, conditions=parse_conditions(conditions)).violations


@pytest.mark.parametrize(
    ("typed", "what"),
    [
        ("hiden-sync", "did you mean hidden-sync?"),
        ("", "conditions: hidden-sync"),
        ("hidden-sync,", "conditions: hidden-sync"),
        ("hidden-sync>3", "conditions: hidden-sync"),
        ("pageable", "conditions: hidden-sync"),
        ("pageable>", "conditions: hidden-sync"),
        ("pageable>many", "units"),
        ("seconds>-1", "seconds>2.5"),
        ("seconds>nan", "seconds>2.5"),
        ("avoidable>x", "seconds>2.5"),
    ],
)
def test_a_condition_that_isnt_one_is_refused(typed: str, what: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_conditions(typed)
    assert what.lower() in refused.value.hint.lower()


def test_hidden_synchronisation_is_named_with_its_lines(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import torch\nbatch = batch.cuda(non_blocking=True)\n")
    site = f"{script}:2 step"
    file = upload(CounterFile(), MIB, 5 * MS, calls=3, hidden=3, hidden_ns=5 * MS, site=site)
    (one,) = violated(file, tmp_path / "c", "hidden-sync, copy-wait")
    assert (one.condition, one.why) == ("hidden-sync", "3 calls, 0.005 s")
    assert [(place.site, place.source_line) for place in one.places] == [
        (site, "batch = batch.cuda(non_blocking=True)")
    ]


def test_a_wait_directly_after_a_copy_is_a_violation(tmp_path: Path) -> None:
    file = CounterFile().row("cuStreamSynchronize", "wait", calls=2, ns=9, hidden=1, hidden_ns=4)
    assert [one.condition for one in violated(file, tmp_path, "copy-wait,hidden-sync")] == [
        "copy-wait"
    ]


def test_pageable_items_above_a_size_are_a_violation(tmp_path: Path) -> None:
    file = download(CounterFile(), MIB, MS, calls=4, site="a.py:1 f")
    upload(file, 64 * MIB, MS, source="pinned")
    assert violated(file, tmp_path, "pageable>1MiB") == []
    (one,) = violated(file, tmp_path, "pageable>1023KiB")
    assert [place.site for place in one.places] == ["a.py:1 f"]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [("seconds>0.5", 0), ("seconds>0.49", 1), ("avoidable>0", 0), ("seconds>0", 1)],
)
def test_seconds_have_a_limit(tmp_path: Path, condition: str, expected: int) -> None:
    file = upload(CounterFile(), MIB, 500 * MS)
    assert len(violated(file, tmp_path, condition)) == expected


def test_pinning_in_a_loop_is_a_violation(tmp_path: Path) -> None:
    file = CounterFile().row("cuMemHostAlloc", "pin", calls=20, ns=30 * MS, each=MIB)
    assert violated(file, tmp_path, "pinning") == []
    file.row("cuMemFreeHost", "unpin", calls=20, ns=10 * MS)
    assert len(violated(file, tmp_path, "pinning,avoidable>0.01")) == 2

from pathlib import Path

import pytest

from fakes.counters import MIB, MS, CounterFile, download, upload
from isthmus.decide.advice.machine import machine_profile
from isthmus.decide.profile.model import Path as CopyPath
from isthmus.watching.costs import NEVER_BYTES, Costs, costs_here, costs_of
from isthmus.watching.counters import read_counters
from isthmus.watching.verdict import Cause, Finding, Verdict, verdict_on

pytestmark = pytest.mark.native
# Microseconds at first, and bytes a second.
LINES = {
    "driver": (10e-6, 10e9),
    "staged": (60e-6, 50e9),
    "window": (1e-6, 10e9),
}


def seconds_of(path: str, _direction: str, memory: str, size: int) -> float | None:
    if path not in LINES or (path == "staged" and memory != "pageable"):
        return None
    fixed, rate = LINES[path]
    return fixed + size / rate


COSTS = Costs(source="made up", estimated=False, modelled=False, seconds_of=seconds_of)


def judged(folder: Path, *files: CounterFile, costs: Costs = COSTS) -> Verdict:
    return verdict_on([read_counters(file.write(folder)) for file in files], costs)


def found(verdict: Verdict) -> dict[Cause, Finding]:
    return {one.cause: one for one in verdict.findings}


def total(one: Finding) -> tuple[float, float]:
    return one.total(lambda share: share.now), one.total(lambda share: share.predicted)


@pytest.mark.parametrize(
    ("copies", "cause"), [(upload, Cause.PAGEABLE_UP), (download, Cause.PAGEABLE_DOWN)]
)
def test_pageable_copies_are_compared_with_staged_ones(
    tmp_path: Path, copies: type, cause: Cause
) -> None:
    file = copies(CounterFile(), 50 * MIB, 300 * MS, calls=10, wait_ns=100 * MS, site="a.py:1 f")
    verdict = judged(tmp_path, file)
    # Waiting for earlier work isn't the copy's.
    assert verdict.copying == pytest.approx(0.2)
    now, predicted = total(found(verdict)[cause])
    assert now == pytest.approx(0.2)
    assert predicted == pytest.approx(10 * (60e-6 + 50 * MIB / 50e9))
    assert found(verdict)[cause].shares[0].site.place == "a.py:1 f"


def test_copies_as_fast_as_staged_ones_to_the_engines_margin_are_no_loss(tmp_path: Path) -> None:
    each = round(1.29e9 * (60e-6 + MIB / 50e9))
    assert judged(tmp_path, upload(CounterFile(), MIB, each)).findings == []


def test_pinned_copies_and_captured_ones_are_no_loss(tmp_path: Path) -> None:
    file = upload(CounterFile(), 64 * MIB, 90 * MS, source="pinned")
    upload(file, 64 * MIB, 90 * MS, captured=1)
    assert judged(tmp_path, file).findings == []


def test_downloads_as_slow_as_into_new_memory_are_predicted_as_such(tmp_path: Path) -> None:
    costs = costs_of(machine_profile("h100-sxm-pcie5"), "an H100")
    staged = {
        5 * MS: costs.seconds(CopyPath.STAGED, "down", "pageable", 64 * MIB),
        20 * MS: costs.new_download(CopyPath.STAGED, 64 * MIB),
    }
    for each, predicted in staged.items():
        file = download(CounterFile(), 64 * MIB, each)
        slow = found(judged(tmp_path, file, costs=costs))
        assert total(slow[Cause.PAGEABLE_DOWN])[1] == pytest.approx(predicted)


def test_many_tiny_copies_are_compared_with_windows_or_packed_ones(tmp_path: Path) -> None:
    file = upload(CounterFile(), 4096, 10 * MS, calls=1000, source="pinned")
    now, predicted = total(found(judged(tmp_path, file))[Cause.TINY])
    assert now == pytest.approx(0.01)
    packed = (10e-6 + 65536 / 10e9) * -(-4096 * 1000 // 65536)
    assert predicted == pytest.approx(min(packed, 1000 * (1e-6 + 4096 / 10e9)))


def test_a_few_tiny_copies_are_no_loss(tmp_path: Path) -> None:
    assert judged(tmp_path, upload(CounterFile(), 4096, MS, calls=99)).findings == []


def test_memory_that_is_pinned_and_unpinned_again_and_again_could_be_kept(tmp_path: Path) -> None:
    file = CounterFile()
    file.row("cuMemHostAlloc", "pin", calls=20, ns=30 * MS, each=MIB, site="a.py:3 f")
    file.row("cuMemFreeHost", "unpin", calls=20, ns=10 * MS)
    verdict = judged(tmp_path, file)
    assert (verdict.pinning, verdict.seconds) == pytest.approx((0.04, 0.04))
    now, predicted = total(found(verdict)[Cause.PINNING])
    assert (now, predicted) == pytest.approx((0.04, 0.002))


def test_memory_that_stays_pinned_is_no_loss(tmp_path: Path) -> None:
    file = CounterFile().row("cuMemHostAlloc", "pin", calls=20, ns=30 * MS, each=MIB)
    assert judged(tmp_path, file).findings == []


def test_waits_that_only_a_copy_caused_are_counted_and_others_are_not(tmp_path: Path) -> None:
    file = CounterFile()
    file.row("cuStreamSynchronize", "wait", calls=9, ns=90 * MS, hidden=2, hidden_ns=5 * MS)
    verdict = judged(tmp_path, file)
    assert verdict.seconds == verdict.waiting == pytest.approx(0.005)
    assert total(found(verdict)[Cause.WAITING]) == pytest.approx((0.005, 0))


def test_a_second_counts_for_one_cause(tmp_path: Path) -> None:
    """Of five uploads of the same bytes, four needn't be made; the fifth could be staged."""
    file = upload(CounterFile(), 50 * MIB, 50 * MS, calls=5, site="a.py:1 f")
    file.repeat("a.py:1 f", calls=5, bytes=250 * MIB, ns=50 * MS, first_ns=10 * MS)
    causes = found(judged(tmp_path, file))
    assert total(causes[Cause.REPEATED]) == pytest.approx((0.04, 0))
    assert total(causes[Cause.PAGEABLE_UP])[0] == pytest.approx(0.01)


def test_uploads_whose_place_was_not_recorded_are_copied_again_at_the_firsts(
    tmp_path: Path,
) -> None:
    file = upload(CounterFile(), 50 * MIB, 10 * MS, site="main+0x12")
    upload(file, 50 * MIB, 40 * MS, calls=4)
    file.repeat("main+0x12", calls=5, bytes=250 * MIB, ns=50 * MS, first_ns=10 * MS)
    (share,) = found(judged(tmp_path, file))[Cause.REPEATED].shares
    assert share.site.place == "main+0x12"
    assert share.now == pytest.approx(0.04)


@pytest.mark.parametrize(("kibibytes", "again"), [(128, False), (256, True)])
def test_shorter_uploads_than_those_that_are_compared_are_not_copied_again(
    tmp_path: Path, kibibytes: int, again: bool
) -> None:
    file = upload(CounterFile(), kibibytes << 10, 50 * MS, calls=5, site="a.py:1 f")
    file.repeat("a.py:1 f", calls=5, bytes=5 * MIB, ns=50 * MS, first_ns=10 * MS)
    assert (Cause.REPEATED in found(judged(tmp_path, file))) == again


def test_more_is_never_avoidable_than_was_spent(tmp_path: Path) -> None:
    file = upload(CounterFile(), 50 * MIB, 50 * MS, calls=5, site="a.py:1 f")
    file.repeat("a.py:1 f", calls=500, bytes=25000 * MIB, ns=5000 * MS, first_ns=10 * MS)
    verdict = judged(tmp_path, file)
    assert verdict.avoidable == pytest.approx(verdict.seconds) == pytest.approx(0.05)


def test_what_the_engine_has_copied_is_no_loss(tmp_path: Path) -> None:
    made = {"replaced": 10, "replaced_bytes": 640 * MIB, "replaced_ns": 80 * MS}
    file = upload(CounterFile(exec_mode=1), 64 * MIB, 80 * MS, calls=10, **made)
    assert judged(tmp_path, file).findings == []
    audit = upload(CounterFile(exec_mode=2), 64 * MIB, 80 * MS, calls=10, **made)
    assert Cause.PAGEABLE_UP in found(judged(tmp_path, audit))


def test_processes_are_judged_together(tmp_path: Path) -> None:
    files = [upload(CounterFile(pid=pid), 64 * MIB, 80 * MS) for pid in (1, 2)]
    assert judged(tmp_path, *files).copying == pytest.approx(0.16)


def test_engines_copies_begin_where_they_beat_the_driver_by_its_margin() -> None:
    size = COSTS.staged_from("up")
    staged, driver = (seconds_of(path, "", "pageable", size) for path in ("staged", "driver"))
    assert staged is not None
    assert driver is not None
    assert staged * 1.3 <= driver < staged * 1.6
    never = Costs(source="", estimated=True, modelled=False, seconds_of=lambda *_: None)
    assert never.staged_from("down") == NEVER_BYTES


def test_without_a_profile_the_defaults_are_called_estimates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ISTHMUS_DRIVER", "emulated")
    costs = costs_here()
    assert (costs.estimated, costs.modelled) == (True, True)
    assert "isthmus profile" in costs.source
    assert costs.seconds(CopyPath.STAGED, "up", "pageable", MIB)


def test_without_a_gpu_the_costs_are_another_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    costs = costs_here()
    assert (costs.estimated, costs.modelled) == (True, False)
    assert "h100-sxm-pcie5" in costs.source

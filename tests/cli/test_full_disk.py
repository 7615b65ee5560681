"""No command meets a disk that refuses with a trace, a part of a file, or silence."""

import errno
import os
from pathlib import Path

import pytest

from fakes.disk import Disk, Kind, contents_below
from isthmus.decide.profile.plan import Effort
from program import Invoke, Outcome

pytestmark = pytest.mark.native

_EMULATED = ("--device", "emulated")
COMMANDS = {
    "bench": (
        *("bench", *_EMULATED, "-t", "host_to_device_memcpy_ce", "--sizes", "4"),
        *("-i", "3", "-o", "out/run.json"),
    ),
    "profile": ("profile", *_EMULATED, "--quick", "-o", "out/profile.json"),
    "run": ("sim", "run", "cp", "-p", "ranges", "-o", "out/run.csv", "--timeline", "out/t.json"),
    "record": ("sim", "trace", "record", "cp", "-o", "out/cp.arrow"),
    "sweep": ("sim", "sweep", "cp", "-a", "seed=0,1", "-o", "out/s.parquet"),
    "reproduce": (
        *("reproduce", "partial-page-migration"),
        *("-o", "out/evaluation"),
    ),
}
SHORT = Effort(sizes=(4, 4096), budget_s=60, point_s=0, rounds=1, quick=True)
KINDS: tuple[Kind, ...] = ("open", "mkdir", "sync", "rename", "write")
# So many of a kind are refused in turn: tests/unit/files refuses all.
_MOST = 4


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    """Keep the user's folders, and the current one, on a disk of one's own."""
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr("isthmus.sim.paper.studies.PROGRAMS", ("cp",))
    monkeypatch.setattr("isthmus.decide.profile.plan.QUICK", SHORT)
    made = Disk(tmp_path)
    made.install(monkeypatch)
    made.begin()
    return made


def check_what_is_said(outcome: Outcome) -> None:
    if outcome.code == 0:
        # Only what would be kept of a measurement, which isn't its result.
        assert "\nwarning: this run " in f"\n{outcome.err}"
    else:
        assert outcome.code == 1, outcome.err
        assert "\nerror: " in f"\n{outcome.err}"
    assert os.strerror(errno.ENOSPC) in " ".join(outcome.err.split())
    assert "\nhint: make room on its disk, or choose another place" in outcome.err
    assert "unexpected" not in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in {"bench", "sweep"} else pytest.mark.long)
        for name in COMMANDS
    ],
)
def test_a_full_disk_is_told_of_and_the_same_command_works_when_there_is_room(
    disk: Disk, invoke: Invoke, name: str
) -> None:
    num_refused = 0
    for kind in KINDS:
        for nth in range(1, _MOST + 1):
            with disk.refusing(kind, nth, errno.ENOSPC, for_ever=True) as refusal:
                outcome = invoke(*COMMANDS[name])
            if not refusal.happened:
                assert outcome.code == 0, outcome.err
                break
            check_what_is_said(outcome)
            num_refused += 1
            left = [Path(path).name for path in contents_below(disk.root)]
            assert not [one for one in left if one.startswith(".")]
    assert num_refused >= len(KINDS) - 1
    assert invoke(*COMMANDS[name]).code == 0

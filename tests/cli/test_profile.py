import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from isthmus.decide.profile.measuring import Measuring
from isthmus.decide.profile.plan import Effort
from isthmus.decide.profile.store import load_profile
from program import Invoke

pytestmark = pytest.mark.native
EFFORT = Effort(sizes=(4, 4096, 65536), budget_s=60, point_s=0.0, rounds=0, quick=True)
ALL_SIZES = Measuring.measure_grid


@pytest.fixture(autouse=True)
def short_and_emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the machine's own driver out, and the measuring short."""
    monkeypatch.setenv("ISTHMUS_DRIVER", "emulated")
    monkeypatch.setattr("isthmus.decide.profile.plan.QUICK", EFFORT)


def one_size(measuring: Measuring, sizes: Sequence[int]) -> None:
    """Measure the shortest copies alone, as if the time were over then."""
    if sizes[0] == EFFORT.sizes[0]:
        ALL_SIZES(measuring, sizes)


@pytest.fixture
def folder(own_environment: Path) -> Path:
    return own_environment / "data" / "isthmus" / "profiles"


def test_a_profile_is_measured_stored_and_shown(invoke: Invoke, folder: Path) -> None:
    outcome = invoke("profile", "--quick")
    assert outcome.code == 0
    (path,) = folder.iterdir()
    assert f"stored: {path}" in outcome.err
    assert "H2D pageable  " in outcome.out
    assert "every number is modelled" in outcome.out
    shown = invoke("profile", "--show")
    assert (shown.code, shown.err) == (0, f"stored: {path}\n")
    assert shown.out == outcome.out
    assert load_profile(path).measurement.quick


def test_the_profile_is_written_to_a_file_too(invoke: Invoke, tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "mine.json"
    outcome = invoke("profile", "--quick", "-o", str(path))
    assert outcome.code == 0
    assert f"written: {path}" in outcome.err
    assert path.read_bytes() == next(folder.iterdir()).read_bytes()


def test_the_variable_decides_where_it_is_stored(
    invoke: Invoke, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sub" / "mine.json"
    monkeypatch.setenv("ISTHMUS_PROFILE", str(path))
    assert invoke("profile", "--quick").code == 0
    assert load_profile(path).machine.emulated
    assert not folder.exists()


def test_switched_off_it_is_printed_and_not_stored(
    invoke: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISTHMUS_PROFILE", "off")
    outcome = invoke("profile", "--quick")
    assert outcome.code == 0
    assert "note: not stored" in outcome.err
    assert not folder.exists()
    assert invoke("profile", "--show").code == 1


def test_without_one_there_is_nothing_to_show(invoke: Invoke) -> None:
    outcome = invoke("profile", "--show")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("error: profile unavailable: ")
    assert "isthmus profile" in outcome.err


def test_one_that_does_not_fit_is_shown_with_the_reason(invoke: Invoke, folder: Path) -> None:
    invoke("profile", "--quick")
    (path,) = folder.iterdir()
    document = json.loads(path.read_text())
    document["machine"]["cuda_version"] = 12080
    path.write_text(json.dumps(document))
    outcome = invoke("profile", "--show")
    assert outcome.code == 0
    assert "is not used: it is of CUDA driver 12.8, this is 13.0" in outcome.err


def test_a_broken_one_is_an_error(invoke: Invoke, folder: Path) -> None:
    invoke("profile", "--quick")
    (path,) = folder.iterdir()
    path.write_text("{")
    outcome = invoke("profile", "--show")
    assert outcome.code == 2
    assert "is not a profile" in outcome.err
    assert invoke("profile", "--quick").code == 0, "measuring again replaces it"


@pytest.mark.parametrize("option", ["--quick", "--output=x.json"])
def test_showing_neither_measures_nor_writes(invoke: Invoke, option: str) -> None:
    outcome = invoke("profile", "--show", option)
    assert outcome.code == 2
    assert outcome.err.startswith("error: --show prints the stored profile")


def test_a_file_that_can_not_be_written_is_found_before_measuring(
    invoke: Invoke, tmp_path: Path, folder: Path
) -> None:
    outcome = invoke("profile", "--quick", "-o", str(tmp_path / "absent" / "p.json"))
    assert outcome.code == 2
    assert not folder.exists()


def test_a_store_that_can_not_be_written_ends_in_exit_code_1_with_the_profile_printed(
    invoke: Invoke, folder: Path
) -> None:
    folder.parent.mkdir(parents=True)
    folder.write_text("in the way")
    outcome = invoke("profile", "--quick")
    assert outcome.code == 1
    assert outcome.err.count("error: can't write") == 1
    assert "H2D pageable" in outcome.out


def test_a_profile_whose_time_ran_out_is_refused_and_the_stored_one_stays(
    invoke: Invoke, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    invoke("profile", "--quick")
    (path,) = folder.iterdir()
    before = path.read_bytes()
    monkeypatch.setattr("isthmus.decide.profile.measuring.Measuring.measure_grid", one_size)
    monkeypatch.setattr("isthmus.decide.profile.measuring.Measuring.measure_rates", lambda _: None)
    outcome = invoke("profile", "--quick", "-o", str(tmp_path / "mine.json"))
    assert (outcome.code, outcome.out) == (1, "")
    assert "error: the profile is not stored: its copies ended at 4 B" in outcome.err
    assert "hint: run `isthmus profile` without --quick" in outcome.err
    assert path.read_bytes() == before
    assert not (tmp_path / "mine.json").exists()


def test_a_device_that_is_not_there_ends_in_exit_code_4(invoke: Invoke) -> None:
    assert invoke("profile", "--device", "7").code == 4


def test_the_doctor_says_how_old_the_profile_is(invoke: Invoke) -> None:
    def line() -> str:
        return next(one for one in invoke("doctor").out.splitlines() if "gpu 0 profile" in one)

    assert line().startswith("note ")
    assert "none: defaults for emulated link: no profile of this machine" in line()
    invoke("profile", "--quick")
    assert line().startswith("ok ")
    assert "measured just now: profile of " in line()

import runpy
from pathlib import Path

import pytest

from fakes.advice import machine_profile as made_up
from isthmus.decide.advice.machine import machine_names, machine_profile
from isthmus.decide.profile.store import profile_text, save_profile
from isthmus.errors import UsageError


def test_every_machine_that_is_shipped_can_be_read_and_is_real() -> None:
    assert machine_names() == ["h100-sxm-pcie5", "h200-sxm-pcie5"]
    for name in machine_names():
        profile = machine_profile(name)
        assert profile.memory
        assert not profile.machine.emulated


def test_shipped_machines_are_what_the_committed_results_give(pytestconfig: pytest.Config) -> None:
    script = runpy.run_path(str(pytestconfig.rootpath / "benchmarks" / "advice" / "shipped.py"))
    for name in machine_names():
        kept = (script["SHIPPED"] / f"{name}.json").read_text("utf-8")
        assert kept == profile_text(script["shipped"](name)), "run benchmarks/advice/shipped.py"


def test_a_profile_s_file_is_a_machine(tmp_path: Path) -> None:
    path = save_profile(made_up(), tmp_path / "mine.json")
    assert machine_profile(str(path)) == made_up()


def test_an_unknown_name_is_answered_with_the_nearest_ones() -> None:
    with pytest.raises(UsageError, match="there is no machine 'h100-sxm'") as caught:
        machine_profile("h100-sxm")
    assert "did you mean h100-sxm-pcie5 or h200-sxm-pcie5?" in str(caught.value.hint)


def test_a_file_that_is_missing_or_no_profile_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "none.json"
    with pytest.raises(UsageError, match=r"can't read the profile .*none\.json"):
        machine_profile(str(missing))
    missing.write_text("{}")
    with pytest.raises(UsageError, match="is not a profile"):
        machine_profile(str(missing))

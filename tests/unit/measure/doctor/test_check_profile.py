from pathlib import Path
from types import SimpleNamespace

from fakes.profiles import identity, profile
from isthmus.decide.profile.store import save_profile
from isthmus.errors import UsageError
from isthmus.measure.doctor.check import Status
from isthmus.measure.doctor.check_software import check_profile
from isthmus.measure.doctor.facts import ProfileFacts
from isthmus.measure.doctor.read_driver import OpenDriver, open_driver
from isthmus.measure.doctor.read_software import read_profile
from isthmus.measure.doctor.sources import Sources


def opened(sources: Sources) -> OpenDriver:
    driver = open_driver(sources, "")
    assert isinstance(driver, OpenDriver)
    return driver


def test_a_measured_profile_is_fine_and_its_age_is_told() -> None:
    facts = ProfileFacts(
        ordinal=1, measured=True, source="profile of 2026-11-20 (/x.json)", age="3 days ago"
    )
    check = check_profile(facts)
    assert (check.name, check.status, check.advice) == ("gpu 1 profile", Status.OK, None)
    assert check.finding == "measured 3 days ago: profile of 2026-11-20 (/x.json)"


def test_defaults_are_a_note_with_the_reason_and_the_remedy() -> None:
    check = check_profile(ProfileFacts(ordinal=0, source="defaults for PCIe Gen5 x16: no profile"))
    assert check.status == Status.NOTE
    assert check.finding == "none: defaults for PCIe Gen5 x16: no profile"
    assert "isthmus profile" in (check.advice or "")


def test_the_age_is_the_stored_file_s(
    sources: Sources, native: SimpleNamespace, tmp_path: Path
) -> None:
    path = save_profile(profile(), tmp_path / "p.json")
    native.profile_identity = lambda _driver, _ordinal: identity(file=str(path))
    native.profile_in_use = lambda _driver, _ordinal: SimpleNamespace(measured=True, source="it")
    facts = read_profile(sources, opened(sources), 0)
    assert (facts.measured, facts.source, facts.file) == (True, "it", str(path))
    assert (facts.age or "").endswith("ago")


def test_a_device_that_fails_is_no_profile(sources: Sources, native: SimpleNamespace) -> None:
    def refuse(_driver: object, _ordinal: int) -> None:
        raise UsageError("no device 0")

    native.profile_identity = refuse
    facts = read_profile(sources, opened(sources), 0)
    assert (facts.measured, facts.source, facts.age) == (False, "no device 0", None)

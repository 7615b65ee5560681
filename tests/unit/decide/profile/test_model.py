import json
from datetime import timedelta
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from fakes.profiles import MEASURED_AT, MIB, cost, machine, profile
from isthmus.decide.profile import model
from isthmus.decide.profile.costs import reigns, seconds_at
from isthmus.decide.profile.schema import main, schema_text
from isthmus.decide.profile.store import age_text, load_profile, profile_text, save_profile
from isthmus.errors import Unavailable, UsageError, WriteError
from isthmus.show.answers.profile import profile_as_text


def test_a_profile_survives_being_stored(tmp_path: Path) -> None:
    path = save_profile(profile(), tmp_path / "new" / "folder" / "p.json")
    assert load_profile(path) == profile()
    assert [one.name for one in path.parent.iterdir()] == ["p.json"]


def test_a_profile_that_can_not_be_written_says_where(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="file"):
        save_profile(profile(), tmp_path / "file" / "p.json")


def test_a_missing_profile_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="No such file") as error:
        load_profile(tmp_path / "p.json")
    assert error.value.needs == "`isthmus profile`"


@pytest.mark.parametrize("text", ["", "{}", "[]", "\x00", '{"schema_version": 1}'])
def test_what_is_no_profile_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="is not a profile"):
        load_profile(path)


def test_senseless_costs_are_refused() -> None:
    for points in ({}, {4: 0.0}, {4: -1.0}, {0: 1.0}, {8: 1e-6, 4: 1e-6}, {4: float("nan")}):
        with pytest.raises(ValidationError):
            cost(model.Path.DRIVER, points)


def test_age_is_told_in_the_largest_unit_that_fits() -> None:
    cases = [
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(hours=5), "5 hours ago"),
        (timedelta(days=1, hours=23), "1 day ago"),
        (timedelta(days=400), "400 days ago"),
        (timedelta(days=-3), "just now"),
    ]
    for passed, text in cases:
        assert age_text(profile(), MEASURED_AT + passed) == text


def test_profile_files_satisfy_the_published_schema() -> None:
    document = json.loads(profile_text(profile()))
    validator = jsonschema.Draft202012Validator(json.loads(schema_text()))
    validator.validate(document)
    assert next(iter(document)) == "schema_version"
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(document | {"schema_version": 1})


def test_the_committed_schema_is_the_model_s(pytestconfig: pytest.Config) -> None:
    committed = pytestconfig.rootpath / "docs" / "schema" / "profile-v2.json"
    assert committed.read_text("utf-8") == schema_text(), "run `make golden`"
    assert main(["--check", str(committed)]) == 0


def test_a_machine_without_driver_release_or_cpu_name_has_nulls() -> None:
    found = json.loads(machine(driver_release=None, cpu_model=None).model_dump_json())
    assert (found["driver_release"], found["cpu_model"]) == (None, None)


def test_costs_lie_on_lines_and_go_on_beyond_them() -> None:
    points = cost(model.Path.DRIVER, {100: 1e-6, 200: 3e-6}).points
    assert seconds_at(points, 1) == 1e-6
    assert seconds_at(points, 150) == pytest.approx(2e-6)
    assert seconds_at(points, 200) == pytest.approx(3e-6)
    assert seconds_at(points, 300) == pytest.approx(5e-6)


@given(st.lists(st.integers(1, 1 << 40), min_size=1, max_size=8, unique=True), st.data())
def test_no_prediction_is_below_the_cheapest_point(sizes: list[int], data: st.DataObject) -> None:
    curve = cost(
        model.Path.DRIVER,
        {size: data.draw(st.floats(1e-9, 1.0)) for size in sorted(sizes)},
    )
    size = data.draw(st.integers(1, 1 << 41))
    least = min(point.seconds for point in curve.points)
    assert seconds_at(curve.points, size) >= least * (1 - 1e-9)


def test_crossovers_lie_where_the_lines_cross() -> None:
    window, staged = reigns(profile(), "h2d", "pageable")
    assert (window.path, staged.path) == ("window", "staged")
    # 0.2 us + n * 77.5 ps = 60 us + (n - 64 KiB) * 20 ps, up to a step of 2 % less.
    assert 0.98e6 <= window.last_bytes <= 1.02e6
    assert staged.last_bytes == 64 * MIB
    assert staged.seconds == pytest.approx(1.4e-3)
    assert reigns(profile(), "d2h", "pinned") == []


def test_a_difference_within_the_noise_is_the_driver_s() -> None:
    noisy = [
        cost(model.Path.WINDOW, {4: 1.00e-6, 64: 1.05e-6, 256: 1.00e-6}),
        cost(model.Path.DRIVER, {4: 1.02e-6, 64: 1.00e-6, 256: 1.02e-6}),
    ]
    assert [one.path for one in reigns(profile(costs=noisy), "h2d", "pageable")] == ["driver"]


def test_a_way_that_is_taken_by_its_name_only_does_not_reign() -> None:
    both = [
        cost(model.Path.DRIVER, {MIB: 1e-3}),
        cost(model.Path.REGISTERED, {MIB: 1e-4}),
    ]
    assert [one.path for one in reigns(profile(costs=both), "h2d", "pageable")] == ["driver"]


def test_a_profile_of_the_schema_before_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    document = json.loads(profile_text(profile()))
    del document["staging_threads"]
    path.write_text(json.dumps(document | {"schema_version": 1}))
    with pytest.raises(UsageError, match="schema_version") as error:
        load_profile(path)
    assert error.value.hint == "run `isthmus profile` again"


def test_the_page_says_what_why_and_how_old() -> None:
    assert profile_as_text(profile(), "3 days ago").splitlines() == [
        "profile  2026-11-20 10:11 UTC (3 days ago), in 8.2 s",
        "device   NVIDIA H100 (GPU-00112233-4455-6677-8899-aabbccddeeff), PCIe Gen5 x16",
        "driver   580.159.04, CUDA 13.0",
        "host     Some CPU, 16 cores",
        "",
        "copy          cheapest path, and up to which size",
        "H2D pageable  window to 983 KiB, staged above (47.93 GB/s at 64 MiB)",
        "",
        "opening a window: 45 us",
        "threads that stage: H2D 10, D2H 6",
        "not measured: registered H2D pageable: RLIMIT_MEMLOCK is 64 KiB",
    ]


def test_the_page_of_an_emulated_profile_says_so() -> None:
    text = profile_as_text(
        profile(machine=machine(emulated=True), window_opening_seconds=None), "just now"
    )
    assert "every number is modelled" in text
    assert "opening a window: not measured" in text

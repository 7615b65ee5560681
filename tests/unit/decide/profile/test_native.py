"""The profile as the native core reads it: the same file, the same predictions."""

import gc
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.profiles import identity, profile
from isthmus import _native
from isthmus.decide.profile.costs import seconds_at
from isthmus.decide.profile.measuring import measure_profile
from isthmus.decide.profile.model import Path as ModelPath
from isthmus.decide.profile.model import Profile, StagingThreads, machine_of
from isthmus.decide.profile.plan import MARGINS, Effort
from isthmus.decide.profile.session import Session
from isthmus.decide.profile.store import profile_text, save_profile, stored_profile
from isthmus.errors import UsageError
from program import EMULATED, run_code

pytestmark = pytest.mark.native
EFFORT = Effort(sizes=(4, 4096, 65536, 262144), budget_s=5, point_s=0, rounds=1, quick=True)


@pytest.fixture(scope="module")
def driver() -> _native.Driver:
    return _native.Driver.open("emulated")


@pytest.fixture(scope="module")
def measured(driver: _native.Driver) -> Profile:
    """A profile of the emulated device, of few sizes."""
    found = _native.profile_identity(driver, 0)
    return measure_profile(found, lambda most: Session(driver, 0, most), EFFORT)


def test_what_is_measured_here_is_used_here(driver: _native.Driver, measured: Profile) -> None:
    found = _native.profile_identity(driver, 0)
    assert not _native.profile_in_use(driver, 0).measured
    save_profile(measured, Path(found.file))
    in_use = _native.profile_in_use(driver, 0)
    assert in_use.measured
    assert in_use.source.startswith(f"profile of {measured.measurement.finished_at:%Y-%m-%d}")
    assert stored_profile(found) == measured


def test_both_languages_predict_the_same(driver: _native.Driver, measured: Profile) -> None:
    found = _native.profile_identity(driver, 0)
    native = _native.parse_profile(profile_text(measured), found)
    assert len(measured.costs) >= 10
    for cost in measured.costs:
        for size in (1, 4, 5000, 65536, 262144, 1 << 30):
            predicted = native.seconds(
                path=cost.path,
                direction=cost.direction,
                host_memory=cost.host_memory,
                size_bytes=size,
            )
            assert predicted == pytest.approx(seconds_at(cost.points, size), rel=1e-12)


def test_staged_copies_are_planned_with_the_measured_threads(
    driver: _native.Driver, measured: Profile
) -> None:
    found = _native.profile_identity(driver, 0)
    threads = StagingThreads(h2d=7, d2h=None)
    text = profile_text(measured.model_copy(update={"staging_threads": threads}))
    unmeasured = 4  # of a default profile, for this link
    assert _native.parse_profile(text, found).ring_threads == (7, unmeasured)


def test_a_file_of_the_schema_before_is_refused_with_what_to_do(
    driver: _native.Driver, measured: Profile
) -> None:
    found = _native.profile_identity(driver, 0)
    old = profile_text(measured).replace('"schema_version": 2', '"schema_version": 1')
    with pytest.raises(UsageError, match="reads 2: run `isthmus profile` again"):
        _native.parse_profile(old, found)


def test_every_way_of_the_emulated_device_is_measured_or_explained(measured: Profile) -> None:
    told = {(one.path, one.direction, one.host_memory) for one in measured.costs} | {
        (one.path, one.direction, one.host_memory) for one in measured.not_measured
    }
    assert len(told) == 16
    assert {one.path for one in measured.costs} >= {"driver", "window"}
    assert all(one.reason for one in measured.not_measured)
    assert measured.machine.emulated


def test_the_identity_is_the_machine_s(driver: _native.Driver) -> None:
    found = _native.profile_identity(driver, 0)
    facts = driver.device(0)
    assert (found.gpu_uuid, found.gpu_name) == (facts.uuid, facts.name)
    assert (found.emulated, found.link, found.cuda_version) == (True, "emulated link", 13000)
    assert found.num_cores > 0
    assert machine_of(found).driver_release is None


@pytest.fixture
def another_device() -> Iterator[_native.Driver]:
    """Make the process's emulated machine another one, for the time of a test."""
    # It changes only while no context is alive, also none that is garbage already.
    gc.collect()
    yield _native.Driver.open("emulated:h100-pcie5")
    _native.Driver.open("emulated")


def test_another_emulated_device_does_not_use_it(
    measured: Profile, another_device: _native.Driver
) -> None:
    found = _native.profile_identity(another_device, 0)
    assert found.gpu_name != measured.machine.gpu_name
    with pytest.raises(UsageError, match="it is of GPU"):
        _native.parse_profile(profile_text(measured), found)


def test_a_profile_of_a_real_device_is_not_taken_for_an_emulated_one(
    driver: _native.Driver,
) -> None:
    found = _native.profile_identity(driver, 0)
    with pytest.raises(UsageError, match="of a real device, this one is emulated"):
        _native.parse_profile(profile_text(profile()), found)


def test_a_broken_file_is_named_in_what_is_used_instead(driver: _native.Driver) -> None:
    found = _native.profile_identity(driver, 0)
    path = Path(found.file)
    path.parent.mkdir(parents=True)
    path.write_text("{")
    in_use = _native.profile_in_use(driver, 0)
    assert not in_use.measured
    assert f"{path} is not used: not a profile" in in_use.source


_COPY = """
import isthmus
from isthmus import _native
driver = _native.Driver.open("emulated")
memory = _native.DeviceMemory(_native.Context(driver, 0), 100)
target = isthmus.DevicePointer(memory.pointer, 4)
isthmus.copy(target, b"abcd")
print(isthmus.explain(target, b"abcd").profile)
"""


def test_a_file_nested_without_end_costs_the_profile_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "nested.json"
    levels = 1_000_000
    path.write_text('{"schema_version": ' + "[" * levels + "0" + "]" * levels + "}")
    outcome = run_code(_COPY, EMULATED | {"ISTHMUS_PROFILE": str(path)})
    assert (outcome.code, outcome.err) == (0, "")
    assert f"{path} is not used: not a profile: it is nested more than" in outcome.out


def test_a_file_whose_name_or_contents_are_no_text_is_told_of_all_the_same(
    driver: _native.Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / os.fsdecode(b"mine\xff.json")
    monkeypatch.setenv("ISTHMUS_PROFILE", str(path))
    for contents in (b'{"schema_version": "\xff"}', b'{"schema_version": "\\u001b[31m"}', b"\xff"):
        path.write_bytes(contents)
        assert Path(_native.profile_identity(driver, 0).file) == path
        source = _native.profile_in_use(driver, 0).source
        assert "/mine\N{REPLACEMENT CHARACTER}.json is not used: not a profile: " in source
        assert source.isprintable()


def test_what_a_variable_says_is_told_even_if_it_is_no_text() -> None:
    code = "from isthmus import _native\n_native.Driver.open()"
    outcome = run_code(code, {"ISTHMUS_DRIVER": os.fsdecode(b"emulated:\xff")})
    assert "isthmus.errors.UsageError" in outcome.err
    assert "UnicodeDecodeError" not in outcome.err


def test_profiles_can_be_off(driver: _native.Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISTHMUS_PROFILE", "off")
    assert _native.profile_identity(driver, 0).file == ""
    assert "off, by ISTHMUS_PROFILE" in _native.profile_in_use(driver, 0).source


def test_a_way_without_a_name_is_refused(driver: _native.Driver) -> None:
    context = _native.Context(driver, 0)
    bench = _native.PathBench(context)
    buffers = _native.CopyBuffers(context, host_memory="pageable", size_bytes=4096)
    with pytest.raises(UsageError, match="unknown way to copy 'teleport': use window"):
        bench.measure(
            buffers,
            paths=["driver", "teleport"],
            direction="h2d",
            size_bytes=4,
            turns=_native.Turns(),
        )


def test_both_languages_compare_paths_alike() -> None:
    for path, margin in MARGINS.items():
        assert _native.margin_of(path.value) == margin
    assert MARGINS.keys() == set(ModelPath) - {ModelPath.REGISTERED}


def test_the_fakes_file_is_read_as_it_is_meant() -> None:
    document = json.loads(profile_text(profile()))
    assert document["machine"]["link"] == identity().link

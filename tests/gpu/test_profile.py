"""A profile of a real GPU: measured in its time, used, and true to the defaults' order."""

from pathlib import Path

import pytest

from isthmus import _native
from isthmus.decide.profile.model import Profile
from isthmus.decide.profile.store import load_profile
from program import PROGRAM, run_process

pytestmark = pytest.mark.gpu
_MAX_SECONDS = {"--quick": 2.0, "": 10.0}
_MIB = 1 << 20


@pytest.fixture(scope="module", params=["--quick", ""])
def profile(
    driver: _native.Driver, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Profile:
    assert not driver.emulated
    path: Path = tmp_path_factory.mktemp("profile") / "profile.json"
    options = [request.param] if request.param else []
    done = run_process([*PROGRAM, "profile", "--device", "0", "-o", str(path), *options])
    assert done.code == 0, done.err
    found = load_profile(path)
    assert found.measurement.seconds < _MAX_SECONDS[request.param]
    return found


def test_it_is_of_this_gpu_and_may_be_used(driver: _native.Driver, profile: Profile) -> None:
    identity = _native.profile_identity(driver, 0)
    assert not profile.machine.emulated
    assert profile.machine.gpu_uuid == identity.gpu_uuid
    assert _native.parse_profile(profile.model_dump_json(), identity).measured


def test_every_way_was_measured_or_says_why_not(profile: Profile) -> None:
    told = {(c.path, c.direction, c.host_memory) for c in profile.costs}
    told |= {(n.path, n.direction, n.host_memory) for n in profile.not_measured}
    assert len(told) == 16


def test_long_copies_are_measured_and_the_fastest_pageable_way_is_not_the_driver_s(
    driver: _native.Driver, profile: Profile
) -> None:
    identity = _native.profile_identity(driver, 0)
    costs = _native.parse_profile(profile.model_dump_json(), identity)

    def seconds(path: str) -> float:
        found = costs.seconds(
            path=path, direction="h2d", host_memory="pageable", size_bytes=64 * _MIB
        )
        assert found is not None
        return found

    assert max(p.bytes for c in profile.costs for p in c.points) >= 16 * _MIB  # --quick: no more
    # With fewer cores staging need not pay.
    if identity.num_cores >= 8:
        assert seconds("staged") < seconds("driver")


def test_the_threads_that_stage_were_counted(driver: _native.Driver, profile: Profile) -> None:
    num_cores = _native.profile_identity(driver, 0).num_cores
    if num_cores < 2:
        pytest.skip("one core: nothing is staged")
    for count in (profile.staging_threads.h2d, profile.staging_threads.d2h):
        assert count is not None
        assert 1 <= count <= num_cores

"""Every call of a public operation's native code, of the system or the driver, fails once."""

import re
import sys
from pathlib import Path

import pytest

from program import EMULATED, PROGRAM, run_process

pytestmark = pytest.mark.native

_TESTS = Path(__file__).parents[2]
_FAULTS = _TESTS.parent / "build/release/bin/libisthmus_system_faults.so"
_OPERATIONS = [
    "copy",
    "small_copy",
    "copy_async",
    "part_of_an_array",
    "registered",
    "window",
    "explain",
]
# They make many calls, or take long for each.
_LONG = [
    *("many_copies", "paged", "budgeted", "paged_file", "row_cache", "pinned", "saving"),
    *(
        "new_transfers",
        "blocks",
        "items_with_gaps",
        "dropped_copy",
        "watched_copy",
        "safetensors",
        "trim",
    ),
]


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("profile")
    path = folder / "profile.json"
    # The user's folders are kept out of tests only, and this is made before them.
    environment = EMULATED | {"XDG_DATA_HOME": str(folder)}
    # A quick one has 2 s, which a busy machine may need for the program's start.
    measured = run_process([*PROGRAM, "profile", "-o", str(path)], environment)
    assert measured.code == 0, measured.err
    return path


@pytest.mark.skipif(not _FAULTS.exists(), reason="what refuses calls is built by `make test-cpp`")
@pytest.mark.parametrize(
    "operation", [*_OPERATIONS, *(pytest.param(name, marks=pytest.mark.long) for name in _LONG)]
)
def test_every_failing_call_ends_as_documented_and_leaves_nothing_behind(
    operation: str, profile: Path, tmp_path: Path
) -> None:
    outcome = run_process(
        [sys.executable, str(_TESTS / "fakes" / "fault_sweep.py"), operation, str(tmp_path)],
        EMULATED
        | {"ISTHMUS_PROFILE": str(profile), "LD_PRELOAD": str(_FAULTS), "PYTHONPATH": str(_TESTS)},
        max_seconds=900,
    )
    assert outcome.code == 0, outcome.err
    said = re.fullmatch(r"(\d+) calls failed\n", outcome.out)
    assert said is not None, outcome.out
    assert int(said[1]) > 10

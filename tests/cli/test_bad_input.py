"""What can't be done is refused before anything runs: one `error:` line, a hint, the right code."""

from collections.abc import Callable
from pathlib import Path

import pytest

from program import Invoke, Outcome


def refused(outcome: Outcome, code: int, error: str, hint: str) -> None:
    assert outcome.code == code, outcome.err
    assert outcome.out == ""
    lines = outcome.err.splitlines()
    assert [line.split(":")[0] for line in lines if not line.startswith("measuring")] == [
        "error",
        "hint",
    ]
    assert error in lines[-2]
    assert hint in lines[-1]


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        ("--sizes 12Q", "size '12Q': unknown unit 'Q'", "did you mean 12G?"),
        ("--sizes -4", "size '-4' is negative", "did you mean 4?"),
        ("--sizes 0", "size '0': no bytes", "smallest size is 1"),
        ("--sizes 1G..4", "runs backwards", "did you mean 4..1G?"),
        ("-t host_to_device_memcpy", "'host_to_device_memcpy'", "host_to_device_memcpy_ce"),
        ("-p host_to_devise", "'host_to_devise'", "host_to_device"),
        ("--budget 0", "--budget 0", "--budget 60"),
        ("--budget -1", "--budget -1", "--budget 60"),
        ("--budget nan", "--budget nan", "--budget 60"),
        ("--budget soon", "'--budget'", "isthmus bench --help"),
        ("--format xml", "'xml' is not one of 'text', 'json', 'csv'", "isthmus bench --help"),
        ("--nope", "no such option: --nope", "isthmus bench --help"),
        ("--output /no/such/folder/run.json", "/no/such/folder", "mkdir -p"),
        ("--output /", "--output / is a folder", "name a file"),
        ("--device gpu0", "'gpu0' is not a device", "emulated:PROFILE"),
        ("extra", "no suite is named 'extra'", "the suites: bandwidth"),
        ("latncy", "no suite is named 'latncy'", "did you mean latency?"),
    ],
)
def test_bad_usage_exits_with_2_and_names_the_offender_and_the_nearest_choice(
    invoke: Invoke,
    saved_runs: Callable[[], list[Path]],
    arguments: str,
    error: str,
    hint: str,
) -> None:
    refused(invoke("bench", *arguments.split()), 2, error, hint)
    assert saved_runs() == []


def test_an_unknown_command_is_answered_with_the_nearest(invoke: Invoke) -> None:
    refused(invoke("bnch"), 2, "Did you mean 'bench'?", "isthmus --help")


def test_an_unknown_profile_is_answered_with_the_known_ones(invoke: Invoke) -> None:
    outcome = invoke("bench", "--device", "emulated:nope")
    assert outcome.code == 2
    assert "nope" in outcome.err
    assert "small" in outcome.err


def test_a_size_larger_than_memory_is_refused_before_anything_runs(
    invoke: Invoke, saved_runs: Callable[[], list[Path]]
) -> None:
    outcome = invoke("bench", "--device", "emulated", "--sizes", "4,4T")
    refused(outcome, 2, "size 4 TiB is larger than the free", "the largest size that fits is")
    assert saved_runs() == []


@pytest.mark.parametrize("device", ["0", "GPU-00000000", "0000:01:00.0"])
def test_a_gpu_that_is_not_there_exits_with_4(spawn: Invoke, device: str) -> None:
    refused(spawn("bench", "--device", device), 4, "no ", "--device emulated")


def test_a_device_beyond_the_last_is_answered_with_those_there_are(spawn: Invoke) -> None:
    outcome = spawn("bench", "--device", "7", ISTHMUS_DRIVER="emulated")
    refused(outcome, 4, "no device '7'", "there is 0 = ")


def test_a_driver_from_the_environment_that_is_not_there_exits_with_4(spawn: Invoke) -> None:
    outcome = spawn("bench", ISTHMUS_DRIVER="/no/such/libcuda.so.1")
    refused(outcome, 4, "ISTHMUS_DRIVER=/no/such/libcuda.so.1", "--device emulated")


@pytest.mark.parametrize("profile", ["no-gpu", "old-driver"])
def test_an_emulated_machine_without_a_usable_gpu_exits_with_4_however_it_is_asked_for(
    spawn: Invoke, profile: str
) -> None:
    refused(spawn("bench", "--device", f"emulated:{profile}"), 4, "no ", "--device emulated")
    refused(spawn("bench", ISTHMUS_DRIVER=f"emulated:{profile}"), 4, "no ", "--device emulated")


def test_numbers_of_thousands_of_digits_are_refused_in_one_short_line(invoke: Invoke) -> None:
    refused(invoke("bench", "--sizes", "9" * 5000), 2, "(5000 characters)", "8388607T")
    refused(invoke("bench", "--device", "9" * 5000), 2, "(5000 characters)", "write it like")


@pytest.mark.parametrize("place", [("--debug", "bench"), ("bench", "--debug")])
def test_debug_shows_where_an_error_came_from(invoke: Invoke, place: tuple[str, ...]) -> None:
    outcome = invoke(*place, "--sizes", "12Q")
    assert outcome.code == 2
    assert "Traceback" in outcome.err
    assert "parse_size" in outcome.err
    assert "Traceback" not in invoke("bench", "--sizes", "12Q").err

"""What can't be done is refused before anything runs: one `error:` line, a hint, the right code."""

import json
import os
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


@pytest.mark.parametrize(
    "device",
    ["0", *(pytest.param(x, marks=pytest.mark.long) for x in ("GPU-00000000", "0000:01:00.0"))],
)
def test_a_gpu_that_is_not_there_exits_with_4(spawn: Invoke, device: str) -> None:
    refused(spawn("bench", "--device", device), 4, "no ", "--device emulated")


def test_a_device_beyond_the_last_is_answered_with_those_there_are(spawn: Invoke) -> None:
    outcome = spawn("bench", "--device", "7", ISTHMUS_DRIVER="emulated")
    refused(outcome, 4, "no device '7'", "there is 0 = ")


def test_a_driver_from_the_environment_that_is_not_there_exits_with_4(spawn: Invoke) -> None:
    outcome = spawn("bench", ISTHMUS_DRIVER="/no/such/libcuda.so.1")
    refused(outcome, 4, "ISTHMUS_DRIVER=/no/such/libcuda.so.1", "--device emulated")


@pytest.mark.parametrize("profile", ["no-gpu", pytest.param("old-driver", marks=pytest.mark.long)])
def test_an_emulated_machine_without_a_usable_gpu_exits_with_4_however_it_is_asked_for(
    spawn: Invoke, profile: str
) -> None:
    refused(spawn("bench", "--device", f"emulated:{profile}"), 4, "no ", "--device emulated")
    refused(spawn("bench", ISTHMUS_DRIVER=f"emulated:{profile}"), 4, "no ", "--device emulated")


def test_numbers_of_thousands_of_digits_are_refused_in_one_short_line(invoke: Invoke) -> None:
    refused(invoke("bench", "--sizes", "9" * 5000), 2, "(5000 characters)", "8388607T")
    refused(invoke("bench", "--device", "9" * 5000), 2, "(5000 characters)", "write it like")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def contents(*lines: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(b"\n".join(lines))


HOSTILE: dict[str, Callable[[Path], object]] = {
    "nothing": contents(),
    "zeros": contents(bytes(5000)),
    "every byte": contents(bytes(range(256)) * 20),
    "brackets without end": contents(b"[" * 100_000),
    "braces without end": contents(b'{"a":' * 100_000),
    "a number of thousands of digits": contents(b'{"schema_version":' + b"9" * 5000 + b"}"),
    "a number without end": contents(b"a = " + b"9" * 5000),
    "half a character": contents(b'{"schema_version": 1, "results": "\\ud800"}'),
    "colours and lines": contents(b'{"schema_version": 1, "results": 1, "\\u001b[31m\\n": 1}'),
    "a key of colours and lines": contents(b'"\\u001b[31m\\n" = 1'),
    "kernels elsewhere": contents(b"kernel/../../x.traceg"),
    "a kernel of no name": contents(b"kernel-\0.traceg"),
    "a pipe": pipe,
    "no end": endless,
    "a folder": Path.mkdir,
    "no file": lambda _: None,
}
READERS = {
    "compare": ("run.json", ("compare", "FILE", "FILE")),
    "bench --compare": ("run.json", ("bench", "--compare", "FILE")),
    "machine": ("machine.toml", ("sim", "run", "bfs", "-m", "FILE")),
    "sweep's machine": (
        "machine.toml",
        ("sim", "sweep", "bfs", "-m", "FILE", "-a", "policy.unit=1KiB", "-o", "OUTPUT"),
    ),
    "profile": ("profile.json", ("advise", "--machine", "FILE")),
    "stored profile": ("profile.json", ("profile", "--show")),
    "trace": ("trace.arrow", ("sim", "run", "FILE")),
    "trace info": ("trace.arrow", ("sim", "trace", "info", "FILE")),
    "kernels list": ("kernelslist.g", ("sim", "trace", "import", "FILE", "-o", "OUTPUT")),
    "sweep": ("s.parquet", ("sim", "sweep", "bfs", "-a", "policy.unit=1KiB", "-o", "FILE")),
    "sweep's journal": (
        "s.parquet.journal",
        ("sim", "sweep", "bfs", "-a", "policy.unit=1KiB", "-o", "OUTPUT"),
    ),
}
# A sweep begins there.
BEGINS = {"sweep": {"no file"}, "sweep's journal": {"no file", "nothing"}}


@pytest.mark.native
@pytest.mark.parametrize(
    ("reader", "what"),
    [
        (reader, what)
        for reader in READERS
        for what in HOSTILE
        if what not in BEGINS.get(reader, ())
    ],
)
def test_whatever_lies_in_the_place_of_a_file_is_refused_in_one_line(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str, what: str
) -> None:
    name, arguments = READERS[reader]
    HOSTILE[what](tmp_path / name)
    monkeypatch.setenv("ISTHMUS_DRIVER", "emulated")
    monkeypatch.setenv("ISTHMUS_PROFILE", str(tmp_path / "profile.json"))
    named = {"FILE": str(tmp_path / name), "OUTPUT": str(tmp_path / "s.parquet")}
    outcome = invoke(*(named.get(argument, argument) for argument in arguments))
    assert outcome.code in {1, 2}, outcome.err
    assert outcome.out == ""
    lines = outcome.err.splitlines()
    assert [line for line in lines if line.startswith("error: ")] == lines[:1]
    assert all(line.startswith(("cause: ", "hint: ")) for line in lines[1:])
    assert not lines[0].startswith("error: unexpected")
    assert all(line.isprintable() for line in lines)


@pytest.mark.native
@pytest.mark.parametrize("number", ["9" * 30, "18446744073709551616", "-1", "1.5"])
def test_a_seed_that_can_not_be_is_refused(invoke: Invoke, tmp_path: Path, number: str) -> None:
    for arguments in (
        ("run", "bfs", "--seed", number),
        ("sweep", "bfs", "-a", f"seed={number}", "-o", str(tmp_path / "s.parquet")),
    ):
        outcome = invoke("sim", *arguments)
        assert outcome.code == 2
        assert outcome.err.startswith("error: ")
        assert "unexpected" not in outcome.err


@pytest.mark.long
@pytest.mark.native
def test_a_run_is_kept_whatever_bytes_the_name_of_its_file_has(
    spawn: Invoke, saved_runs: Callable[[], list[Path]], tmp_path: Path
) -> None:
    """Its command line couldn't be written as JSON, and the measurement was lost."""
    name = tmp_path / os.fsdecode(b"caf\xe9.json")
    outcome = spawn(
        *("bench", "--device", "emulated", "--quick", "-t", "host_to_device_memcpy_ce"),
        *("-o", str(name)),
    )
    assert outcome.code == 0, outcome.err
    (kept,) = saved_runs()
    assert kept.read_bytes() == name.read_bytes()
    assert json.loads(kept.read_text("utf-8"))["run"]["command"][-1].endswith(r"caf\udce9.json")
    assert spawn("compare", "last", str(name)).code == 0


@pytest.mark.long
@pytest.mark.native
def test_the_environment_may_have_any_bytes(spawn: Invoke, tmp_path: Path) -> None:
    strange = str(tmp_path / os.fsdecode(b"caf\xe9"))
    for name in ("ISTHMUS_PROFILE", "XDG_DATA_HOME", "XDG_CACHE_HOME", "HOME"):
        others = {"XDG_DATA_HOME": ""} if name == "HOME" else {}
        settings = {"ISTHMUS_DRIVER": "emulated", **others, name: strange}
        for arguments in (("doctor",), ("doctor", "--format", "json")):
            outcome = spawn(*arguments, **settings)
            assert (outcome.code, outcome.err) == (0, ""), name
    for driver in (f"emulated:{strange}", strange):
        outcome = spawn("bench", ISTHMUS_DRIVER=driver)
        assert outcome.code in {2, 4}
        assert "unexpected" not in outcome.err


@pytest.mark.parametrize("place", [("--debug", "bench"), ("bench", "--debug")])
def test_debug_shows_where_an_error_came_from(invoke: Invoke, place: tuple[str, ...]) -> None:
    outcome = invoke(*place, "--sizes", "12Q")
    assert outcome.code == 2
    assert "Traceback" in outcome.err
    assert "parse_size" in outcome.err
    assert "Traceback" not in invoke("bench", "--sizes", "12Q").err


def test_debug_behind_two_dashes_is_a_word_like_any_other(invoke: Invoke) -> None:
    outcome = invoke("bench", "--", "--debug")
    assert outcome.code == 2
    assert "--debug" in outcome.err
    assert "Traceback" not in outcome.err

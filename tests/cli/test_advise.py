import json
from pathlib import Path

import jsonschema
import pytest

from fakes.advice import machine_profile
from fakes.profiles import machine
from isthmus.decide.advice.machine import machine_names
from isthmus.decide.profile.plan import Effort
from isthmus.decide.profile.store import save_profile
from program import Golden, Invoke

pytestmark = pytest.mark.native
_SIZES = ("--up", "100MiB", "--down", "1MiB")
_TIMES = ("--cpu-seconds", "0.02", "--gpu-seconds", "0.001")


@pytest.fixture
def mine(tmp_path: Path) -> str:
    """A profile's file."""
    return str(save_profile(machine_profile(), tmp_path / "mine.json"))


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("classic", []),
        ("size", ["8MiB"]),
        ("range", ["64KiB..1GiB", "--direction", "reduce", "--uses", "4"]),
        (
            "offload",
            ["offload", *_SIZES, *_TIMES, "--times", "10"],
        ),
    ],
)
def test_answers_fit_the_terminal(
    invoke: Invoke,
    golden: Golden,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    words: list[str],
    width: int,
) -> None:
    monkeypatch.setattr("isthmus.cli.advise.columns_of", lambda _: width)
    outcome = invoke("advise", *words, "--machine", "h100-sxm-pcie5")
    assert (outcome.code, outcome.err) == (0, "")
    assert max(map(len, outcome.out.splitlines())) <= width
    golden(f"advise_{name}_{width}.text", outcome.out)


def test_the_default_command_is_named_copy(invoke: Invoke) -> None:
    words = ("8MiB", "--machine", "h100-sxm-pcie5")
    assert invoke("advise", "copy", *words).out == invoke("advise", *words).out


def test_directions_have_short_names_too(invoke: Invoke, mine: str) -> None:
    for short, long in (("h2d", "to-device"), ("D2H", "from-device")):
        words = ("advise", "1MiB", "--machine", mine, "--direction")
        assert invoke(*words, short).out == invoke(*words, long).out


def test_a_size_in_powers_of_ten_is_written_shortly_and_its_memory_is_doubted(
    invoke: Invoke, mine: str
) -> None:
    out = " ".join(invoke("advise", "1TB", "--machine", mine).out.split())
    assert "931.3 GiB to the device" in out
    assert "976562500" not in out
    assert "whether host and GPU have the memory isn't checked" in out


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["1MiB"],
        ["3", "--direction", "reduce", "--cores", "2"],
        ["64KiB..1GiB", "--buffer", "pinned", "--async"],
        ["offload", *_SIZES, *_TIMES, "--resident", "1GiB"],
    ],
)
@pytest.mark.parametrize("machine", machine_names())
def test_every_answer_in_json_is_as_its_schema_says(
    invoke: Invoke, pytestconfig: pytest.Config, machine: str, words: list[str]
) -> None:
    schema = json.loads((pytestconfig.rootpath / "docs/schema/advise-v1.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    answer = json.loads(invoke("advise", *words, "--format", "json", "--machine", machine).out)
    jsonschema.Draft202012Validator(schema).validate(answer)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(answer | {"unknown": 1})


def test_json_has_every_number(invoke: Invoke, mine: str) -> None:
    outcome = invoke("advise", "1MiB", "--format", "json", "--machine", mine)
    document = json.loads(outcome.out)
    assert document["schema_version"] == 1
    assert document["machine"]["gpu_name"] == "NVIDIA H100"
    assert document["question"]["size_bytes"] == 1 << 20
    best = document["ways"][0]
    assert best["cost"]["low"] <= best["cost"]["seconds"] <= best["cost"]["high"]
    assert {"way", "bytes", "uses"} <= document["pays"][0].keys()


def test_json_of_the_classic_questions_and_of_offloading(invoke: Invoke, mine: str) -> None:
    classic = json.loads(invoke("advise", "--format", "json", "--machine", mine).out)
    assert {"round_trip_bytes", "reduce_bytes"} <= classic["pays"][0].keys()
    words = ("--up", "1MiB", "--down", "0", "--cpu-seconds", "1", "--gpu-seconds", "0.1")
    outcome = invoke("advise", "offload", *words, "--format", "json", "--machine", mine)
    assert json.loads(outcome.out)["gpu_pays"] is True


def test_without_a_profile_this_machine_is_measured_once(
    invoke: Invoke, own_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = Effort(sizes=(4, 4096, 65536), budget_s=60, point_s=0.0, rounds=0, memory_sizes=(4096,))
    monkeypatch.setenv("ISTHMUS_DRIVER", "emulated")
    monkeypatch.delenv("ISTHMUS_PROFILE", raising=False)
    monkeypatch.setattr("isthmus.decide.profile.plan.FULL", short)
    first = invoke("advise", "64KiB")
    assert first.code == 0
    assert "measuring Isthmus Emulated GPU" in first.err
    assert first.out.startswith("EMULATED")
    (stored,) = (own_environment / "data" / "isthmus" / "profiles").iterdir()
    assert json.loads(stored.read_text("utf-8"))["memory"]
    second = invoke("advise", "64KiB")
    assert (second.err, second.out) == ("", first.out)


def test_a_profile_that_can_not_be_stored_is_answered_from(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = Effort(sizes=(4, 4096, 65536), budget_s=60, point_s=0.0, rounds=0, memory_sizes=(4096,))
    monkeypatch.setenv("ISTHMUS_DRIVER", "emulated")
    monkeypatch.setenv("ISTHMUS_PROFILE", str(tmp_path / "a file" / "mine.json"))
    (tmp_path / "a file").write_text("")
    monkeypatch.setattr("isthmus.decide.profile.plan.FULL", short)
    outcome = invoke("advise", "64KiB")
    assert outcome.code == 1
    assert "Ways, the fastest first" in outcome.out
    assert "error: " in outcome.err


def test_a_profile_of_the_emulated_device_is_marked(invoke: Invoke, tmp_path: Path) -> None:
    emulated = machine_profile(machine=machine(emulated=True))
    path = save_profile(emulated, tmp_path / "emulated.json")
    out = " ".join(invoke("advise", "1MiB", "--machine", str(path)).out.split())
    said = "Link, launch and pinning times are simulated; everything else is this CPU."
    assert out.startswith("EMULATED")
    assert said in out


@pytest.mark.long
def test_pictures_are_drawn(invoke: Invoke, mine: str, tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="needs isthmus[report]")
    outcome = invoke("advise", "1MiB", "--machine", mine, "--plots", str(tmp_path))
    assert outcome.code == 0
    suffixes = (".html", ".json", ".png", ".svg")
    assert {f"advice{suffix}" for suffix in suffixes} <= {one.name for one in tmp_path.iterdir()}
    drawn = (tmp_path / "advice.svg").read_text("utf-8")
    assert "isthmus.pinned (pool), isthmus.copy" in drawn
    assert "A buffer of each size to the device, once" in drawn


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["0"], "size '0': no bytes to copy"),
        (["4,8"], "one size, or a range"),
        (["--direction", "reduce"], "--plots need a size"),
        (["--async"], "--plots need a size"),
        (["--plots", "x"], "--plots need a size"),
        (["1KiB", "--direction", "reduce", "--result", "1MiB"], "is no reduction"),
        (["1KiB", "--result", "4"], "a result with direction to-device: only reduce has one"),
        (["4", "--direction", "up"], "unknown direction 'up'"),
        (["4", "--buffer", "old"], "unknown buffer 'old'"),
        (["4", "--uses", "0"], "0 uses"),
        (["4", "--machine", "h100"], "there is no machine 'h100'"),
        (["4", "--machine", "h100-sxm-pcie5", "--device", "0"], "exclude each other"),
        (["4", "--format", "csv", "--machine", "h100-sxm-pcie5"], "'text', 'json'"),
        (["4", "--cores", "17", "--machine", "h100-sxm-pcie5"], "the machine has 16"),
        (
            ["offload", "--up", "4", "--down", "4", "--cpu-seconds", "0", "--gpu-seconds", "1"],
            "0 seconds on the CPU",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(invoke: Invoke, words: list[str], said: str) -> None:
    outcome = invoke("advise", *words)
    assert outcome.code == 2
    assert outcome.out == ""
    assert said in outcome.err.splitlines()[0]

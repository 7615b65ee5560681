"""`isthmus sim calibrate` and `isthmus sim validate`, with a run of an H100."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from isthmus.sim.driver.measured import Access, DriverPoint
from isthmus.sim.driver.predicting import predicted
from isthmus.sim.machine_files import load_machine
from program import Golden, Invoke

pytestmark = pytest.mark.native
RUN = Path(__file__).parents[2] / "benchmarks/link/h100/run.json"
PROGRAMS_RUN = Path(__file__).parents[2] / "benchmarks/paging/h100/programs.json"


@pytest.fixture
def short_run(tmp_path: Path) -> Path:
    """The same without its longer sizes, which take seconds to simulate, and with one between."""
    document: dict[str, Any] = json.loads(RUN.read_text())
    document["results"] = [
        one for one in document["results"] if "managed" in one["test"] and one["bytes"] <= 16 << 20
    ]
    [longest] = [
        one
        for one in document["results"]
        if (one["test"], one["bytes"]) == ("host_to_device_managed_demand", 16 << 20)
    ]
    point = DriverPoint(access=Access.READ, size_bytes=4 << 20, seconds=1.0)
    modelled = (4 << 20) / predicted(point, load_machine("h100-pcie5")).seconds
    document["results"].append(longest | {"bytes": 4 << 20, "median": modelled})
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("command", ["calibrate", "validate"])
def test_help_is_as_reviewed(invoke: Invoke, golden: Golden, command: str) -> None:
    outcome = invoke("sim", command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    golden(f"help_sim_{command}.text", outcome.out)


@pytest.mark.long
def test_a_fitted_machine_is_written_and_predicts_its_run(
    invoke: Invoke, short_run: Path, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    fitted = invoke("sim", "calibrate", str(short_run), "-m", "h100-pcie5", "-o", str(path))
    assert fitted.code == 0, fitted.err
    assert "held back" in fitted.out
    assert path.name in fitted.err.replace("\n", "")
    shown = invoke("sim", "validate", str(short_run), "-m", str(path), "--format", "json")
    assert shown.code == 0, shown.err
    document = json.loads(shown.out)
    assert document["machine"]["name"] == "mine"
    errors = {
        point["bytes"]: abs(point["error"])
        for point in document["points"]
        if point["access"] == "read on demand"
    }
    assert set(errors) == {1 << 20, 4 << 20, 16 << 20}
    assert max(errors.values()) < 0.05


@pytest.mark.long
def test_what_kernels_take_to_fetch_a_unit_is_fitted_to_programs(
    invoke: Invoke, tmp_path: Path
) -> None:
    document: dict[str, Any] = json.loads(PROGRAMS_RUN.read_text())
    document["results"] = [
        one
        for one in document["results"]
        if one["test"] == "paging_sto" and one["axes"]["way"] in {"ideal", "units"}
    ]
    run, path = tmp_path / "run.json", tmp_path / "mine.toml"
    run.write_text(json.dumps(document))
    fitted = invoke("sim", "calibrate", str(run), "-m", "h100-pcie5", "-o", str(path))
    assert fitted.code == 0, fitted.err
    assert "us a unit that a kernel fetches itself" in fitted.out
    assert "fitted to sto." in path.read_text()
    shown = invoke("sim", "validate", str(run), "-m", str(path), "--format", "json")
    assert shown.code == 0, shown.err
    errors = [abs(one["error"]) for one in json.loads(shown.out)["points"]]
    assert max(errors) < 0.03


def test_a_fit_that_does_not_settle_is_an_error_and_stores_nothing(
    invoke: Invoke, short_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isthmus.sim.driver.fitting._MAX_ROUNDS", 1)
    path = tmp_path / "mine.toml"
    outcome = invoke("sim", "calibrate", str(short_run), "-m", "h100-pcie5", "-o", str(path))
    assert outcome.code == 1
    assert outcome.out == ""
    assert "the fit doesn't settle within 1 rounds" in " ".join(outcome.err.split())
    assert not path.exists()


def test_reads_at_random_have_lines_of_their_own(invoke: Invoke, tmp_path: Path) -> None:
    document: dict[str, Any] = json.loads((RUN.parents[1] / "h200/managed_random.json").read_text())
    document["results"] = [one for one in document["results"] if one["bytes"] <= 16 << 20]
    path = tmp_path / "random.json"
    path.write_text(json.dumps(document))
    shown = invoke("sim", "validate", str(path), "-m", "h200-pcie5")
    assert shown.code == 0, shown.err
    lines = [line for line in shown.out.splitlines() if line.startswith("read at random")]
    assert [line.split()[3:5] for line in lines[:2]] == [["1", "MiB"], ["16", "MiB"]]
    assert "in the geometric mean" in lines[2]
    points = json.loads(
        invoke("sim", "validate", str(path), "-m", "h200-pcie5", "--format", "json").out
    )["points"]
    at_random = [point for point in points if point["access"] == "read at random"]
    assert [point["bytes"] for point in at_random] == [1 << 20, 16 << 20]
    assert at_random[1]["measured_s"] == pytest.approx((16 << 20) / 7.04e9, rel=0.01)


def test_the_guess_of_other_machines_is_shown_to_be_one(
    invoke: Invoke, short_run: Path, tmp_path: Path
) -> None:
    text = files("isthmus.sim").joinpath("machines/h100-pcie5.toml").read_text("utf-8")
    for name, value in {"latency": '"20us"', "first": "0", "block": "0", "page": "0"}.items():
        text = re.sub(rf"(?ms)(^\[faults\].*?^{name} = )[^\n]*", rf"\g<1>{value}", text, count=1)
    (tmp_path / "guess.toml").write_text(text, "utf-8")
    machine = str(tmp_path / "guess.toml")
    shown = invoke("sim", "validate", str(short_run), "-m", machine, "--format", "csv")
    assert shown.code == 0, shown.err
    rows = [line.split(",") for line in shown.out.splitlines()[1:]]
    assert all(float(row[-1]) < -0.8 for row in rows if row[0] == "read on demand")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("calibrate", "{run}"), "--machine"),
        (("calibrate", "{run}", "-m", "h100-pcie6"), "h100-pcie5"),
        (("calibrate", "{run}", "-m", "h100-pcie5", "-o", "machine.json"), "ends in .toml"),
        (("validate", "{folder}/nothing.json", "-m", "h100-pcie5"), "there is no run"),
        (("validate", "{emulated}", "-m", "h100-pcie5"), "emulated device"),
        (("validate", "{empty}", "-m", "h100-pcie5"), "bench --managed"),
    ],
)
def test_bad_input_is_named_with_what_would_do(
    invoke: Invoke, short_run: Path, tmp_path: Path, arguments: tuple[str, ...], text: str
) -> None:
    document = json.loads(short_run.read_text())
    document["machine"]["emulated"] = True
    (tmp_path / "emulated.json").write_text(json.dumps(document))
    document["machine"]["emulated"] = False
    (tmp_path / "empty.json").write_text(json.dumps(document | {"results": []}))
    places = {
        "run": short_run,
        "folder": tmp_path,
        "emulated": tmp_path / "emulated.json",
        "empty": tmp_path / "empty.json",
    }
    outcome = invoke("sim", *(part.format(**places) for part in arguments))
    assert outcome.code == 2
    assert outcome.out == ""
    assert text in " ".join(outcome.err.split())

import json
from pathlib import Path

import jsonschema
import pytest

from isthmus.cli.app import main
from isthmus.measure.doctor.schema import main as write_schema

pytestmark = pytest.mark.native


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the machine's own driver, if it has one, out of the tests."""
    monkeypatch.setenv("ISTHMUS_DRIVER", "emulated")


def test_every_line_begins_with_its_status_and_the_last_one_sums_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["doctor"]) == 0
    printed = capsys.readouterr()
    *lines, blank, last = printed.out.splitlines()
    assert all(line.startswith(("ok  ", "note  ", "problem  ", "    ")) for line in lines)
    assert blank == ""
    assert " checks: " in last
    assert printed.err == ""


def test_the_first_line_says_that_the_device_is_emulated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["doctor", "--device", "emulated"])
    first = capsys.readouterr().out.splitlines()[0]
    assert "emulated, profile small: every number from it is modelled" in first


def test_json_satisfies_the_published_schema(
    capsys: pytest.CaptureFixture[str], pytestconfig: pytest.Config
) -> None:
    schema = pytestconfig.rootpath / "docs" / "schema" / "doctor-v1.json"
    assert write_schema(["--check", str(schema)]) == 0
    validator = jsonschema.Draft202012Validator(json.loads(schema.read_text("utf-8")))
    main(["doctor", "--format", "json"])
    printed = json.loads(capsys.readouterr().out)
    validator.validate(printed)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**printed, "checks": [{"name": "x"}]})


def test_json_is_one_document_with_the_schema_version_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["doctor", "--format", "json"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith('{\n  "schema_version": 1,')
    document = json.loads(printed)
    assert document["emulated"] is True
    assert set(document["checks"][0]) == {"name", "status", "finding", "advice", "facts"}
    assert {"driver", "gpu 0 link", "nvrtc", "cores"} <= {c["name"] for c in document["checks"]}


def test_a_problem_ends_in_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    broken = tmp_path / "libcuda.so.1"
    broken.write_text("no library at all, but longer than the header of one would have to be")
    monkeypatch.setenv("ISTHMUS_DRIVER", str(broken))
    assert main(["doctor"]) == 1
    assert capsys.readouterr().out.startswith("problem  driver")


def test_an_unknown_profile_ends_in_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--device", "emulated:none_such"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "none_such" in printed.err


def test_a_device_that_is_not_there_ends_in_exit_code_4(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["doctor", "--device", "7"]) == 4
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: no device '7'")


def test_the_ways_to_map_a_gpus_memory_are_told_with_their_reasons(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["doctor", "--format", "json"])
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    windows = checks["gpu 0 windows"]
    assert windows["status"] == "ok"
    assert windows["finding"].startswith("dmabuf (")
    told = {one["backend"]: one["usable"] for one in windows["facts"]["backends"]}
    assert told == {"dmabuf": True, "gdrdrv": False, "rm": False}
    assert checks["gdrapi"]["finding"]
    assert checks["gpu 0 window memory"]["finding"] == (
        "cudaMalloc, exportable cuMemCreate, cuMemCreate without an exportable handle, "
        "cudaMallocAsync: found by its addresses (cuMemGetHandleForAddressRange)"
    )


def test_a_window_setting_without_meaning_ends_in_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ISTHMUS_WINDOW", "telepathy")
    assert main(["doctor"]) == 1
    assert "ISTHMUS_WINDOW is 'telepathy'" in capsys.readouterr().out

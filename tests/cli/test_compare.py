"""`isthmus compare`."""

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from fakes import runs
from isthmus.measure.run.model import Result, Run, Status
from isthmus.measure.run.store import run_text
from program import Invoke

SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "comparison-v3.json"


def kept(folder: Path, name: str, factor: float = 1.0, repeats: int = 0, **machine: object) -> str:
    """Write a run that is so many times as fast as the fakes', with equal repeats."""
    run = runs.run(emulated=bool(machine.pop("emulated", False)))
    results = [repeated(times(result, factor), repeats) for result in run.results]
    facts = run.machine.model_copy(update=machine)
    identity = run.run.model_copy(update={"id": name})
    changed = run.model_copy(update={"run": identity, "results": results, "machine": facts})
    path = folder / f"{name}.json"
    path.write_text(run_text(changed), encoding="utf-8")
    return str(path)


def repeated(result: Result, repeats: int) -> Result:
    if not result.stopped_by:
        return result
    return result.model_copy(update={"repeats": [result.median] * repeats or None})


def times(result: Result, factor: float) -> Result:
    if result.status != Status.PASSED or result.unit not in {"B/s", "s"} or not result.stopped_by:
        return result
    faster = 1 / factor if result.unit == "s" else factor
    return result.model_copy(update={"median": (result.median or 0) * faster, "iqr": 0.0})


def test_a_change_that_no_number_says_is_null(invoke: Invoke, tmp_path: Path) -> None:
    """JSON has no infinity."""
    before = json.loads(Path(kept(tmp_path, "aa")).read_text("utf-8"))
    for result in before["results"]:
        if result["median"]:
            result["median"] = 0.0
    (tmp_path / "aa.json").write_text(json.dumps(before), "utf-8")
    outcome = invoke("compare", str(tmp_path / "aa.json"), kept(tmp_path, "bb"), "--format", "json")
    document = json.loads(outcome.out, parse_constant=pytest.fail)
    (comparison,) = document["comparisons"]
    assert None in {result["change"] for result in comparison["results"]}


def test_runs_that_are_alike_exit_with_0_and_a_line(invoke: Invoke, tmp_path: Path) -> None:
    outcome = invoke("compare", kept(tmp_path, "aa"), kept(tmp_path, "bb"))
    assert (outcome.code, outcome.err) == (0, "")
    line = outcome.out.partition("\n\n")[0].replace("\n  ", " ")
    assert re.fullmatch(
        r"bb: same; \d+ families: 0 slower, 0 can't tell, 0 faster, \d+ same; \d+ results: "
        r"0 lost, 0 out of time, 0 not asked for, \d+ not judged, 0 only after",
        line,
    )
    assert "false alarms: none in 24 pairs of unchanged single runs" in outcome.out
    assert "at most 1 %" not in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 120


def test_a_regression_exits_with_3_and_the_worst_stands_first(
    invoke: Invoke, tmp_path: Path
) -> None:
    outcome = invoke("compare", kept(tmp_path, "aa"), kept(tmp_path, "bb", 0.5))
    assert outcome.code == 3
    families = outcome.out.partition("each judged as a whole\n")[2].partition("\n\n")[0]
    worst = next(line for line in families.splitlines() if line.startswith("pinned copies of"))
    assert re.match(r"pinned copies .*, H2D +bandwidth +slower +\d+ +-50\.0 %", worst)
    assert outcome.out.startswith("bb: slower; ")
    table = outcome.out.partition("Results that were lost or that changed\n")[2]
    heads = ("test", "metric", "size", "circumstances", "aa", "bb")
    assert tuple(table.split()[:6]) == heads
    assert " slower " in table
    assert " same " not in table


def test_runs_without_repeats_are_named_with_what_to_do(invoke: Invoke, tmp_path: Path) -> None:
    outcome = invoke("compare", kept(tmp_path, "aa"), kept(tmp_path, "bb"))
    assert "aa, bb have no repeats." in outcome.out
    assert "`isthmus bench --repeat 5` measures yours" in outcome.out.replace("\n  ", " ")
    assert " 40.0 %?" in outcome.out


def test_one_repeat_is_none(invoke: Invoke, tmp_path: Path) -> None:
    outcome = invoke("compare", kept(tmp_path, "aa", repeats=1), kept(tmp_path, "bb", repeats=1))
    assert "aa, bb have no repeats. ?: the largest drift ever seen" in outcome.out
    assert " %?" in outcome.out


def test_a_drift_that_one_of_two_runs_has_measured_is_no_assumption(
    invoke: Invoke, tmp_path: Path
) -> None:
    outcome = invoke("compare", kept(tmp_path, "aa", repeats=3), kept(tmp_path, "bb"))
    assert "bb has no repeats\n" in outcome.out
    assert "?" not in outcome.out


def test_all_shows_what_stayed_the_same(invoke: Invoke, tmp_path: Path) -> None:
    outcome = invoke("compare", "--all", kept(tmp_path, "aa"), kept(tmp_path, "bb"))
    table = outcome.out.partition("Results\n")[2]
    assert " same " in table


def test_several_runs_are_each_held_against_the_first(invoke: Invoke, tmp_path: Path) -> None:
    files = [
        kept(tmp_path, name, factor) for name, factor in (("aa", 1.0), ("bb", 1.0), ("cc", 0.5))
    ]
    outcome = invoke("compare", *files)
    assert outcome.code == 3
    said = [line for line in outcome.out.partition("\n\n")[0].splitlines() if line[0] != " "]
    assert [line.partition(";")[0] for line in said] == ["bb: same", "cc: slower"]


def test_the_tolerance_decides(invoke: Invoke, tmp_path: Path) -> None:
    files = kept(tmp_path, "aa"), kept(tmp_path, "bb", 0.75)
    assert invoke("compare", *files).code == 3
    assert invoke("compare", *files, "--tolerance", "35%").code == 0
    assert invoke("compare", *files, "--tolerance", "0.35").code == 0


def test_what_nobody_can_tell_stands_first_with_what_would_tell_and_has_its_own_exit_code(
    invoke: Invoke, tmp_path: Path
) -> None:
    outcome = invoke("compare", kept(tmp_path, "aa"), kept(tmp_path, "bb", 0.92))
    assert outcome.code == 5
    first = outcome.out.partition("\n\n")[0]
    assert first.startswith("bb: can't tell; ")
    assert "\nto settle it: both runs with `isthmus bench --repeat 5`" in first
    repeated = (kept(tmp_path, "aa", repeats=5), kept(tmp_path, "bb", 0.92, repeats=5))
    assert invoke("compare", *repeated).code == 3
    files = (kept(tmp_path, "aa"), kept(tmp_path, "bb", 0.92), kept(tmp_path, "cc", 0.5))
    assert invoke("compare", *files).code == 3


def test_junit_has_a_case_for_each_family_and_for_each_test_that_is_lost(
    invoke: Invoke, tmp_path: Path
) -> None:
    fewer = json.loads(Path(kept(tmp_path, "cc")).read_text("utf-8"))
    gone = fewer["results"][0]["test"]
    fewer["results"] = [one for one in fewer["results"] if one["test"] != gone]
    (tmp_path / "cc.json").write_text(json.dumps(fewer), "utf-8")
    files = (kept(tmp_path, "aa"), kept(tmp_path, "bb", 0.92), str(tmp_path / "cc.json"))
    outcome = invoke("compare", *files, "--format", "junit")
    assert outcome.code == 3
    slower, lost = ET.fromstring(outcome.out)  # noqa: S314 - our own
    assert slower.get("name") == "bb compared with aa"
    assert int(slower.get("skipped") or 0) == len(slower.findall("testcase/skipped")) > 0
    assert (slower.get("failures"), lost.get("failures")) == ("0", "1")
    assert int(lost.get("tests") or 0) == len(lost)
    [case] = [case for case in lost if case.find("failure") is not None]
    assert case.get("name") == gone


def test_what_differs_between_machines_comes_first(invoke: Invoke, tmp_path: Path) -> None:
    device = runs.machine().device.model_copy(update={"name": "Other GPU", "uuid": "GPU-1"})
    files = kept(tmp_path, "aa"), kept(tmp_path, "bb", 2.0, device=device)
    outcome = invoke("compare", *files)
    assert outcome.out.partition("\n\n")[2].startswith("What differs between the runs\n")
    assert "Test GPU" in outcome.out.partition("bb: families")[0]
    assert "Other GPU" in outcome.out.partition("bb: families")[0]


def test_json_has_every_family_and_every_result_with_its_verdict(
    invoke: Invoke, tmp_path: Path
) -> None:
    outcome = invoke("compare", kept(tmp_path, "aa"), kept(tmp_path, "bb", 0.5), "--format", "json")
    assert outcome.code == 3
    document = json.loads(outcome.out)
    (comparison,) = document["comparisons"]
    assert (document["before"], comparison["after"]) == ("aa", "bb")
    assert comparison["verdict"] == "slower"
    families = {found["family"]: found for found in comparison["families"]}
    pinned = families["pinned copies of 1 MiB and more, H2D"]
    assert (pinned["verdict"], pinned["drift_measured"]) == ("slower", False)
    assert pinned["change"] == pytest.approx(-0.5)
    assert pinned["change_at_least"] < -0.5 < pinned["change_at_most"]
    verdicts = [found["verdict"] for found in families.values()]
    assert all(comparison[v] == verdicts.count(v) for v in ("faster", "same", "slower"))
    for row in comparison["results"]:
        assert row["verdict"] == families[row["family"]]["verdict"]


@pytest.mark.parametrize("factor", [1.0, 0.92, 0.5])
def test_json_is_of_its_schema(invoke: Invoke, tmp_path: Path, factor: float) -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    less = json.loads(Path(kept(tmp_path, "bb", factor)).read_text("utf-8"))
    less["results"] = less["results"][1:]
    (tmp_path / "bb.json").write_text(json.dumps(less), "utf-8")
    files = (kept(tmp_path, "aa"), str(tmp_path / "bb.json"))
    document = json.loads(invoke("compare", *files, "--format", "json").out)
    jsonschema.Draft202012Validator(schema).validate(document)
    for place in (document, document["comparisons"][0], document["comparisons"][0]["families"][0]):
        place["unknown"] = 1
        with pytest.raises(jsonschema.ValidationError, match="unknown"):
            jsonschema.validate(document, schema)
        del place["unknown"]


def test_csv_has_a_row_for_each_result(invoke: Invoke, tmp_path: Path) -> None:
    outcome = invoke("compare", kept(tmp_path, "aa"), kept(tmp_path, "bb", 2.0), "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(outcome.out)))
    assert {row["emulated"] for row in rows} == {"false"}
    assert {(row["before_run"], row["after_run"]) for row in rows} == {("aa", "bb")}
    assert "cold" in {row["circumstances"] for row in rows}


@pytest.mark.parametrize("names", [(), ("aa",)])
def test_one_run_is_no_comparison(invoke: Invoke, tmp_path: Path, names: tuple[str, ...]) -> None:
    outcome = invoke("compare", *(kept(tmp_path, name) for name in names))
    assert (outcome.code, outcome.out) == (2, "")
    assert "needs two runs or more" in outcome.err


def test_an_emulated_run_beside_a_real_one_is_refused(invoke: Invoke, tmp_path: Path) -> None:
    files = kept(tmp_path, "aa"), kept(tmp_path, "bb", emulated=True)
    for pair in (files, files[::-1]):
        outcome = invoke("compare", *pair)
        assert (outcome.code, outcome.out) == (2, "")
        assert "modelled numbers are never compared with measured ones" in outcome.err


def test_emulated_runs_compare_and_say_that_they_are(invoke: Invoke, tmp_path: Path) -> None:
    files = [kept(tmp_path, name, emulated=True) for name in ("aa", "bb")]
    outcome = invoke("compare", *files)
    assert outcome.code == 0
    assert outcome.out.startswith("EMULATED")
    assert json.loads(invoke("compare", *files, "--format", "json").out)["emulated"] is True


def test_another_schema_is_refused(invoke: Invoke, tmp_path: Path) -> None:
    file = Path(kept(tmp_path, "aa"))
    document = json.loads(file.read_text("utf-8")) | {"schema_version": 7}
    other = tmp_path / "other.json"
    other.write_text(json.dumps(document), encoding="utf-8")
    outcome = invoke("compare", str(file), str(other))
    assert (outcome.code, outcome.out) == (2, "")
    assert "is of schema 7" in outcome.err
    assert Run.model_validate_json(file.read_bytes()).run.id == "aa"


def test_escapes_of_a_run_reach_no_terminal_and_json_keeps_the_text(
    invoke: Invoke, tmp_path: Path
) -> None:
    model = "CPU\x1b]0;OWNED\x07\x1b[2J\x9b1m\u202e[red]well[/red]"
    odd = json.loads(Path(kept(tmp_path, "bb")).read_text("utf-8"))
    odd["machine"]["host"]["cpu_model"] = model
    odd["results"][0]["status"] = "error"
    odd["results"][0]["error"] = {"symbol": None, "code": None, "code_name": None, "message": model}
    odd["results"][0]["median"] = None
    (tmp_path / "bb.json").write_text(json.dumps(odd), "utf-8")
    files = (kept(tmp_path, "aa"), str(tmp_path / "bb.json"))
    for command in (
        ("compare", *files),
        ("compare", *files, "--format", "csv"),
        ("compare", *files, "--format", "junit"),
        *(("runs", "show", files[1], "--format", name) for name in ("text", "csv", "gdrcopy")),
        ("runs", "show", files[1], "--format", "nvbandwidth"),
    ):
        outcome = invoke(*command)
        printed = outcome.out + outcome.err
        assert printed
        assert printed.replace("\n", "").replace("\t", "").isprintable()
    shown = invoke("runs", "show", files[1], "--format", "json")
    assert json.loads(shown.out)["machine"]["host"]["cpu_model"] == model
    assert shown.out.replace("\n", "").isprintable()

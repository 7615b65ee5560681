import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from fakes import runs
from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.schema import main, schema_text
from isthmus.measure.run.store import run_text


def results_with_status(status: str) -> list[dict[str, Any]]:
    document = json.loads(run_text(runs.run()))
    return [result for result in document["results"] if result["status"] == status]


def test_a_run_file_begins_with_its_schema_version() -> None:
    document = json.loads(run_text(runs.run()))
    assert list(document) == ["schema_version", "run", "machine", "options", "results"]
    assert document["schema_version"] == 1


def test_a_run_reads_back_as_itself() -> None:
    run = runs.run(keep_samples=True, emulated=True, interrupted=True)
    assert Run.model_validate_json(run_text(run)) == run


def test_a_passed_result_has_numbers_and_neither_reason_nor_error() -> None:
    for result in results_with_status("passed"):
        assert all(isinstance(result[key], float) for key in ("median", "min", "max", "p99", "iqr"))
        assert isinstance(result["n"], int)
        assert not {"reason", "error", "samples"} & set(result)


def test_what_was_not_measured_is_null_and_says_why() -> None:
    waived, failed = results_with_status("waived"), results_with_status("error")
    assert waived
    assert failed
    for result in waived + failed:
        assert all(result[key] is None for key in ("median", "min", "max", "p99", "cov", "n"))
    assert all(result["reason"] for result in waived)
    assert {result["error"]["code"] for result in failed} == {700}
    assert failed[0]["error"]["code_name"] == "CUDA_ERROR_ILLEGAL_ADDRESS"
    assert failed[0]["error"]["symbol"] == "cuMemcpyDtoHAsync"


def test_samples_are_in_the_file_only_if_they_were_kept() -> None:
    kept = runs.run(keep_samples=True).results[0]
    assert len(kept.model_dump()["samples"]) == kept.n
    assert "samples" not in runs.run().results[0].model_dump()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"median": None}, "needs median"),
        ({"reason": "because"}, "has no reason"),
        ({"status": "waived"}, "has no median"),
        ({"median": float("nan")}, "finite"),
        ({"bytes": 0}, "greater than 0"),
        ({"surprise": 1}, "Extra inputs"),
    ],
)
def test_a_result_that_contradicts_itself_is_refused(change: dict[str, Any], why: str) -> None:
    passed = runs.run().results[0].model_dump()
    with pytest.raises(ValidationError, match=why):
        Result.model_validate(passed | change)


@pytest.mark.parametrize("keep_samples", [True, False])
def test_run_files_satisfy_the_published_schema(keep_samples: bool) -> None:
    document = json.loads(run_text(runs.run(keep_samples=keep_samples)))
    jsonschema.Draft202012Validator(json.loads(schema_text())).validate(document)


def test_the_published_schema_refuses_another_version() -> None:
    document = json.loads(run_text(runs.run())) | {"schema_version": 2}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, json.loads(schema_text()))


def test_the_committed_schema_is_the_model_s(pytestconfig: pytest.Config) -> None:
    committed = pytestconfig.rootpath / "docs" / "schema" / "run-v1.json"
    assert main(["--check", str(committed)]) == 0, "run `make golden`"


def test_the_schema_s_check_notices_a_difference(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "schema.json"
    assert main([str(path), "--check"]) == 1
    assert main([str(path)]) == 0
    assert main([str(path), "--check"]) == 0
    path.write_text("{}")
    assert main([str(path), "--check"]) == 1

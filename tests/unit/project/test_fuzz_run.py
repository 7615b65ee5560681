"""The program that runs the fuzzers reports every finding, and every fuzzer that doesn't run."""

from pathlib import Path

import pytest

from fuzz import run as runner
from fuzz.run import Fuzzer, Outcome, fuzzers, run

FUZZ = Path(__file__).parents[2] / "fuzz"
CORPORA = FUZZ / "corpora"
# What libFuzzer says at its end.
_DONE = "echo 'Done 7 runs in 1 second(s)'"


def outcome_of(tmp_path: Path, script: str) -> Outcome:
    """Run a fuzzer that is a shell script."""
    return run(Fuzzer("fake", "shell", ("sh", "-c", script)), tmp_path / "run", seconds=10)


def test_a_run_without_findings_counts_its_inputs(tmp_path: Path) -> None:
    outcome = outcome_of(tmp_path, _DONE)
    assert (outcome.num_inputs, outcome.findings) == (7, ())
    assert " 7 inputs " in str(outcome)
    assert str(outcome).endswith("no findings")


@pytest.mark.parametrize(
    ("script", "found"),
    [
        (f"{_DONE}; exit 77", "it ended with 77"),
        (f"{_DONE}; touch crash-1", "kept "),
        (_DONE.replace("7", "0"), "it tried nothing"),
        ("true", "it tried nothing"),
        ("kill -SEGV $$", "it ended with -11"),
    ],
)
def test_everything_else_is_a_finding(tmp_path: Path, script: str, found: str) -> None:
    outcome = outcome_of(tmp_path, script)
    assert any(one.startswith(found) for one in outcome.findings), outcome
    assert runner.report([outcome]) == 1


def test_what_an_earlier_run_left_is_no_finding_of_this_one(tmp_path: Path) -> None:
    outcome_of(tmp_path, "touch crash-1")
    assert not outcome_of(tmp_path, _DONE).findings


def test_a_fuzzer_that_does_not_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_GRACE_SECONDS", -9.9)
    outcome = outcome_of(tmp_path, "exec sleep 600")
    assert outcome.findings == (f"it ended with its time long over: {tmp_path}/run/log.txt",)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [((), "has no fuzzers: `make fuzz` builds them"), (("absent",), "no fuzzer is called absent")],
)
def test_what_is_not_there_is_not_run_silently(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    said: str,
) -> None:
    folders = ("--executables", str(tmp_path), "--folder", str(tmp_path / "runs"))
    monkeypatch.setattr("sys.argv", ["run.py", *folders, *arguments])
    with pytest.raises(SystemExit) as ended:
        runner.main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_every_fuzzer_has_a_corpus_and_every_corpus_a_fuzzer(tmp_path: Path) -> None:
    names = {path.name.removesuffix("_fuzzer.cpp") for path in FUZZ.glob("cpp/*_fuzzer.cpp")}
    names |= {path.name.removesuffix("_fuzzer.py") for path in FUZZ.glob("python/*_fuzzer.py")}
    assert {path.name for path in CORPORA.iterdir() if any(path.iterdir())} == names
    assert {each.name for each in fuzzers(tmp_path, 1)} <= names


def test_corpora_stay_small() -> None:
    assert sum(path.stat().st_size for path in CORPORA.rglob("*") if path.is_file()) < 300_000

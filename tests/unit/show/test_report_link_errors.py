"""What a report says about link errors during a run."""

import pytest

from fakes import runs
from isthmus.measure.run.machine import LinkErrors
from isthmus.measure.run.model import Run
from isthmus.show.formats.as_text import as_text


def with_errors(errors: LinkErrors | None) -> Run:
    run = runs.run()
    machine = run.machine.model_copy(update={"link_errors": errors})
    return run.model_copy(update={"machine": machine})


def link_lines(errors: LinkErrors | None) -> list[str]:
    lines = as_text(with_errors(errors), width=1000).splitlines()
    return [line for line in lines if line.startswith("the PCIe link had")]


def test_replays_during_a_run_are_told_with_what_they_mean() -> None:
    (line,) = link_lines(LinkErrors(replays=12, correctable=3, nonfatal=0, fatal=None))
    assert line == (
        "the PCIe link had 12 replays, 3 correctable AER errors during this run: packets arrived "
        "damaged and were sent again, which costs bandwidth; isthmus doctor says what to do"
    )


@pytest.mark.parametrize("kind", ["nonfatal", "fatal"])
def test_errors_that_were_not_corrected_are_told_to_have_lost_something(kind: str) -> None:
    errors = LinkErrors(replays=1, correctable=0, nonfatal=0, fatal=0)
    (line,) = link_lines(errors.model_copy(update={kind: 1}))
    assert f"1 replay, 1 {kind} AER error during this run" in line
    assert "loses transactions" in line


@pytest.mark.parametrize(
    "errors",
    [
        None,
        LinkErrors(replays=0, correctable=0, nonfatal=0, fatal=0),
        LinkErrors(replays=None, correctable=None, nonfatal=None, fatal=None),
    ],
)
def test_a_link_without_errors_is_no_news(errors: LinkErrors | None) -> None:
    assert link_lines(errors) == []


def test_a_run_file_keeps_the_counts_and_one_from_before_they_were_counted_is_read() -> None:
    errors = LinkErrors(replays=12, correctable=None, nonfatal=None, fatal=None)
    run = with_errors(errors)
    assert Run.model_validate_json(run.model_dump_json()) == run
    document = run.model_dump(mode="json")
    del document["machine"]["link_errors"]
    assert Run.model_validate(document).machine.link_errors is None

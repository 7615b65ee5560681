"""Suite blocks on the emulated device: each way, both directions, and the table."""

from isthmus.measure.run.model import Run, Status
from isthmus.show.formats.as_text import as_text
from program import PROGRAM, run_process


def test_blocks_are_measured_by_each_way_and_shown_in_one_table() -> None:
    arguments = ("bench", "blocks", "--quick", "--device", "emulated", "--no-save")
    outcome = run_process([*PROGRAM, *arguments, "--format", "json"])
    assert outcome.code == 0, outcome.err
    run = Run.model_validate_json(outcome.out)
    passed = [result for result in run.results if result.status == Status.PASSED]
    assert {result.verified_on for result in passed} == {"host"}
    ways = {"kernel", "batch", "batch_in_order"}
    assert {(result.direction, result.way) for result in passed} == {
        (direction, way) for direction in ("h2d", "d2h") for way in ways
    }
    text = as_text(run, verbose=True)
    assert "GB/s until all have arrived" in text
    assert "4 SMs" in text
    assert "batch  in order" in text

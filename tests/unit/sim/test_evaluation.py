import json
from pathlib import Path

import pytest

from fakes.simulated import row_of, rows
from isthmus.show.format import Format
from isthmus.sim.paper.evaluation import Evaluation
from isthmus.sim.paper.grid import (
    ANSWERS,
    Combination,
    combinations,
    defaults,
    grid_csv,
    grid_points,
)
from isthmus.sim.paper.grid_summary import summary_text
from isthmus.sim.paper.pictures import draw_all
from isthmus.sim.paper.scores import BOUND, score_all, score_readings, times_within
from isthmus.sim.paper.scores_text import scores_text
from isthmus.sim.paper.studies import (
    BANDWIDTHS,
    FAULT_LATENCIES,
    LOCAL_PROGRAMS,
    POLICIES,
    PROGRAMS,
    READINGS,
    StudyRun,
    evaluation,
)
from isthmus.sim.paper.targets import TARGETS, Verdict
from isthmus.sim.points import SweepPoint
from isthmus.sim.running import simulate
from isthmus.sim.store import Row


@pytest.fixture(scope="module")
def made_up() -> Evaluation:
    return Evaluation(evaluation(details=True), rows())


def test_the_matrix_is_the_papers_ten_programs_five_policies_and_two_bandwidths() -> None:
    matrix = {
        (run.program, run.series, run.bandwidth)
        for run in evaluation()
        if run.study == "matrix" and run.series in POLICIES and run.bandwidth in BANDWIDTHS[:2]
    }
    assert len(matrix) == 100


def test_other_seeds_repeat_every_run() -> None:
    runs = evaluation(num_seeds=3)
    first = evaluation()
    assert runs[: len(first)] == first
    more = runs[len(first) :]
    assert {run.point.seed for run in more} == {1, 2}
    assert len(more) == 2 * len(first)
    assert {run.study for run in more} == {run.study for run in first}
    assert not {run.point.key for run in more} & {run.point.key for run in first}


def test_an_average_has_the_spread_of_its_seeds() -> None:
    runs = evaluation(num_seeds=3)
    found = {run.point.key: row_of(run) for run in runs}
    for run in runs:
        if run.study == "matrix" and run.series == "ranges" and run.point.seed == 2:
            row = row_of(run)
            found[run.point.key] = {**row, "total_ps": 2 * int(row["total_ps"] or 0)}
    scores = {one.target.name: one for one in score_all(Evaluation(runs, found))}
    for name in ("T6", "T7", "T8", "T9b"):
        low, high = scores[name].beside["over 3 seeds"].removesuffix("x").split("x to ")
        assert float(high) == pytest.approx(2 * float(low), rel=0.01)
    # Half of the spread is 0.45: one decimal.
    assert scores["T6"].ours == "0.9x"
    assert scores["T4"].ours == "1.300x"


def test_every_average_has_the_bound_of_its_bandwidth(made_up: Evaluation) -> None:
    scores = {one.target.name: one for one in score_all(made_up)}
    for name in ("T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8"):
        assert scores[name].beside[BOUND] == "0.50x"


def test_every_mean_beside_a_target_and_in_the_fault_table_has_its_spread() -> None:
    runs = evaluation(num_seeds=2, details=True)
    found = {
        run.point.key: row if run.point.seed == 0 else {**row, "total_ps": later(run, row)}
        for run in runs
        for row in [row_of(run)]
    }
    evaluated = Evaluation(runs, found)
    scores = {one.target.name: one for one in score_all(evaluated)}
    for name in ("geometric mean", BOUND):
        assert "x to " in scores["T1"].beside[name], name
    assert all("x to " in beside for beside in scores["T13"].beside.values())
    assert all("% to " in beside for beside in scores["T15a"].beside.values())
    assert scores["T16a"].beside["over 2 seeds"].count(" to ") == 1
    text = scores_text(score_all(evaluated), evaluated, Format.TEXT, details=True)
    lines = text.splitlines()
    [bound] = [line for line in lines if line.startswith("lower bound")]
    assert bound.count("x to ") == 2
    title = next(place for place, line in enumerate(lines) if "by fault latency" in line)
    labels = [line.split()[0] for line in lines[title + 2 :]]
    assert labels == list(FAULT_LATENCIES)


def later(run: StudyRun, row: Row) -> int:
    """Give a time that is longer than `row` says, but for the programmer's copies."""
    return int(row["total_ps"] or 0) * (1 if run.series == "programmer" else 2)


def test_a_seed_that_is_not_finished_is_left_out() -> None:
    runs = evaluation(num_seeds=3)
    last = runs[-1].point.key
    found = {run.point.key: row_of(run) for run in runs if run.point.key != last}
    assert len(Evaluation(runs, found).by_seed()) == 2


def test_the_match_of_lps_is_said_to_be_an_accident_if_one_range_takes_as_long() -> None:
    runs = evaluation()
    found = {run.point.key: row_of(run) for run in runs}
    for run in runs:
        if run.program == "lps" and run.study == "matrix" and run.series == "single-range":
            row = found[run.point.key]
            as_ranges = next(
                found[one.point.key]
                for one in runs
                if (one.study, one.program, one.series) == ("matrix", "lps", "ranges")
                and one.bandwidth == run.bandwidth
            )
            found[run.point.key] = {**row, "total_ps": as_ranges["total_ps"]}
    by_name = {one.target.name: one for one in score_all(Evaluation(runs, found))}
    assert "accident" in by_name["T9b"].note
    others = {one.target.name: one for one in score_all(Evaluation(runs, rows()))}
    assert "accident" not in others["T9b"].note


def test_the_best_unit_is_several_if_inputs_differ() -> None:
    runs = evaluation(num_seeds=2, details=True)
    found = {run.point.key: row_of(run) for run in runs}
    for run in runs:
        if run.study == "fault" and run.place == ("0", "64KiB") and run.point.seed == 1:
            found[run.point.key] = {**found[run.point.key], "total_ps": 1}
    assert Evaluation(runs, found).best_units()["0"] == ("1KiB", "64KiB")


def test_other_baselines_are_beside_ranges_with_the_bound(made_up: Evaluation) -> None:
    text = scores_text(score_all(made_up), made_up, Format.TEXT, details=True)
    lines = [line.split() for line in text.splitlines()]
    for name in ("overlapped", "prefetch", "advise", "ranges"):
        assert any(words[:1] == [name] for words in lines), name
    document = json.loads(scores_text(score_all(made_up), made_up, Format.JSON, details=True))
    assert document["num_seeds"] == 1
    assert [row["baseline"] for row in document["baselines"]][-1] == "ranges / advise"


@pytest.mark.parametrize(
    ("value", "spread", "shown"),
    [
        (0.9904, (0.9904,), "0.99x"),
        (353.4, (353.4,), "350x"),
        (10.05, (10.05,), "10x"),
        (0.01234, (0.01234,), "0.012x"),
        (0.9904, (0.9904, 0.9904), "0.990x"),
        (0.9904, (0.985, 0.995), "0.990x"),
        (0.9904, (0.95, 1.01), "0.99x"),
        (1.23, (0.9, 1.9), "1.2x"),
        (353.4, (353.4, 390.0), "350x"),
        (353.4, (353.0, 353.4), "353x"),
        (71.6, (40.0, 90.0), "70x"),
    ],
)
def test_digits_follow_the_spread(value: float, spread: tuple[float, ...], shown: str) -> None:
    assert times_within(value, spread) == shown


def test_runs_differ_from_the_papers_machine_in_what_they_sweep_alone() -> None:
    runs = evaluation(details=True)
    run = next(run for run in runs if run.study == "fault" and run.place[0] == "20us")
    assert run.point.setup.machine.faults.latency == 20_000_000
    assert run.point.setup.machine.name == "paper-gtx480"
    assert run.point.setup.options == type(run.point.setup.options)()


def test_every_target_gets_a_verdict(made_up: Evaluation) -> None:
    scores = {score.target.name: score for score in score_all(made_up)}
    assert list(scores) == [one.name for one in TARGETS]
    assert scores["T1"].verdict is Verdict.MATCHED
    assert scores["T1"].why == ""
    assert scores["T2"].verdict is Verdict.NOT_MATCHED
    assert "no link has" in scores["T2"].why
    assert scores["T15a"].ours == "5 %"
    assert len(scores["T15a"].beside) == 12  # six definitions, the range in the entry or not
    assert scores["T16a"].verdict is Verdict.MATCHED


def test_programs_that_are_not_there_are_left_out_and_their_targets_not_scored() -> None:
    programs = [one for one in PROGRAMS if one not in {"lib", "wp"}]
    runs = evaluation(programs)
    found = Evaluation(runs, {run.point.key: row_of(run) for run in runs})
    assert found.programs() == programs
    scores = {score.target.name: score.verdict for score in score_all(found)}
    assert scores["T11a"] is scores["T11b"] is Verdict.NOT_SCORED
    assert scores["T1"] is Verdict.MATCHED


def test_the_best_unit_moves_up_with_what_a_fault_costs(made_up: Evaluation) -> None:
    best = made_up.best_units()
    assert best["0"] == ("1KiB",)
    assert best["45us"] == ("256KiB",)


def test_the_text_says_that_it_is_modelled_and_what_a_percentage_means(
    made_up: Evaluation,
) -> None:
    text = scores_text(score_all(made_up), made_up, Format.TEXT)
    assert text.startswith("modelled: no number here was measured")
    assert '"98.62 % slower" means 1 / (1 - 0.9862) = 72.5x the time, not 98.62x.' in text
    assert "not in the paper" not in text
    detailed = scores_text(score_all(made_up), made_up, Format.TEXT, details=True)
    assert "not in the paper: mean time" in detailed


def test_the_text_is_a_page_of_80_columns_and_its_rest_is_in_the_details() -> None:
    found = Evaluation(evaluation(), rows())
    lines = scores_text(score_all(found), found, Format.TEXT, width=80).splitlines()
    assert len(lines) <= 80
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("T16d  ") for line in lines)  # a table, and no list of fields


def test_each_reading_is_scored_by_itself_on_every_target() -> None:
    """A target that one reading matches isn't matched in the column of another."""
    runs = evaluation()
    found = {run.point.key: row_of(run) for run in runs}
    for run in runs:
        if run.series == "C single-range":
            row = found[run.point.key]
            found[run.point.key] = {**row, "total_ps": 2 * int(row["total_ps"] or 0)}
    by_reading = score_readings(Evaluation(runs, found))
    assert list(by_reading) == [name for name, one in READINGS.items() if not one.in_details]
    assert len({tuple(scores) for scores in by_reading.values()}) == 1
    verdicts = {name: scores["T4"].verdict for name, scores in by_reading.items()}
    # E has the runs of C, as it reads the same of a single range.
    assert {name for name, one in verdicts.items() if one is Verdict.DIRECTION} == {"C", "E"}
    text = scores_text(score_all(Evaluation(runs, found)), Evaluation(runs, found), Format.TEXT)
    lines = text.splitlines()
    [cells] = [line.split() for line in lines if line.startswith("T4 ") and "=" in line]
    first, slow = ["=", "1.30x"], ["~", "2.60x"]
    assert cells[1:] == first * 2 + slow + first + slow + first


def test_the_json_has_every_target_and_says_that_it_is_modelled(made_up: Evaluation) -> None:
    document = json.loads(scores_text(score_all(made_up), made_up, Format.JSON))
    assert document["schema_version"] == 1
    assert document["modelled"] is True
    assert len(document["targets"]) == len(TARGETS)
    lines = scores_text(score_all(made_up), made_up, Format.CSV).splitlines()
    assert len(lines) == len(TARGETS) + 1


@pytest.mark.long
def test_pictures_are_drawn_in_four_formats_and_say_that_they_are_modelled(
    made_up: Evaluation, tmp_path: Path
) -> None:
    files = draw_all(made_up, tmp_path)
    assert sorted(files) == sorted(tmp_path.iterdir())
    assert {file.suffix for file in files} == {".json", ".svg", ".png", ".html"}
    assert {file.stem for file in files} >= {"figure-4", "figure-5", "figure-6"}
    for file in tmp_path.glob("*.svg"):
        assert "modelled, not measured" in file.read_text(encoding="utf-8")
    for file in tmp_path.glob("*.png"):
        assert file.read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def points() -> list[SweepPoint]:
    return grid_points()


@pytest.fixture(scope="module")
def grid(points: list[SweepPoint]) -> list[Combination]:
    """Every run takes as long: but those with merged requests half, and 1.4 GHz a tenth."""
    made = {}
    for point in points:
        setup = point.setup
        merged = setup.policy.kind.migrates and setup.policy.merge
        fast = setup.machine.cores.clock > 10**9
        total = 10**6 // (2 if merged else 1) // (10 if fast else 1)
        made[point.key] = {"error": None, "total_ps": total}
    return combinations(points, made)


@pytest.mark.long
def test_the_grid_has_every_run_once(points: list[SweepPoint]) -> None:
    assert len({point.key for point in points}) == len(points)
    for policy, answers in ANSWERS.items():
        assert policy in POLICIES
        assert all(len(choices) > 1 for choices in answers.values())


@pytest.mark.native
@pytest.mark.parametrize(
    "program",
    [
        pytest.param(name, marks=() if name in {"bfs", LOCAL_PROGRAMS[0]} else pytest.mark.long)
        for name in PROGRAMS
    ],
)
def test_programs_with_local_memory_are_known(program: str) -> None:
    copied = [
        simulate(program, policy="programmer", settings={"options.programmer_data": data})
        for data in ("touched_global", "touched_all")
    ]
    same = copied[0].traffic_bytes == copied[1].traffic_bytes
    assert same == (program not in LOCAL_PROGRAMS)


@pytest.mark.long
def test_the_grid_is_scored_against_every_way_to_count_the_programmers_copy(
    grid: list[Combination],
) -> None:
    # Ten ways to count the copies, at two bandwidths; 8 answers to other questions, each by itself.
    assert len(grid) == ((16 + 8) + (64 + 8) + (32 + 8)) * 10 * 2
    for one in grid:
        expected = 0.5 if one.answers["policy.merge"] == "true" else 1
        assert one.mean == pytest.approx(expected), one
    lines = grid_csv(grid).splitlines()
    assert len(lines) == 1 + len(grid)
    assert all(line.endswith(("0.5,0.5,1,True", "1,1,1,True")) for line in lines[1:])


def test_the_default_answers_are_a_policys_own() -> None:
    assert defaults("whole-page")["policy.merge"] == "false"
    assert defaults("ranges")["policy.merge"] == "true"
    assert defaults("ranges")["policy.request"] == "unit"
    assert defaults("single-range")["cores.clock"] == "700MHz"


@pytest.mark.long
def test_the_grid_is_summed_up_by_target_and_by_answer(grid: list[Combination]) -> None:
    text = summary_text(grid)
    assert text.startswith("modelled: no number here was measured")
    lines = [line.split() for line in text.splitlines()]
    [first] = [words for words in lines if words[:1] == ["T1"]]
    assert first[-8:] == ["72.7x", "1.00x", "0.50x", "1.00x", "1.00x", "240", "0", "0"]
    [sixth] = [words for words in lines if words[:1] == ["T6"]]
    assert sixth[-3:] == ["400", "240", "0"]
    alone, other = [words for words in lines if words[:1] == ["policy.merge"]]
    assert alone[1:] == ["true", "o", "0.50x", "0.50x", *"----", "1.00x,", "1.00x"]
    assert other[1:] == ["false", "-", "-", *["o", "1.00x"] * 4, "1.00x,", "1.00x"]
    [clock] = [words for words in lines if words[:1] == ["cores.clock"]]
    assert clock[1] == "1400MHz"

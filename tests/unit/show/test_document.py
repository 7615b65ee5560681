"""The verdict of a report, and what stands in its chapters."""

from pathlib import Path

import pytest

from fakes import runs
from isthmus.errors import UsageError
from isthmus.measure.run.machine import GpuState, LinkErrors
from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.reading import read_run
from isthmus.show.document.chapters import chapters_of
from isthmus.show.document.collecting import document_of
from isthmus.show.document.comparing import comparison_chapter
from isthmus.show.document.gains import gains_of
from isthmus.show.document.health import verdict_of
from isthmus.show.document.history import history_chapter
from isthmus.show.document.limits import limits_of
from isthmus.show.document.parts import Chapter, Gain, Mark
from isthmus.show.document.plans import PLANS
from isthmus.show.pictures.lines import drawable

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
H100 = BENCHMARKS / "link" / "h100" / "run.json"
PROGRAMS = BENCHMARKS / "paging" / "h200" / "programs.json"


@pytest.fixture(scope="module")
def h100() -> Run:
    return read_run(str(H100))


def changed(run: Run, name: str = "", **machine: object) -> Run:
    """Change facts of a run's machine, and its id."""
    identity = run.run.model_copy(update={"id": name or run.run.id})
    facts = run.machine.model_copy(update=machine)
    return run.model_copy(update={"machine": facts, "run": identity})


def scaled(run: Run, test: str, factor: float, name: str = "") -> Run:
    """Multiply the medians of a test."""

    def times(result: Result) -> Result:
        if result.test != test or result.median is None:
            return result
        return result.model_copy(update={"median": result.median * factor})

    return changed(run.model_copy(update={"results": list(map(times, run.results))}), name)


def of_bandwidth(run: Run) -> Run:
    """Leave the results out that no large copies have."""
    results = [result for result in run.results if result.suite == "bandwidth"]
    return run.model_copy(update={"results": results})


def of(gains: tuple[Gain, ...], chapter: str) -> list[Gain]:
    return [gain for gain in gains if gain.chapter == chapter]


def median(run: Run, test: str, metric: str, size: int) -> float:
    [found] = [
        r for r in run.results if (r.test, r.metric, r.bytes) == (test, metric, size) and not r.axes
    ]
    assert found.median
    return found.median


def test_a_machine_whose_figures_are_as_expected_is_healthy(h100: Run) -> None:
    mended = scaled(h100, "host_to_device_bidirectional_memcpy_ce", 1.1)
    verdict = verdict_of(mended)
    assert verdict.mark is Mark.GOOD
    assert verdict.headline.startswith("Healthy: 9 of 9 results")
    assert {finding.mark for finding in verdict.findings} == {Mark.GOOD}


def test_one_short_figure_beside_the_plain_copies_is_a_doubt(h100: Run) -> None:
    verdict = verdict_of(h100)
    assert verdict.mark is Mark.NOTE
    assert verdict.headline == (
        "Healthy, with a doubt: 1 of 9 results is below the expected value."
    )
    [short] = [finding for finding in verdict.findings if finding.mark is Mark.NOTE]
    assert "88 % of what is expected of an H100" in short.text
    assert verdict.expected is not None
    assert len(verdict.expected.rows) == len(verdict.sources) == 9


def test_plain_copies_that_are_short_are_no_health(h100: Run) -> None:
    verdict = verdict_of(scaled(h100, "host_to_device_memcpy_ce", 0.5))
    assert verdict.mark is Mark.BAD
    assert verdict.findings[0].mark is Mark.BAD
    assert "49 % of what is expected" in verdict.findings[0].text


def test_a_link_below_its_maximum_is_told_with_what_to_do(h100: Run) -> None:
    narrow = changed(h100, link=h100.machine.link.model_copy(update={"width": 8}))
    [finding] = [one for one in verdict_of(narrow).findings if "The link r" in one.text]
    assert finding.mark is Mark.BAD
    assert "Gen5 x8 (under load) and could do Gen5 x16: reseat" in finding.text


def test_what_one_result_says_is_said_of_one(h100: Run) -> None:
    named = [r for r in h100.results if r.test == "device_to_host_memcpy_ce"]
    failed = [r for r in runs.run().results if r.error is not None][:1]
    alone = h100.model_copy(update={"results": [*named, *failed]})
    texts = [finding.text for finding in verdict_of(alone).findings]
    assert any(text.startswith("1 result failed. It is `device_to_host") for text in texts)
    healthy = verdict_of(h100.model_copy(update={"results": named}))
    assert healthy.headline == ("Healthy: 1 of 1 result is as expected or better.")


def test_clocks_that_were_reduced_in_no_result_are_told_without_a_number(h100: Run) -> None:
    state = h100.machine.gpu_state.model_copy(update={"throttle_reasons": ["hw_slowdown"]})
    unaffected = [r.model_copy(update={"clock_reasons": []}) for r in h100.results]
    run = changed(h100.model_copy(update={"results": unaffected}), gpu_state=state)
    texts = [finding.text for finding in verdict_of(run).findings]
    assert "The GPU's clocks were reduced (hw_slowdown)." in texts


def test_a_link_that_was_read_idle_is_no_problem(h100: Run) -> None:
    link = h100.machine.link.model_copy(update={"generation": 1, "read_under_load": False})
    [finding] = [
        one for one in verdict_of(changed(h100, link=link)).findings if "The link r" in one.text
    ]
    assert finding.mark is Mark.NOTE


def test_errors_of_the_link_and_reduced_clocks_are_told(h100: Run) -> None:
    state = GpuState(
        performance_state="P2",
        sm_clock_hz=None,
        memory_clock_hz=None,
        throttle_reasons=["sw_power_cap"],
        persistence_mode=None,
    )
    errors = LinkErrors(replays=3, correctable=None, nonfatal=None, fatal=1)
    texts = {
        finding.text: finding.mark
        for finding in verdict_of(changed(h100, gpu_state=state, link_errors=errors)).findings
    }
    [link] = [text for text in texts if "3 replays, 1 fatal AER error" in text]
    [clocks] = [text for text in texts if "reduced (sw_power_cap)" in text]
    assert (texts[link], texts[clocks]) == (Mark.BAD, Mark.NOTE)


def test_a_thread_far_from_the_gpu_is_told() -> None:
    run = runs.run()
    far = changed(run, host=run.machine.host.model_copy(update={"measured_on_node": 0}))
    marks = {
        name: [finding.mark for finding in verdict_of(one).findings if "NUMA" in finding.text]
        for name, one in (("near", run), ("far", far))
    }
    assert marks == {"near": [Mark.GOOD], "far": [Mark.NOTE]}


def test_failed_results_are_no_health() -> None:
    verdict = verdict_of(runs.run())
    assert verdict.mark is Mark.BAD
    assert any("illegal memory access" in finding.text for finding in verdict.findings)


def test_an_emulated_run_has_no_health_and_says_so() -> None:
    verdict = verdict_of(runs.run(emulated=True))
    assert verdict.headline.startswith("Simulated: no GPU was measured")
    assert verdict.expected is None


def test_a_gain_has_the_numbers_of_the_run(h100: Run) -> None:
    pinned, pageable = (
        median(h100, f"host_to_device_memcpy_{way}", "bandwidth", 1 << 30)
        for way in ("ce", "pageable")
    )
    [gain] = [one for one in gains_of(h100) if one.change.startswith("Pin the memory")]
    assert gain.pairs[0].case == "upload of 1 GiB"
    assert gain.pairs[0].factor == pytest.approx(pinned / pageable)
    assert (gain.pairs[0].before, gain.pairs[0].after) == ("6.94 GB/s", "53.8 GB/s")


def test_a_time_that_becomes_shorter_is_a_gain_by_so_many_times(h100: Run) -> None:
    blocking, window = (
        next(
            r.median
            for r in h100.results
            if r.test == f"device_to_host_small_copy_{way}"
            and (r.metric, r.bytes, r.cpu_cache) == ("completion", 4, "warm")
        )
        for way in ("blocking", "window")
    )
    [gain] = of(gains_of(h100), "window")
    assert gain.factor == pytest.approx((blocking or 0) / (window or 1))


def test_what_brings_the_most_comes_first_and_what_brings_nothing_is_left_out(h100: Run) -> None:
    gains = gains_of(h100)
    assert len(gains) >= 7
    factors = [gain.factor for gain in gains]
    assert factors == sorted(factors, reverse=True)
    slow = gains_of(scaled(h100, "duplex_memcpy_ce", 0.1))
    assert "Upload and download at the same time" in {gain.change for gain in gains}
    assert "Upload and download at the same time" not in {gain.change for gain in slow}


PIN_FASTER = "Pin huge pages, and reuse pinned memory"


def pinning(run: Run, way: str, metric: str) -> float:
    [found] = [
        result.median
        for result in run.results
        if (result.test, result.metric, result.bytes) == (f"alloc_{way}", metric, 1 << 30)
    ]
    assert found
    return found


def test_pinning_is_recommended_by_allocating_and_freeing_together(h100: Run) -> None:
    before, after = (
        sum(pinning(h100, way, metric) for metric in ("allocate", "free"))
        for way in ("cuda_malloc_host", "isthmus_pinned")
    )
    [gain] = [one for one in gains_of(h100) if one.change == PIN_FASTER]
    assert [pair.case for pair in gain.pairs] == ["allocating and freeing 1 GiB"]
    assert gain.factor == pytest.approx(before / after)


def test_pinning_that_is_quicker_to_free_and_not_in_all_is_not_recommended(h100: Run) -> None:
    slower, faster = 2.3, 1 / 15
    medians = {
        metric: factor * pinning(h100, "cuda_malloc_host", metric)
        for metric, factor in (("allocate", slower), ("free", faster))
    }
    results = [
        result.model_copy(update={"median": medians[result.metric]})
        if result.test == "alloc_isthmus_pinned" and result.metric in medians
        else result
        for result in h100.results
    ]
    run = h100.model_copy(update={"results": results})
    assert PIN_FASTER not in {gain.change for gain in gains_of(run)}


def test_a_run_without_the_numbers_has_neither_gains_nor_limits() -> None:
    empty = runs.run().model_copy(update={"results": []})
    assert gains_of(empty) == ()
    assert limits_of(empty) == ()


def test_each_limit_has_its_number(h100: Run) -> None:
    link, staging, start, small = limits_of(h100)
    assert link == "The link: 54.8 GB/s (256 MiB, pinned), 87 % of Gen5 x16 (63.0 GB/s)."
    assert "6.94 GB/s" in staging
    assert "overhead (2.49 µs in a row of uploads) dominates below 127.2 KiB." in start
    assert small.endswith("takes 6.44 µs for 4 B, 7.71 µs for 256 B and 7.69 µs for 4 KiB.")


def test_the_cases_of_gains_say_what_was_done(h100: Run) -> None:
    cases = [pair.case for gain in gains_of(h100) for pair in gain.pairs]
    assert "upload of 256 pieces of 64 B, packed into one copy instead of one by one" in cases
    assert "allocating, uploading, downloading and freeing 256 MiB in pinned huge pages" in cases
    assert all("_" not in case for case in cases)


@pytest.fixture(scope="module")
def chapters(h100: Run) -> dict[str, Chapter]:
    return {chapter.id: chapter for chapter in chapters_of({"": h100})}


def test_programs_have_a_chapter_with_a_picture_of_each_and_the_tables_of_the_paper() -> None:
    (chapter,) = (one for one in chapters_of({"": read_run(str(PROGRAMS))}) if one.id == "paging")
    (sentence,) = chapter.sentences
    assert sentence == (
        "Paged by units of 1 KiB, 7 programs took 1.08 to 4.91 times as long as with their own "
        "copies; 5 of 7 were quicker paged than with managed memory."
    )
    assert [figure.title for figure in chapter.figures] == [
        f"Programs, by units of 1 KiB: {name}" for name in ("bfs", "lps", "aes", "sto")
    ]
    assert len(chapter.more) == 6 + 10
    assert "Figures 4 and 6" in chapter.tables[1].title


def test_chapters_have_a_sentence_pictures_with_words_and_tables(
    chapters: dict[str, Chapter],
) -> None:
    assert list(chapters) == [plan.id for plan in PLANS if plan.id != "paging"]
    for name, chapter in chapters.items():
        assert chapter.sentences, name
        assert bool(chapter.figures) == bool(chapter.tables) == (name != "multi")
        assert all(figure.words for figure in (*chapter.figures, *chapter.more))
    assert "there is one here" in chapters["multi"].sentences[0]


def test_every_measured_number_is_in_a_picture_of_some_chapter(
    h100: Run, chapters: dict[str, Chapter]
) -> None:
    drawn = sum(
        len(columns["value"])
        for chapter in chapters.values()
        for figure in (*chapter.figures, *chapter.more)
        for columns in figure.data.values()
        if "relative to" not in figure.title and ("width" in columns or "shown" in columns)
    )
    # Curves that lie on each other are drawn as one.
    assert 0.7 * len(drawable(h100)) < drawn <= len(drawable(h100))


def test_a_suite_that_no_chapter_knows_has_a_chapter_of_its_own(h100: Run) -> None:
    paged = [
        result.model_copy(update={"test": "odd_read", "suite": "odd"})
        for result in h100.results
        if result.test == "host_to_device_memcpy_ce" and result.metric == "bandwidth"
    ]
    [chapter] = chapters_of({"": h100.model_copy(update={"results": paged})})
    assert (chapter.id, chapter.title) == ("odd", "Odd")
    assert len(chapter.figures) == 1


def test_runs_side_by_side_have_curves_named_by_them(h100: Run) -> None:
    large = of_bandwidth(h100)
    document = document_of([changed(large, "aa"), changed(large, "bb")])
    bandwidth = next(chapter for chapter in document.chapters if chapter.id == "bandwidth")
    words = " ".join(figure.words for figure in bandwidth.figures)
    assert "pinned, aa" in words
    assert "pinned, bb" in words
    assert [verdict.name for verdict in document.verdicts] == ["aa", "bb"]
    assert [sentence[:3] for sentence in bandwidth.sentences] == ["aa:", "bb:"]


def test_modelled_numbers_are_never_beside_measured_ones() -> None:
    with pytest.raises(UsageError, match="modelled numbers are never compared"):
        document_of([runs.run(), runs.run(emulated=True)])


def test_a_comparison_says_what_changed(h100: Run) -> None:
    slower = scaled(h100, "host_to_device_memcpy_ce", 0.5, "bb")
    chapter = comparison_chapter([changed(h100, "aa"), slower])
    assert chapter.is_table
    assert "slower; " in chapter.sentences[0]
    assert ": 2 slower, " in chapter.sentences[0]
    titles = [table.title for table in chapter.tables]
    assert any("families of results" in title for title in titles)
    assert any("or that changed" in title for title in titles)


def test_a_history_follows_figures_and_names_those_that_moved(h100: Run) -> None:
    before = [changed(h100, f"run{number}") for number in range(3)]
    last = scaled(h100, "host_to_device_memcpy_ce", 0.8, "last")
    later = last.run.model_copy(update={"started_at": last.run.started_at.replace(year=2027)})
    chapter = history_chapter([last.model_copy(update={"run": later}), *before])
    assert chapter.sentences[0].startswith("4 runs, from 2026-11-22 to 2027-11-22")
    assert "In the last run, 9 of 10 figures lie within 5 %" in chapter.sentences[1]
    assert "This one differs by more: upload, pinned, 1 GiB (-20.0 %)." in chapter.sentences[1]
    assert "download, pinned" not in chapter.sentences[1]
    assert len(chapter.sentences) == 2
    [table] = chapter.tables
    assert [row[1] for row in table.rows] == ["run0", "run1", "run2", "last"]
    assert [figure.kind for figure in chapter.figures] == ["history"] * 3
    units = [figure.words.partition(":")[0] for figure in chapter.figures]
    assert units == ["GB/s, median", "time, median", "time, median"]


def later(run: Run, year: int) -> Run:
    started = run.run.started_at.replace(year=year)
    return run.model_copy(update={"run": run.run.model_copy(update={"started_at": started})})


def without(run: Run, way: str) -> Run:
    kept = [result for result in run.results if not result.test.endswith(way)]
    return run.model_copy(update={"results": kept})


def test_a_figure_that_the_last_run_lacks_is_told_as_missing_and_not_as_changed(h100: Run) -> None:
    slower = scaled(h100, "host_to_device_memcpy_pageable", 0.5, "two")
    last = without(changed(h100, "three"), "_memcpy_pageable")
    chapter = history_chapter([h100, later(slower, 2027), later(last, 2028)])
    _, changes, absent = chapter.sentences
    assert changes.startswith("In the last run, 8 of 8 figures lie within 5 %")
    assert "upload, pageable" not in changes
    assert absent == (
        "The last run has no number for 2 figures of earlier runs: "
        "upload, pageable, 1 GiB; download, pageable, 1 GiB."
    )


def test_each_machine_is_judged_by_its_own_last_run(h100: Run) -> None:
    device = h100.machine.device.model_copy(update={"uuid": "GPU-2"})
    slower = scaled(changed(h100, device=device), "host_to_device_memcpy_ce", 0.5)
    mine = [h100, without(later(h100, 2029), "_memcpy_pageable")]
    theirs = [changed(later(h100, 2027), device=device), later(slower, 2028)]
    _, changes, absent = history_chapter([*mine, *theirs]).sentences
    assert "In the last run of each machine, 17 of 18 figures" in changes
    assert f"upload, pinned, 1 GiB, {device.name} (2) (-50.0 %)" in changes
    assert absent.startswith("The last run of the machine has no number for 2 figures")
    assert f"upload, pageable, 1 GiB, {device.name} (1)" in absent


def test_impossible_numbers_are_told_and_nothing_is_said_by_them(h100: Run) -> None:
    negative = scaled(h100, "host_to_device_memcpy_ce", -1.0)
    verdict = verdict_of(negative)
    assert verdict.mark is Mark.BAD
    assert verdict.headline.startswith("Not to be trusted")
    assert "can't be right" in verdict.findings[0].text
    assert "`host_to_device_memcpy_ce` (bandwidth) of 4 B" in verdict.findings[0].text
    assert verdict.expected is not None
    assert [row[0] for row in verdict.expected.rows].count("host_to_device_memcpy_ce") == 0
    assert not [line for line in verdict.limits if "PCIe" in line]
    pairs = [pair for gain in verdict.gains for pair in gain.pairs]
    assert not [pair for pair in pairs if pair.case == "upload of 1 GiB"]
    chapters = chapters_of({"": of_bandwidth(negative)})
    [bandwidth] = [one for one in chapters if one.id == "bandwidth"]
    assert bandwidth.sentences[0].startswith("Copies of 1 GiB reach 55.2 GB/s down with pinned")


def test_a_rate_of_zero_is_impossible_and_a_time_of_zero_is_not(h100: Run) -> None:
    no_rate = verdict_of(scaled(h100, "device_to_host_memcpy_sm", 0.0))
    no_time = verdict_of(scaled(h100, "device_to_host_small_copy_graph", 0.0))
    assert no_rate.headline.startswith("Not to be trusted")
    assert no_time.headline == verdict_of(h100).headline


def test_a_history_leaves_impossible_numbers_out(h100: Run) -> None:
    last = later(scaled(h100, "host_to_device_memcpy_pageable", -1.0, "last"), 2027)
    _, changes, absent = history_chapter([h100, last]).sentences
    assert "9 of 9 figures" in changes
    assert "1 figure of earlier runs: upload, pageable, 1 GiB." in absent


def test_a_history_of_two_machines_tells_them_apart(h100: Run) -> None:
    device = h100.machine.device.model_copy(update={"uuid": "GPU-2"})
    chapter = history_chapter([h100, changed(h100, "other", device=device)])
    assert "of 2 machines" in chapter.sentences[0]
    heads = chapter.tables[0].heads
    assert any(head.endswith("HBM3 (1)") for head in heads)
    assert any(head.endswith("HBM3 (2)") for head in heads)


def test_several_gpus_are_shown_together_first() -> None:
    two = read_run(str(H100.parents[1] / "two_h200" / "run.json"))
    chapters = {chapter.id: chapter for chapter in chapters_of({"": two})}
    assert chapters["multi"].sentences[0].startswith("All GPUs together copy 109 GB/s up and 110")
    shown = [figure.title for figure in chapters["multi"].figures]
    assert shown == [
        "Several GPUs: host to all, by copy engine",
        "Several GPUs: all to host, by copy engine",
    ]

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fakes import runs
from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.reading import read_run
from isthmus.show.pictures.curves import Look, curves_panel
from isthmus.show.pictures.drawing import COLOURS, MEASURES, described, specification_text
from isthmus.show.pictures.label_places import scale_of, spread
from isthmus.show.pictures.lines import drawable, in_sixes, merged, panels_by_theme, scale_over
from isthmus.show.pictures.of_run import charts, draw_run, missing_pictures

RECORDED = Path(__file__).parents[3] / "benchmarks" / "link"


@pytest.fixture(scope="module", params=[pytest.param("h100", marks=pytest.mark.long), "two_h200"])
def recorded(request: pytest.FixtureRequest) -> Run:
    return read_run(str(RECORDED / request.param / "run.json"))


@pytest.fixture(scope="module")
def documents(recorded: Run) -> list[dict[str, Any]]:
    """Give all pictures of a recorded run, as Vega-Lite."""
    return [described(chart) for chart in charts(recorded).values()]


def rows(part: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - Vega-Lite
    """List all rows of data in a chart."""
    found = part if isinstance(part, dict) else {}
    yield from (row for data in found.get("datasets", {}).values() for row in data)


def layers(panel: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """List the layers of a panel with a kind of mark."""
    return [layer for layer in panel["layer"] if layer["mark"]["type"] == kind]


def curve_rows(document: dict[str, Any], panel: dict[str, Any]) -> list[dict[str, Any]]:
    """List the data of a panel's curves; none if it has single points."""
    found = [layer for layer in layers(panel, "line") if "strokeWidth" in layer["encoding"]]
    return [row for layer in found for row in document["datasets"][layer["data"]["name"]]]


def test_every_suite_with_times_or_rates_is_drawn_and_the_others_are_explained(
    recorded: Run,
) -> None:
    drawn = {result.suite for result in drawable(recorded)}
    themes = panels_by_theme({"": drawable(recorded)})
    in_pictures = {
        result.suite
        for _, panels in themes.values()
        for panel in panels
        for line in (*panel.curves, *panel.points)
        for result in line.results
    }
    assert in_pictures == drawn
    explained = {line.partition(":")[0] for line in missing_pictures(recorded)}
    assert drawn | explained == {result.suite for result in recorded.results}


def test_every_result_is_in_exactly_one_picture(recorded: Run) -> None:
    results = drawable(recorded)
    placed = [
        id(result)
        for _, panels in panels_by_theme({"": results}).values()
        for panel in panels
        for line in (*panel.curves, *panel.points)
        for result in line.results
    ]
    assert sorted(placed) == sorted(map(id, results))


def test_no_curve_has_two_values_at_one_size(recorded: Run) -> None:
    for _, panels in panels_by_theme({"": drawable(recorded)}).values():
        for panel in panels:
            for line in (*panel.curves, *panel.points):
                assert len(line.sizes) == len(line.results), (panel.title, line.label)


def test_a_panel_has_at_most_six_colours_each_for_one_curve(
    documents: list[dict[str, Any]],
) -> None:
    assert len(set(COLOURS)) == 6
    for document in documents:
        for panel in document["concat"]:
            pairs = {(row["what"], row["colour"]) for row in curve_rows(document, panel)}
            assert len(pairs) == len({name for name, _ in pairs})
            assert len(pairs) == len({colour for _, colour in pairs})
            assert {colour for _, colour in pairs} <= set(range(6))


def test_a_curve_that_is_drawn_later_is_thinner_and_hides_none(
    documents: list[dict[str, Any]],
) -> None:
    for document in documents:
        for panel in document["concat"]:
            widths = {row["what"]: row["width"] for row in curve_rows(document, panel)}
            assert list(widths.values()) == sorted(set(widths.values()), reverse=True)


def test_there_is_no_legend_and_every_curve_has_words_beside_it(
    documents: list[dict[str, Any]],
) -> None:
    for document in documents:
        for panel in document["concat"]:
            encoded = [layer["encoding"] for layer in panel["layer"]]
            assert all(one["color"]["legend"] is None for one in encoded)
            [words] = layers(panel, "text")
            beside = {
                row["colour"]
                for row in document["datasets"][words.get("data", panel.get("data"))["name"]]
            }
            assert beside >= {row["colour"] for row in curve_rows(document, panel)}


def test_no_words_have_the_underscores_of_names(recorded: Run) -> None:
    for _, panels in panels_by_theme({"": drawable(recorded)}).values():
        words = [panel.title for panel in panels]
        words += [line.label for panel in panels for line in (*panel.curves, *panel.points)]
        assert [word for word in words if "_" in word] == []


def times(result: Result, factor: float) -> Result:
    return result.model_copy(update={"median": (result.median or 0) * factor})


def test_curves_that_would_hide_each_other_are_drawn_as_one_with_both_names() -> None:
    pinned = [r for r in drawable(runs.run()) if r.test == "window_push"]
    [(_, [panel])] = panels_by_theme({"": pinned}).values()
    curves = panel.curves
    values = [r.median or 0.0 for line in curves for r in line.results]
    scale = scale_of(values, 280)
    near = [r for line in curves[:1] for r in line.results]
    twin = type(curves[0])(label="twin", results=tuple(times(r, 1.001) for r in near))
    other = type(curves[0])(label="other", results=tuple(times(r, 1.5) for r in near))
    labels = [line.label for line in merged([curves[0], twin, other], scale, 1.0)]
    assert labels == [f"{curves[0].label}; twin", "other"]


def test_more_curves_than_colours_are_divided_evenly() -> None:
    pinned = [r for r in drawable(runs.run()) if r.test == "window_push"]
    [(_, [panel])] = panels_by_theme({"": pinned}).values()
    assert [len(group) for group in in_sixes(panel.curves[:1] * 13)] == [5, 5, 3]
    assert in_sixes([]) == []


def test_bars_from_minimum_to_maximum_end_where_the_axis_ends() -> None:
    pushed = [r for r in drawable(runs.run()) if r.test == "window_push"]
    [(_, [panel])] = panels_by_theme({"": pushed}).values()
    [first, *_] = panel.curves
    wide = [
        r.model_copy(update={"min": 0.0, "max": 1000 * (r.median or 0.0)}) for r in first.results
    ]
    scale = scale_over([replace(first, results=tuple(wide))], MEASURES[panel.unit])
    look = Look(measure=MEASURES[panel.unit], ranges=True, colours={})
    chart = described(curves_panel("bars", [replace(first, results=tuple(wide))], scale, look))
    [bars] = [layer for layer in chart["layer"] if layer["mark"]["type"] == "rule"]
    drawn = chart["datasets"][bars["data"]["name"]]
    assert len(drawn) == len(wide)
    assert {row["value"] for row in drawn} == {scale.low}
    assert {row["max"] for row in drawn} == {scale.high}


def test_labels_keep_their_places_if_they_can_and_their_distance_always() -> None:
    assert spread([50, 100], [10, 10], 280) == [50, 100]
    assert spread([100, 50, 51], [10, 20, 10], 280) == [100, 50, 65]
    assert spread([278, 279, 280], [10, 10, 10], 280) == [255, 265, 275]
    crowded = spread([5] * 4, [100] * 4, 280)
    assert [after - before for before, after in pairwise(crowded)] == [100] * 3


def test_an_axis_is_logarithmic_if_values_differ_much_and_goes_back_from_pixels() -> None:
    for values in ([1.0, 3.0], [1.0, 1000.0]):
        scale = scale_of(values, 280)
        assert scale.logarithmic == (values[1] == 1000.0)
        assert all(scale.value(scale.pixel(v)) == pytest.approx(v) for v in values)
        assert 0 <= scale.pixel(values[1]) < scale.pixel(values[0]) <= 280


def test_numbers_are_drawn_in_the_unit_of_their_axis() -> None:
    run = runs.run()
    chart = described(charts(run)["bandwidth"])
    result = next(
        r for r in run.results if (r.test, r.bytes) == ("host_to_device_memcpy_ce", 1 << 30)
    )
    drawn = {row["value"] for row in rows(chart) if row.get("bytes", result.bytes) == result.bytes}
    assert any(value == pytest.approx((result.median or 0) / 1e9) for value in drawn)


@pytest.mark.parametrize("emulated", [True, pytest.param(False, marks=pytest.mark.long)])
def test_every_picture_of_an_emulated_run_says_so(emulated: bool) -> None:
    for chart in charts(runs.run(emulated=emulated)).values():
        assert ("EMULATED" in chart.to_dict()["title"]["subtitle"]) == emulated


@pytest.mark.long
def test_each_picture_is_written_in_four_forms(tmp_path: Path) -> None:
    run = runs.run()
    few = [r for r in run.results if r.test == "window_push"]
    drawn = draw_run(run.model_copy(update={"results": few}), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"windows.{suffix}" for suffix in ("html", "json", "png", "svg")
    ]
    assert sorted(drawn.files) == sorted(tmp_path.iterdir())
    assert drawn.missing == ()
    assert (tmp_path / "windows.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_without_results_has_no_pictures_and_says_so(tmp_path: Path) -> None:
    drawn = draw_run(runs.run().model_copy(update={"results": []}), tmp_path)
    assert (drawn.files, drawn.missing) == ((), ("nothing: the run has no results",))


def test_a_suite_that_was_waived_has_no_picture_and_the_reason_is_told(recorded: Run) -> None:
    waived = [result for result in recorded.results if result.status == "waived"]
    if waived:
        lines = missing_pictures(recorded.model_copy(update={"results": waived}))
        assert len(lines) == len({result.suite for result in waived})
        assert all("everything was waived: " in line for line in lines)


def test_a_circumstance_that_follows_from_the_size_does_not_cut_a_curve() -> None:
    run = runs.run()
    pinned = [r for r in drawable(run) if r.test == "window_push" and r.metric == "asked"]
    live = [r.model_copy(update={"axes": {"live": index + 1}}) for index, r in enumerate(pinned)]
    [(_, [panel])] = panels_by_theme({"": live}).values()
    assert [len(line.results) for line in panel.curves] == [len(pinned)]


def test_a_panel_of_several_runs_has_a_curve_of_each_beside_the_other() -> None:
    pushed = [r for r in drawable(runs.run()) if r.test == "window_push"]
    [(_, [alone])] = panels_by_theme({"": pushed}).values()
    [(_, [both])] = panels_by_theme({"run a": pushed, "run b": pushed}).values()
    expected = [f"{line.label}, {run}" for line in alone.curves for run in ("run a", "run b")]
    assert [line.label for line in both.curves] == expected


def test_characters_that_no_picture_can_have_are_drawn_as_their_numbers() -> None:
    vl_convert = pytest.importorskip("vl_convert", reason="isthmus[report] is not installed")
    word = "a\x00b\x1bc\x0cd\ufffee\tf\\u0001"
    whole = {
        "data": {"values": [{"word": word}]},
        "mark": "text",
        "encoding": {"text": {"field": "word"}},
    }
    drawn = vl_convert.vegalite_to_svg(specification_text(whole))
    assert "a\\u0000b\\u001bc\\fd\\ufffee\tf\\u0001" in drawn

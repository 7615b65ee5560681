from pathlib import Path
from typing import Any

import pytest

from fakes import runs
from isthmus.report.pictures import charts, draw_run


def rows(chart: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = chart["datasets"][chart["data"]["name"]]
    return found


def test_a_run_is_drawn_suite_by_suite_with_a_line_for_each_test() -> None:
    drawn = {name: chart.to_dict() for name, chart in charts(runs.run()).items()}
    assert {"bandwidth", "windows-bandwidth"} <= drawn.keys()
    named = {row["what"] for row in rows(drawn["bandwidth"])}
    assert "host_to_device_memcpy_ce" in named
    assert all(len({row["what"] for row in rows(chart)}) <= 20 for chart in drawn.values())


def test_numbers_are_drawn_in_the_unit_of_their_axis() -> None:
    run = runs.run()
    chart = charts(run)["bandwidth"].to_dict()
    assert chart["encoding"]["y"]["title"] == "GB/s, median"
    result = next(
        r for r in run.results if (r.test, r.bytes) == ("host_to_device_memcpy_ce", 1 << 30)
    )
    drawn = [
        row["median"]
        for row in rows(chart)
        if (row["what"], row["bytes"]) == (result.test, result.bytes)
    ]
    assert drawn == [pytest.approx((result.median or 0) / 1e9)]


@pytest.mark.parametrize("emulated", [True, False])
def test_every_picture_of_an_emulated_run_says_so(emulated: bool) -> None:
    for chart in charts(runs.run(emulated=emulated)).values():
        assert ("EMULATED" in chart.to_dict()["title"]["subtitle"]) == emulated


def test_each_picture_is_written_in_four_forms(tmp_path: Path) -> None:
    run = runs.run()
    few = [r for r in run.results if r.test == "window_push"]
    files = draw_run(run.model_copy(update={"results": few}), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"windows-time.{suffix}" for suffix in ("html", "json", "png", "svg")
    ]
    assert sorted(files) == sorted(tmp_path.iterdir())
    assert (tmp_path / "windows-time.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_with_nothing_over_sizes_has_no_pictures(tmp_path: Path) -> None:
    assert draw_run(runs.run().model_copy(update={"results": []}), tmp_path) == []


def test_a_circumstance_that_follows_from_the_size_does_not_cut_a_line() -> None:
    run = runs.run()
    pinned = [r for r in run.results if r.test == "host_to_device_memcpy_ce" and r.median]
    sizes = sorted({r.bytes for r in pinned})
    live = [r.model_copy(update={"axes": {"live": sizes.index(r.bytes) + 1}}) for r in pinned]
    chart = charts(run.model_copy(update={"results": live}))["bandwidth"].to_dict()
    assert {row["what"] for row in rows(chart)} == {"host_to_device_memcpy_ce"}
    assert sorted({row["bytes"] for row in rows(chart)}) == sizes

"""
Draws the pictures of docs/concepts from recorded results, all measured on GPUs.

    python docs/draw_concepts.py [FOLDER]

Each is written twice, as NAME-light.svg and NAME-dark.svg; the default folder is
docs/pictures/concepts. Needs `pip install ".[report]"`.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt

from isthmus.ground.sizes import format_size
from isthmus.measure.run.model import Run, Status
from isthmus.measure.run.reading import read_run_file

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures" / "concepts"
LINK = ROOT / "benchmarks" / "link" / "h100" / "run.json"
WINDOWS = ROOT / "benchmarks" / "windows" / "h200" / "run.json"
COPIES = ROOT / "benchmarks" / "transfer" / "h200"
_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
_GB, _US = 1e9, 1e6
# Ink, grid, and the colours of lines. They differ in lightness too.
THEMES = {
    "light": ("#1f2328", "#d1d9e0", ("#0b6e4f", "#d1495b", "#3066be", "#7a7f87")),
    "dark": ("#e6edf3", "#3d444d", ("#4fd1a1", "#ff8a80", "#8ab4f8", "#9aa4ae")),
}
# Room to the right of the last point, for the names of lines: a part of the logarithmic axis.
_ROOM = 0.3
Curve = Mapping[int, float]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """
    Lines over sizes.

    Attributes:
        title: Above it.
        unit: Of the numbers.
        curves: Number by size in bytes, by name.
        ticks: The sizes with a label.
        logarithmic: The vertical axis.
    """

    title: str
    unit: str
    curves: Mapping[str, Curve]
    ticks: tuple[int, ...]
    logarithmic: bool = False


def measured(run: Run, test: str, metric: str) -> dict[int, float]:
    """Give the medians of a test in plain circumstances, by size in bytes."""
    return {
        result.bytes: result.median
        for result in run.results
        if (result.test, result.metric, result.status) == (test, metric, Status.PASSED)
        and (result.cpu_cache, result.num_threads, result.axes) == ("warm", 1, {})
        and result.median is not None
    }


def scaled(curve: Curve, factor: float) -> dict[int, float]:
    """Multiply the numbers of a curve."""
    return {size: value * factor for size, value in curve.items()}


def pageable() -> list[Panel]:
    """Copies by the driver from both kinds of memory."""
    run = read_run_file(LINK)
    ways = {"pinned": "memcpy_ce", "pageable": "memcpy_pageable"}
    directions = {"upload": "host_to_device", "download": "device_to_host"}
    return [
        Panel(
            title=title,
            unit="GB/s",
            curves={
                name: scaled(measured(run, f"{direction}_{way}", "bandwidth"), 1 / _GB)
                for name, way in ways.items()
            },
            ticks=(4, _KIB, 256 * _KIB, 64 * _MIB),
        )
        for title, direction in directions.items()
    ]


def staging() -> list[Panel]:
    """Uploads and downloads of pageable memory, by how many cores stage it."""
    cores = {"16 cores": "details", "4 cores": "cores_4", "1 core": "cores_1"}
    panels = []
    for title, direction in {"upload": "h2d", "download": "d2h"}.items():
        curves = {name: staged(file, direction, "isthmus_s") for name, file in cores.items()}
        curves["cudaMemcpy"] = staged("details", direction, "rival_s")
        ticks = (_MIB, 16 * _MIB, 256 * _MIB)
        panels.append(Panel(title=title, unit="GB/s", curves=curves, ticks=ticks))
    return panels


def staged(file: str, direction: str, column: str) -> dict[int, float]:
    """Give the GB/s of copies of pageable memory from 1 MiB on, powers of four."""
    record: dict[str, Any] = json.loads((COPIES / f"{file}.json").read_text("utf-8"))
    rows = record["sweep" if "sweep" in record else "large"]
    wanted = {_MIB * 4**power for power in range(6)}
    return {
        row["bytes"]: row["bytes"] / row[column] / _GB
        for row in rows
        if (row["direction"], row["kind"]) == (direction, "pageable") and row["bytes"] in wanted
    }


def window() -> list[Panel]:
    """Small copies by the CPU and by the driver."""
    run = read_run_file(WINDOWS)
    kinds = {
        "CPU to GPU": ("window_write", "fenced", "write, fenced"),
        "GPU to CPU": ("window_read", "complete", "read"),
    }
    return [
        Panel(
            title=title,
            unit="microseconds",
            curves={
                words: scaled(measured(run, test, metric), _US),
                "cudaMemcpy": scaled(measured(run, test, "memcpy_pinned"), _US),
            },
            ticks=(1, 64, 4 * _KIB, 256 * _KIB),
            logarithmic=True,
        )
        for title, (test, metric, words) in kinds.items()
    ]


MOMENTS = {
    "api_return": "the call returns",
    "visible": "a running kernel has answered",
    "completion": "the CPU knows that it is complete",
}
WAYS = {"blocking": "cudaMemcpy, pageable", "async": "cudaMemcpyAsync", "window": "window"}


def moments() -> dict[tuple[str, str], float]:
    """Give the microseconds of an upload of 4 B, by way and metric."""
    run = read_run_file(LINK)
    return {
        (way, metric): measured(run, f"host_to_device_small_copy_{way}", metric)[4] * _US
        for way in WAYS
        for metric in MOMENTS
    }


def migration() -> list[Panel]:
    """A kernel that reads managed memory from the host's side, against copying it."""
    run = read_run_file(LINK)
    test = "host_to_device_managed_{}"
    ways = {"prefetched": "prefetched", "read in place": "advised", "faults": "demand"}
    curves = {
        words: scaled(measured(run, test.format(way), "bandwidth"), 1 / _GB)
        for words, way in ways.items()
    }
    sizes = set(curves["faults"])
    copied = measured(run, "host_to_device_memcpy_ce", "bandwidth")
    curves["copied, pinned"] = scaled({s: v for s, v in copied.items() if s in sizes}, 1 / _GB)
    ticks = (_MIB, 16 * _MIB, 256 * _MIB)
    return [Panel(title="host to GPU", unit="GB/s", curves=curves, ticks=ticks)]


PANELS: dict[str, Callable[[], list[Panel]]] = {
    "pageable": pageable,
    "staging": staging,
    "window": window,
    "migration": migration,
}
TITLES = {
    "pageable": "Copies by the driver, H100, PCIe Gen5 x16",
    "staging": "Copies of pageable memory, H200, PCIe Gen5 x16: cores that stage",
    "window": "One copy through a window and by the driver, H200",
    "ordering": "An upload of 4 B, H100: microseconds from the call until",
    "migration": "Managed memory by how it reaches the GPU, H100",
}


def line_panel(panel: Panel, colours: Iterable[str]) -> alt.LayerChart:
    """Draw a panel: a line for each curve, with its name at its end."""
    rows = [
        {"what": name, "bytes": size, "value": value}
        for name, curve in panel.curves.items()
        for size, value in sorted(curve.items())
    ]
    sizes = [row["bytes"] for row in rows]
    least, most = min(sizes), max(sizes)
    names = json.dumps({str(tick): format_size(tick) for tick in panel.ticks})
    edge = most * (most / least) ** _ROOM
    x = alt.X(
        "bytes:Q",
        scale=alt.Scale(type="log", base=2, domain=[least, edge], nice=False),
        axis=alt.Axis(
            values=list(panel.ticks), labelExpr=f"({names})[datum.value]", title="size", grid=False
        ),
    )
    kind = "log" if panel.logarithmic else "linear"
    y = alt.Y(
        "value:Q",
        scale=alt.Scale(type=kind),
        axis=alt.Axis(title=panel.unit, tickCount=5, format="~g" if panel.logarithmic else "d"),
    )
    colour = alt.Color(
        "what:N",
        scale=alt.Scale(domain=[*panel.curves], range=[*colours][: len(panel.curves)]),
        legend=None,
    )
    base = alt.Chart(alt.Data(values=rows))
    lines = base.mark_line(strokeWidth=2.5).encode(x=x, y=y, color=colour)
    ends = alt.Chart(alt.Data(values=labels(panel)))
    words = ends.mark_text(align="left", dx=6, fontSize=12, fontWeight="bold").encode(
        x=x, y=y, color=colour, text="what:N"
    )
    return alt.layer(lines, words).properties(width=330, height=210, title=panel.title)


def labels(panel: Panel) -> list[dict[str, object]]:
    """Place names at the ends of curves, and move those apart that would hide each other."""
    ends = {name: (max(curve), curve[max(curve)]) for name, curve in panel.curves.items()}
    most = max(value for curve in panel.curves.values() for value in curve.values())
    step, factor = 0.075 * most, 1.7
    placed: list[dict[str, object]] = []
    before: float | None = None
    for name, (size, end) in sorted(ends.items(), key=lambda item: item[1][1]):
        value = end
        if before is not None:
            value = max(end, before * factor if panel.logarithmic else before + step)
        before = value
        placed.append({"what": name, "bytes": size, "value": value})
    return placed


def moment_chart(colours: Iterable[str]) -> alt.LayerChart:
    """Draw the moments of each way as points on a line, each with its time."""
    rows = [
        {"way": WAYS[way], "moment": MOMENTS[metric], "value": value, "shown": f"{value:.2g}"}
        for (way, metric), value in moments().items()
    ]
    x = alt.X(
        "value:Q",
        scale=alt.Scale(type="log", domain=[0.03, 10]),
        axis=alt.Axis(values=[0.1, 1, 10], format="~g", title="microseconds", grid=True),
    )
    y = alt.Y("way:N", sort=[*WAYS.values()], title=None)
    colour = alt.Color(
        "moment:N",
        scale=alt.Scale(domain=[*MOMENTS.values()], range=[*colours][: len(MOMENTS)]),
        legend=alt.Legend(title=None, orient="top", labelLimit=240, symbolSize=120),
    )
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y, color=colour)
    points = base.mark_point(filled=True, size=130, opacity=1)
    # The middle moment's time stands below: elsewhere it would hide another.
    words = [
        base.transform_filter(f"datum.moment {sign} '{MOMENTS['visible']}'")
        .mark_text(dy=shift, fontSize=12, fontWeight="bold")
        .encode(text="shown:N")
        for sign, shift in (("!=", -14), ("==", 16))
    ]
    return alt.layer(points, *words).properties(width=620, height=170)


def picture(name: str, theme: str) -> alt.TopLevelMixin:
    """Draw one picture in one theme."""
    ink, grid, colours = THEMES[theme]
    if name == "ordering":
        drawn: Any = alt.hconcat(moment_chart(colours))
    else:
        drawn = alt.hconcat(*(line_panel(panel, colours) for panel in PANELS[name]()))
    chart: alt.TopLevelMixin = (
        drawn.properties(background="transparent", title=alt.Title(TITLES[name], anchor="start"))
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=ink, titleColor=ink, gridColor=grid, domainColor=grid, tickColor=grid
        )
        .configure_legend(labelColor=ink)
        .configure_title(color=ink)
    )
    return chart


def main(arguments: list[str]) -> int:
    """Draw every picture in both themes."""
    folder = Path(arguments[0]) if arguments else PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    for name in TITLES:
        for theme in THEMES:
            picture(name, theme).save(str(folder / f"{name}-{theme}.svg"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

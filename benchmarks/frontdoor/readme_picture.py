"""
Draws README's picture from recorded results: docs/pictures/copies-light.svg and copies-dark.svg.

    python benchmarks/frontdoor/readme_picture.py [SIDE_BY_SIDE.json [FOLDER]]

It shows copies of NumPy arrays, which are in pageable memory, by `isthmus.copy`, PyTorch's `copy_`,
and CuPy's `set` and `get`, as benchmarks/transfer/side_by_side.py has measured them.
"""

import json
import sys
from pathlib import Path
from typing import Any

import altair as alt

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "benchmarks" / "transfer" / "h200" / "side_by_side.json"
PICTURES = ROOT / "docs" / "pictures"
# From the names in the record to those in the picture, with both panels' directions.
SHOWN = {
    ("h2d", "isthmus, to a torch tensor"): "Isthmus",
    ("h2d", "torch copy_"): "PyTorch",
    ("h2d", "cupy set"): "CuPy",
    ("d2h", "isthmus, of a torch tensor"): "Isthmus",
    ("d2h", "torch copy_"): "PyTorch",
    ("d2h", "cupy get(out=)"): "CuPy",
}
PANELS = {"h2d": "NumPy to GPU", "d2h": "GPU to NumPy"}
# Ink, grid, and the libraries' colours. They differ in lightness too.
THEMES = {
    "light": (
        "#1f2328",
        "#d1d9e0",
        {"Isthmus": "#0b6e4f", "PyTorch": "#d1495b", "CuPy": "#7a7f87"},
    ),
    "dark": ("#e6edf3", "#3d444d", {"Isthmus": "#4fd1a1", "PyTorch": "#ff8a80", "CuPy": "#9aa4ae"}),
}
_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
# Of the axis, and of the labels at the lines.
TICKS = [4, 64 * _KIB, _GIB]
# A phone shows the picture in 360 of its 470 pixels: letters keep 10.
LETTERS = 13
SIZE = (
    "datum.value < 1024 ? datum.value + ' B' : datum.value < 1048576 ? datum.value / 1024 + ' KiB'"
)
SIZE += " : datum.value < 1073741824 ? datum.value / 1048576 + ' MiB' : '1 GiB'"


def points(record: dict[str, Any]) -> list[dict[str, Any]]:
    """List the bandwidths of copies of warm pageable memory."""
    return [
        {
            "library": SHOWN[row["direction"], row["contestant"]],
            "panel": row["direction"],
            "bytes": row["bytes"],
            "gigabytes_per_second": row["bytes"] / row["median_s"] / 1e9,
        }
        for row in record["results"]
        if (row["kind"], row["target"]) == ("pageable", "warm")
        and (row["direction"], row["contestant"]) in SHOWN
    ]


def panel(rows: list[dict[str, Any]], direction: str, colours: dict[str, str]) -> alt.LayerChart:
    """Draw one direction: a line for each library, with its name at the end."""
    shown = alt.Data(values=[row for row in rows if row["panel"] == direction])
    x = alt.X(
        "bytes:Q",
        scale=alt.Scale(type="log", base=2, domain=[4, 1 << 42], nice=False),
        axis=alt.Axis(values=TICKS, labelExpr=SIZE, title="size", grid=False),
    )
    y = alt.Y(
        "gigabytes_per_second:Q",
        scale=alt.Scale(domain=[0, 60]),
        axis=alt.Axis(title="GB/s" if direction == "h2d" else None, tickCount=4),
    )
    colour = alt.Color(
        "library:N", scale=alt.Scale(domain=[*colours], range=[*colours.values()]), legend=None
    )
    lines = alt.Chart(shown).mark_line(strokeWidth=2.5).encode(x=x, y=y, color=colour)
    # PyTorch's and CuPy's lines end together: one name above, the other below.
    names = [
        alt.Chart(shown)
        .transform_filter(f"datum.bytes == {_GIB} && datum.library == '{library}'")
        .mark_text(align="left", dx=4, dy=shift, fontSize=LETTERS, fontWeight="bold")
        .encode(x=x, y=y, color=colour, text="library:N")
        for library, shift in (("Isthmus", 0), ("PyTorch", 9), ("CuPy", -9))
    ]
    title = PANELS[direction]
    return alt.layer(lines, *names).properties(width=190, height=180, title=title)


def picture(record: dict[str, Any], theme: str) -> alt.HConcatChart:
    """Draw both directions beside each other."""
    ink, grid, colours = THEMES[theme]
    rows = points(record)
    machine = record["machine"]
    drawn = alt.hconcat(*(panel(rows, direction, colours) for direction in PANELS))
    return (
        drawn.properties(
            background="transparent",
            title=alt.Title(
                f"{machine['device']}, "
                f"PCIe Gen{machine['link_generation']} x{machine['link_width']}",
                anchor="start",
            ),
        )
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=ink,
            titleColor=ink,
            gridColor=grid,
            domainColor=grid,
            tickColor=grid,
            labelFontSize=LETTERS,
            titleFontSize=LETTERS,
        )
        .configure_title(color=ink, fontSize=LETTERS)
    )


def main(arguments: list[str]) -> int:
    """Draw both pictures."""
    record = json.loads(Path(arguments[0] if arguments else RECORD).read_text("utf-8"))
    if record["machine"]["emulated"]:
        print("these results are modelled: README shows measured ones", file=sys.stderr)
        return 1
    folder = Path(arguments[1]) if len(arguments) > 1 else PICTURES
    for theme in THEMES:
        picture(record, theme).save(str(folder / f"copies-{theme}.svg"))
        print(folder / f"copies-{theme}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

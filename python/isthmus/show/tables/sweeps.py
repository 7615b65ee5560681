"""Each sweep over sizes as a line of bars: what the tables' numbers look like."""

from collections.abc import Iterator, Sequence

from isthmus.ground.sizes import format_size
from isthmus.measure.run.model import Run
from isthmus.show.page import Table
from isthmus.show.pictures.lines import Line, Panel, drawable, panels_by_theme
from isthmus.show.quantities import quantity
from isthmus.show.tables.sparks import bars, is_logarithmic

# Of each picture, the panels that answer its question; None: all.
_PANELS: dict[str, tuple[str, ...] | None] = {
    "bandwidth": None,
    "latency-h2d": ("until complete",),
    "latency-d2h": ("until complete",),
    "windows": ("write", "read"),
    "alloc-host-memory": ("allocate", "free"),
    "alloc-device-memory": ("allocate", "free"),
    "alloc-lives": ("allocate, upload, free", "allocate, upload, download, free"),
    "host": ("by one core and by all",),
}
# Through fewer, the table says as much.
_FEWEST_SIZES = 5


def sweep_tables(run: Run) -> list[Table]:
    """Draw the sweeps that tell most."""
    return [
        table
        for name, (theme, panels) in panels_by_theme({"": drawable(run)}).items()
        if name in _PANELS
        for panel in panels
        if panel.curves and panel.title in (_PANELS[name] or (panel.title,))
        for table in _tables(", ".join(filter(None, (theme.title, panel.title))), panel)
    ]


def _tables(title: str, panel: Panel) -> Iterator[Table]:
    """Draw the curves of a panel in one scale; nothing through few sizes."""
    values = [result.median or 0.0 for curve in panel.curves for result in curve.results]
    low, high = min(values), max(values)
    sizes = sorted({size for curve in panel.curves for size in curve.sizes})
    if len(sizes) < _FEWEST_SIZES:
        return
    heights = ", log scale" if is_logarithmic(low, high) else ""
    yield Table(
        title=f"{title}: one bar per size, {format_size(sizes[0])} to "
        f"{format_size(sizes[-1])}{heights}",
        heads=("", "", "least", "most"),
        rows=tuple(_row(curve, sizes, low, high, panel.unit) for curve in panel.curves),
        num_text_columns=2,
    )


def _row(
    curve: Line, sizes: Sequence[int], low: float, high: float, unit: str
) -> tuple[str, str, str, str]:
    medians = {result.bytes: result.median or 0.0 for result in curve.results}
    least, most = min(medians.values()), max(medians.values())
    return (
        curve.label,
        bars(medians, sizes, low, high),
        quantity(least, unit),
        quantity(most, unit),
    )

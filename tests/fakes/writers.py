"""Every way in which a command writes a file that users keep."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from fakes import profiles, runs, traces
from isthmus.decide.profile.store import save_profile
from isthmus.files.whole import write_whole
from isthmus.measure.run.store import save_run
from isthmus.show.pictures.drawing import write_chart
from isthmus.sim.timeline import write_timeline
from isthmus.sim.trace.file import record_trace
from isthmus.sim.trace.importing import import_trace


class Chart:
    """A picture that draws itself at once: `VL_CONVERT` is what draws it."""

    def to_dict(self, *, validate: bool) -> dict[str, object]:
        assert not validate
        return {"mark": "point"}


VL_CONVERT = SimpleNamespace(
    vegalite_to_svg=lambda _: "<svg/>",
    vegalite_to_html=lambda _, *, bundle: f"<html bundle={bundle}/>",
    vegalite_to_png=lambda _, *, scale: b"png" * int(scale),
)


def _chart(folder: Path) -> None:
    write_chart(cast("Any", Chart()), folder / "chart")


def _timeline(folder: Path) -> None:
    events: Any = SimpleNamespace(kernels=["k"], rows=[("launch", 0, 0, 0, 5)], num_dropped=0)
    write_timeline(events, folder / "timeline.json")


def _imported_trace(folder: Path) -> None:
    kernels = folder.parent / "kernels"
    kernels.mkdir(exist_ok=True)
    listed = traces.write_kernels(kernels, traces.kernel_text(traces.LOAD_LINE))
    import_trace(listed, folder / "imported.arrow")


WRITERS: dict[str, Callable[[Path], object]] = {
    "a run": lambda folder: save_run(runs.run(), folder / "data" / "runs"),
    "a report": lambda folder: write_whole(folder / "report.txt", "a report\n"),
    "a profile": lambda folder: save_profile(profiles.profile(), folder / "profiles" / "p.json"),
    "pictures": _chart,
    "a timeline": _timeline,
    "a recorded trace": lambda folder: record_trace(traces.source(), folder / "recorded.arrow"),
    "a packed trace": lambda folder: record_trace(
        traces.source(), folder / "packed.arrow", compression="zstd"
    ),
    "an imported trace": _imported_trace,
}
"""What is written -> writes it into a folder that exists."""

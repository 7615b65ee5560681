"""The samples behind the numbers, if they were kept."""

from isthmus.ground.sizes import format_size
from isthmus.measure.run.model import Result, Run
from isthmus.show.page import Table
from isthmus.show.quantities import quantity

# At most this many are printed; the run's file has all.
_MAX_SHOWN = 6


def samples_table(run: Run) -> Table | None:
    """Lay out extremes, mean and the first samples of each result; None if none were kept."""
    kept = [result for result in run.results if result.samples]
    if not kept:
        return None
    return Table(
        title=f"Samples, the first {_MAX_SHOWN}",
        heads=("test", "metric", "size", "circumstances", "samples", "min", "max", "mean", "n"),
        rows=tuple(map(_row, kept)),
        num_text_columns=5,
    )


def _row(result: Result) -> tuple[str, ...]:
    shown = [quantity(sample, result.unit) for sample in (result.samples or [])[:_MAX_SHOWN]]
    extremes = (quantity(value, result.unit) for value in (result.min, result.max, result.mean))
    return (
        *(result.test, result.metric, format_size(result.bytes), result.variation),
        ", ".join(shown),
        *extremes,
        str(result.n),
    )

"""A run as CSV: a header, then one row for each result, empty where there is nothing."""

from isthmus.ground.json_text import csv_of_records
from isthmus.measure.run.model import Result, Run

# Nested fields are flattened; raw samples are in the JSON only.
_PLAIN = tuple(
    name
    for name in Result.model_fields
    if name not in ("host_pages_by_node", "error", "reason", "samples", "repeats")
)
COLUMNS = (
    "emulated",
    *_PLAIN,
    "host_pages_by_node",
    "reason",
    "error_symbol",
    "error_code",
    "error_code_name",
    "error_message",
)


def as_csv(run: Run) -> str:
    """Write a run's results as CSV, in bytes and seconds."""
    return csv_of_records(COLUMNS, (_row(run, result) for result in run.results))


def _row(run: Run, result: Result) -> dict[str, object]:
    error, pages = result.error, result.host_pages_by_node or {}
    return {
        "emulated": str(run.machine.emulated).lower(),
        **{name: getattr(result, name) for name in _PLAIN},
        "blocked": str(result.blocked).lower(),
        "axes": " ".join(f"{name}={value}" for name, value in result.axes.items()),
        "clock_reasons": None if result.clock_reasons is None else " ".join(result.clock_reasons),
        "host_pages_by_node": " ".join(f"{node}:{count}" for node, count in pages.items()),
        "reason": result.reason,
        "error_symbol": error and error.symbol,
        "error_code": error and error.code,
        "error_code_name": error and error.code_name,
        "error_message": error and error.message,
    }

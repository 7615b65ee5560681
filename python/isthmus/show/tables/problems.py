"""The tests that gave no number, and the reasons."""

from itertools import groupby

from isthmus.ground.sizes import format_size
from isthmus.ground.spelling import counted
from isthmus.measure.run.model import Result, Run, Status
from isthmus.show.tables.waived import by_suite, waived_count, waived_lines

_Key = tuple[str, str]


def problem_lines(run: Run) -> list[str]:
    """Name what was waived, a line for each reason, and then what failed."""
    return [*waived_lines(run), *error_lines(run)]


def problem_counts(run: Run) -> list[str]:
    """Count what was waived, and what failed with a line for each message."""
    failed: dict[str, list[Result]] = {}
    for result in run.results:
        if result.status == Status.ERROR:
            failed.setdefault(_key(result)[1], []).append(result)
    errors = (
        f"error, {by_suite(found)}, first {found[0].test} {format_size(found[0].bytes)}: {message}"
        for message, found in failed.items()
    )
    return [*waived_count(run), *errors]


def error_lines(run: Run) -> list[str]:
    """Name what failed; neighbours with the same message share a line."""
    failed = [result for result in run.results if result.status == Status.ERROR]
    return [_line(key, list(group)) for key, group in groupby(failed, key=_key)]


def _key(result: Result) -> _Key:
    return result.test, result.error.message if result.error else ""


def _line(key: _Key, results: list[Result]) -> str:
    test, message = key
    sizes = sorted({result.bytes for result in results})
    metrics = list(dict.fromkeys(result.metric for result in results))
    where = format_size(sizes[0])
    if len(sizes) > 1:
        where += f"..{format_size(sizes[-1])} ({counted(len(sizes), 'size')})"
    return f"error: {test} {', '.join(metrics)}, {where}: {message}"

"""What did not yield a number, and why: one line for each reason."""

from itertools import groupby

from isthmus.report.labels import BANDWIDTH, about_windows
from isthmus.run.model import Result, Run, Status
from isthmus.sizes import format_size

# These suites' notes say what they waive.
_TELL_THEMSELVES = frozenset({"numa", "multi"})
_Key = tuple[str, str, str]


def problem_lines(run: Run) -> list[str]:
    """
    Name what was waived or failed; neighbours with the same reason share a line.

    Waived latencies, and what is waived of windows, are told beside their tables.
    """
    troubled = [
        result
        for result in run.results
        if result.status == Status.ERROR
        or (
            result.status == Status.WAIVED
            and result.metric == BANDWIDTH
            and not about_windows(result)
            and result.suite not in _TELL_THEMSELVES
        )
    ]
    return [_line(key, list(group)) for key, group in groupby(troubled, key=_key)]


def _key(result: Result) -> _Key:
    message = result.error.message if result.error else result.reason or ""
    return result.status.value, result.test, message


def _line(key: _Key, results: list[Result]) -> str:
    status, test, message = key
    sizes = sorted({result.bytes for result in results})
    metrics = list(dict.fromkeys(result.metric for result in results))
    where = format_size(sizes[0])
    if len(sizes) > 1:
        where += f"..{format_size(sizes[-1])} ({len(sizes)} sizes)"
    return f"{status}: {test} {', '.join(metrics)}, {where}: {message}"

"""A report on watched processes as text: the verdict, what blocked, and the tables."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from isthmus.ground.sizes import approximate_size, format_size
from isthmus.ground.spelling import counted
from isthmus.show.fitting import blocks_text, table_lines, wrapped, wrapped_lines
from isthmus.show.heading import WHOSE_TIME
from isthmus.show.page import Table
from isthmus.show.quantities import readable
from isthmus.watching.model import (
    EntryLine,
    Finding,
    Loss,
    Place,
    ProcessLine,
    Replaced,
    SiteLine,
    Sums,
    Violation,
    WatchReport,
)

_LineT = TypeVar("_LineT", bound=Sums)

WIDTH = 80
_MOST_PLACES, _MOST_ROWS = 3, 12
# Less than this part of all isn't worth a sentence; JSON has it.
_SMALL = 0.01
UNKNOWN = "(place not recorded)"
EMULATED = f"EMULATED GPU: modelled. {WHOSE_TIME} No GPU was measured."


def watch_as_text(report: WatchReport, *, width: int = WIDTH) -> str:
    """Write a report, and those of its ranks before it."""
    ranks = "".join(f"{watch_as_text(one, width=width)}\n" for one in report.ranks)
    together = [f"All {len(report.ranks)} ranks together"] if report.ranks else []
    warning = [EMULATED] if report.modelled else []
    findings = [_finding_lines(one, width) for one in worth_telling(report)]
    blocks = [
        wrapped_lines([*warning, *together, *head_lines(report)], width),
        [*wrapped(verdict_sentence(report), width), *(line for one in findings for line in one)],
        violation_lines(report.violations, width),
        wrapped_lines(blocking_sentences(report), width),
        *(table_lines(table, width) for table in watch_tables(report, most=_MOST_ROWS)),
        wrapped_lines(report.notes, width),
        wrapped(f"predicted by: {report.predicted_by}", width),
    ]
    return ranks + blocks_text(blocks)


def head_lines(report: WatchReport) -> list[str]:
    """Say what ran, and for how long."""
    code = "" if report.exit_code is None else f", exit code {report.exit_code}"
    command = " ".join(report.command) or next((one.command for one in report.processes), "")
    rank = f"rank {report.rank}, " if report.rank else ""
    number = len(report.processes)
    processes = f"{number} {'process' if number == 1 else 'processes'}"
    return [
        f"isthmus watch: {command}{code}",
        f"{rank}{readable(report.seconds, 's')} from the first call of the driver, {processes}",
    ]


def worth_telling(report: WatchReport) -> list[Finding]:
    """Leave out the causes of less than a hundredth of the seconds."""
    least = _SMALL * report.verdict.seconds
    return [
        one for one in report.verdict.findings if one.seconds - one.predicted_seconds >= least > 0
    ]


def verdict_sentence(report: WatchReport) -> str:
    """Say how long copies took, and how much of it was avoidable."""
    found = report.verdict
    if not found.seconds:
        return "No copies."
    parts = [
        f"{readable(seconds, 's')} {words}"
        for seconds, words in (
            (found.copy_seconds, "copying"),
            (found.pinning_seconds, "pinning and unpinning"),
            (found.copy_wait_seconds, "waiting for copies alone"),
        )
        if seconds
    ]
    part = found.avoidable_seconds / found.seconds
    avoidable = (
        f"{readable(found.avoidable_seconds, 's')} of these avoidable ({part:.0%})"
        if found.avoidable_seconds
        else "nothing of it avoidable"
    )
    how = "estimated, " if report.estimated else ""
    return f"Copies took {readable(found.seconds, 's')} ({', '.join(parts)}); {how}{avoidable}."


def verdict_line(report: WatchReport) -> str:
    """Write one line about a process: what it lost, and where it lost most."""
    rank = f"rank {report.rank}, " if report.rank else ""
    pid = ", ".join(str(one.pid) for one in report.processes)
    worst = next(iter(worth_telling(report)), None)
    most = ""
    if worst:
        saved = readable(worst.seconds - worst.predicted_seconds, "s")
        most = f" Most: {worst.cause}, {saved} at {worst.places[0].site or UNKNOWN}."
    modelled = "modelled: " if report.modelled else ""
    return f"isthmus watch: {rank}pid {pid}: {modelled}{verdict_sentence(report)}{most}"


def exec_line(replaced: Replaced | None) -> str:
    """Write one line about what was replaced, and what that saved."""
    if replaced is None:
        return "isthmus exec: no copy replaced: no call of the CUDA driver was seen"
    name = "isthmus exec --audit" if replaced.audit else "isthmus exec"
    failed = f"; {replaced.failed} failed and were made by the driver" if replaced.failed else ""
    tail = f"{failed}: {replaced.reason}" if replaced.reason else failed
    if not replaced.copies:
        return f"{name}: no copy {'would be ' if replaced.audit else ''}replaced{tail}"
    number = f"{replaced.copies} {'copy' if replaced.copies == 1 else 'copies'}"
    took, other = (readable(s, "s") for s in (replaced.seconds, replaced.predicted_seconds))
    saved = f"{readable(abs(replaced.saved_seconds), 's')} {_gained(replaced)}"
    size = approximate_size(replaced.bytes)
    if replaced.audit:
        return f"{name}: {number}, {size}, took {took}; predicted {other}, {saved}{tail}"
    return f"{name}: {number} replaced, {size} in {took}; the driver: {other}, {saved}{tail}"


def _gained(replaced: Replaced) -> str:
    return "saved" if replaced.saved_seconds >= 0 else "lost"


def violation_lines(violations: Iterable[Violation], width: int) -> list[str]:
    """Name what was violated, and where."""
    lines = []
    for one in violations:
        lines += wrapped(f"FAILED {one.condition}: {one.why}", width)
        lines += _place_lines(one.places[:_MOST_PLACES], width, "    ")
    return lines


def blocking_sentences(report: WatchReport) -> list[str]:
    """Say how often calls blocked that a program meant not to."""
    names = {
        "copy": "hidden synchronisation (asynchronous copies that blocked)",
        "wait": "copy-wait (waits directly after a copy)",
    }
    sentences = []
    for kind, name in names.items():
        lines = [one for one in report.entries if one.kind == kind and one.hidden]
        seconds = readable(sum(one.hidden_seconds for one in lines), "s")
        calls = counted(sum(one.hidden for one in lines), "call")
        sentences += [f"{name}: {calls}, {seconds}"] if lines else []
    return sentences


def watch_tables(report: WatchReport, *, most: int) -> list[Table]:
    """Make the tables, each of at most so many rows."""
    copies = [one for one in report.entries if one.kind == "copy"]
    others = [one for one in report.entries if one.kind not in {"copy", "launch"}]
    tables = [
        _table("Copies", ("from", "to", "size", "entry point"), copies, most, _copy_words),
        _table("Other calls", ("what", "entry point"), others, most, lambda o: (o.kind, o.entry)),
        _table("Places", ("copies and waits at",), report.sites, most, _site_words),
        _table("Threads", ("thread", "name"), report.threads, most, lambda o: (f"{o.tid}", o.name)),
        _table(
            "Streams", ("pid", "stream"), report.streams, most, lambda o: (f"{o.pid}", o.stream)
        ),
        _table("Processes", ("pid", "rank", "command"), report.processes, most, _process_words),
    ]
    return [table for table in tables if table is not None]


def _table(
    title: str,
    heads: tuple[str, ...],
    lines: Sequence[_LineT],
    most: int,
    words: Callable[[_LineT], tuple[str, ...]],
) -> Table | None:
    """Make a table; what all rows lack has no column."""
    columns = {
        "calls": [str(one.calls) for one in lines],
        "bytes": [approximate_size(one.bytes) if one.bytes else "" for one in lines],
        "time": [readable(one.seconds, "s") for one in lines],
        "longest": [readable(one.longest_seconds, "s") for one in lines],
        "waited": [readable(one.wait_seconds, "s") if one.wait_seconds else "" for one in lines],
        "hidden": [str(one.hidden or "") for one in lines],
        "replaced": [str(one.replaced or "") for one in lines],
        "failed": [str(one.failed or "") for one in lines],
    }
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    rows = [(*words(one), *cells) for one, *cells in zip(lines, *shown.values(), strict=True)]
    left = f" ({len(rows) - most} more: --format json)" if len(rows) > most else ""
    whole = Table(
        title=f"{title}{left}",
        heads=(*heads, *shown),
        rows=tuple(rows[:most]),
        num_text_columns=len(heads),
    )
    return whole if lines else None


def _copy_words(line: EntryLine) -> tuple[str, ...]:
    size = line.size_from_bytes
    return line.source, line.target, f"from {format_size(size)}" if size else "0 B", line.entry


def _site_words(line: SiteLine) -> tuple[str, ...]:
    return (line.site or UNKNOWN,)


def _process_words(line: ProcessLine) -> tuple[str, ...]:
    ended = "" if line.ended else " (runs, or was killed)"
    return f"{line.pid}", line.rank, f"{line.command}{ended}"


def cause_text(one: Finding) -> str:
    """Write what a cause took, and would take."""
    then = readable(one.predicted_seconds, "s") if one.predicted_seconds else "none"
    return f"{one.cause}: {readable(one.seconds, 's')}, predicted {then}"


def _finding_lines(one: Finding, width: int) -> list[str]:
    size = f", {approximate_size(one.bytes)}" if one.bytes else ""
    title = f"- {cause_text(one)} ({counted(one.calls, 'call')}{size})"
    change = wrapped(f"    change: {one.change}", width, indent="      ")
    more = len(one.places) - _MOST_PLACES
    return [
        *wrapped(title, width),
        *change,
        *_place_lines(one.places[:_MOST_PLACES], width, "    at "),
        *([f"    and at {counted(more, 'more place')}"] if more > 0 else []),
    ]


def _place_lines(places: Iterable[Place], width: int, indent: str) -> list[str]:
    lines = []
    for one in places:
        lost = f": {readable(one.seconds, 's')}" if isinstance(one, Loss) else ""
        lines += wrapped(f"{indent}{one.site or UNKNOWN}{lost}", width, indent="      ")
        if one.source_line:
            lines += wrapped(f"        {one.source_line}", width, indent="          ")
    return lines

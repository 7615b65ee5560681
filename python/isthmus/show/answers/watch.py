"""A report on watched processes as text: the verdict, what blocked, and the tables."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from isthmus.ground.sizes import approximate_size, format_size
from isthmus.ground.spelling import counted, shortened
from isthmus.show.fitting import blocks_text, table_lines, wrapped, wrapped_lines
from isthmus.show.heading import WHOSE_TIME
from isthmus.show.page import Table
from isthmus.show.quantities import readable
from isthmus.watching.model import (
    NO_CUDA,
    EntryLine,
    Finding,
    Loss,
    Place,
    ProcessLine,
    Sums,
    Violation,
    WatchReport,
)

_LineT = TypeVar("_LineT", bound=Sums)

WIDTH = 80
_MOST_PLACES, _MOST_ROWS = 3, 12
# Less than this part of all isn't worth a sentence or a row; JSON has it.
_SMALL = 0.01
_MOST_OF_A_COMMAND = 200
UNKNOWN = "(place not recorded)"
EMULATED = f"EMULATED GPU: modelled. {WHOSE_TIME} No GPU was measured."


def watch_as_text(report: WatchReport, *, width: int = WIDTH) -> str:
    """Write a report: sentences of up to 80 columns, and tables of `width`."""
    narrow = min(width, WIDTH)
    warning = [EMULATED] if report.modelled else []
    findings = [_finding_lines(one, narrow) for one in worth_telling(report)]
    tables = watch_tables(report, most=_MOST_ROWS, least=_SMALL)
    blocks = [
        wrapped_lines([*warning, *head_lines(report)], narrow),
        [*wrapped(verdict_sentence(report), narrow), *(line for one in findings for line in one)],
        violation_lines(report.violations, narrow),
        wrapped_lines(blocking_sentences(report), narrow),
        *(table_lines(table, width) for table in tables),
        wrapped_lines(report.notes, narrow),
        wrapped(f"predicted by: {report.predicted_by}", narrow),
    ]
    return blocks_text(blocks)


def head_lines(report: WatchReport) -> list[str]:
    """Say what ran, and for how long."""
    code = "" if report.exit_code is None else f", exit code {report.exit_code}"
    words = " ".join(report.command) or next((one.command for one in report.processes), "")
    command = shortened(" ".join(words.split()), most=_MOST_OF_A_COMMAND)
    rank = f"rank {report.rank}, " if report.rank else ""
    ranks = f", {len(report.ranks)} ranks" if report.ranks else ""
    number = len(report.processes)
    processes = f"{number} {'process' if number == 1 else 'processes'}{ranks}"
    lasted = (
        f"{readable(report.seconds, 's')} from the first call of the driver, {processes}"
        if report.seconds or not report.processes
        else f"{processes}, killed or still running"
    )
    return [f"isthmus watch: {command}{code}", f"{rank}{lasted}"]


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
    how = "an estimated " if report.estimated else ""
    avoidable = (
        f"{how}{readable(found.avoidable_seconds, 's')} of that was avoidable ({part:.0%})"
        if found.avoidable_seconds
        else "none of that was avoidable"
    )
    of_these = f" ({', '.join(parts)})" if found.copy_seconds < found.seconds else ""
    return f"Copies took {readable(found.seconds, 's')}{of_these}; {avoidable}."


def verdict_line(report: WatchReport) -> str:
    """Write one line about a process: what it lost, and where it lost most."""
    rank = f"rank {report.rank}, " if report.rank else ""
    pid = ", ".join(str(one.pid) for one in report.processes)
    worst = next(iter(worth_telling(report)), None)
    most = ""
    if worst:
        saved = readable(worst.seconds - worst.predicted_seconds, "s")
        most = f" Most: {worst.cause}, {saved} at {_first_place(worst)}."
    modelled = "modelled: " if report.modelled else ""
    return f"isthmus watch: {rank}pid {pid}: {modelled}{verdict_sentence(report)}{most}"


def _first_place(one: Finding) -> str:
    return next((place.site for place in one.places if place.site), UNKNOWN)


def exec_line(report: WatchReport, none: str) -> str:
    """Write one line about what was replaced, and what that saved; `none` says why not, if so."""
    replaced = report.replaced
    if replaced is None:
        why = "it was switched off for this program" if report.processes else NO_CUDA
        return f"isthmus exec: no copy replaced: {why}"
    name = "isthmus exec --audit" if replaced.audit else "isthmus exec"
    failed = f"; {replaced.failed} failed and were made by the driver" if replaced.failed else ""
    tail = f"{failed}: {replaced.reason}" if replaced.reason else failed
    pool = f"; {counted(replaced.pinned, 'pinned allocation')} from the pool"
    pool = pool if replaced.pinned else ""
    if not replaced.copies:
        why = tail if replaced.reason else f"{failed}: {none}"
        return f"{name}: no copy {'would be ' if replaced.audit else ''}replaced{why}{pool}"
    number = f"{replaced.copies} {'copy' if replaced.copies == 1 else 'copies'}"
    took, other = (readable(s, "s") for s in (replaced.seconds, replaced.predicted_seconds))
    gained = "saved" if replaced.saved_seconds >= 0 else "lost"
    saved = f"{readable(abs(replaced.saved_seconds), 's')} {gained}{tail}{pool}"
    size = approximate_size(replaced.bytes)
    if replaced.audit:
        return f"{name}: {number}, {size}, took {took}; predicted {other}, {saved}"
    return f"{name}: {number} replaced, {size} in {took}; predicted without: {other}, {saved}"


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


def watch_tables(report: WatchReport, *, most: int, least: float = 0) -> list[Table]:
    """
    Make the tables, each of at most so many rows, and of rows with that part of its seconds. What
    only repeats the processes has none.
    """
    copies = [one for one in report.entries if one.kind == "copy"]
    others = [one for one in report.entries if one.kind not in {"copy", "launch"}]
    number = len(report.processes)
    ranked = ("rank",) if any(one.rank for one in report.processes) else ()

    def table(
        title: str,
        heads: tuple[str, ...],
        lines: Sequence[_LineT],
        words: Callable[[_LineT], tuple[str, ...]],
    ) -> list[Table]:
        return [_table(title, heads, lines, words, most, least)] if lines else []

    threads = report.threads if len(report.threads) > number else []
    streams = report.streams if len(report.streams) > number else []
    return [
        *([_ranks_table(report.ranks, most)] if report.ranks else []),
        *table("Copies", ("from", "to", "size", "entry point"), copies, _copy_words),
        *table("Other calls", ("what", "size", "entry point"), others, _call_words),
        *table("Places", ("copies and waits at",), report.sites, lambda at: (at.site or UNKNOWN,)),
        *table("Threads", ("thread", "name"), threads, lambda one: (f"{one.tid}", one.name)),
        *table("Streams", ("pid", "stream"), streams, lambda one: (f"{one.pid}", one.stream)),
        *table(
            "Processes",
            ("pid", *ranked, "command"),
            report.processes if number > 1 else [],
            lambda one: (f"{one.pid}", *([one.rank] if ranked else []), _command_words(one)),
        ),
    ]


def _ranks_table(ranks: Sequence[WatchReport], most: int) -> Table:
    """Name of each rank what it lost most by; the slowest first."""
    rows = []
    for one in sorted(ranks, key=lambda one: -one.verdict.seconds):
        worst = next(iter(worth_telling(one)), None)
        place = _first_place(worst) if worst else ""
        seconds = (one.verdict.seconds, one.verdict.avoidable_seconds)
        took = (readable(each, "s") if each else "" for each in seconds)
        rows.append((one.rank, worst.cause if worst else "", place, *took))
    heads = ("rank", "loses most by", "at", "time", "avoidable")
    title = _titled("Ranks", len(rows) - most)
    return Table(title=title, heads=heads, rows=tuple(rows[:most]), num_text_columns=3)


def _titled(title: str, left: int) -> str:
    return f"{title} ({left} more: --format json)" if left > 0 else title


def _table(
    title: str,
    heads: tuple[str, ...],
    lines: Sequence[_LineT],
    words: Callable[[_LineT], tuple[str, ...]],
    most: int,
    least: float,
) -> Table:
    """Make a table; what all rows lack has no column."""
    whole = sum(one.seconds for one in lines)
    shown = [one for one in lines if one.seconds >= least * whole or one.failed][:most]
    columns = {
        "calls": [str(one.calls) for one in shown],
        "bytes": [approximate_size(one.bytes) if one.bytes else "" for one in shown],
        "time": [readable(one.seconds, "s") if one.seconds else "" for one in shown],
        "longest": [readable(one.longest_seconds, "s") if one.calls else "" for one in shown],
        "waited": [readable(one.wait_seconds, "s") if one.wait_seconds else "" for one in shown],
        "hidden": [str(one.hidden or "") for one in shown],
        "replaced": [str(one.replaced or "") for one in shown],
        "failed": [str(one.failed or "") for one in shown],
    }
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    rows = [(*words(one), *cells) for one, *cells in zip(shown, *columns.values(), strict=True)]
    return Table(
        title=_titled(title, len(lines) - len(shown)),
        heads=(*heads, *columns),
        rows=tuple(rows),
        num_text_columns=len(heads),
    )


def _copy_words(line: EntryLine) -> tuple[str, ...]:
    return line.source, line.target, _size_words(line) or "0 B", line.entry


def _call_words(line: EntryLine) -> tuple[str, ...]:
    return line.kind, _size_words(line), line.entry


def _size_words(line: EntryLine) -> str:
    return f"from {format_size(line.size_from_bytes)}" if line.size_from_bytes else ""


def _command_words(line: ProcessLine) -> str:
    return f"{shortened(line.command)}{'' if line.ended else ' (runs, or was killed)'}"


def cause_text(one: Finding) -> str:
    """Write what a cause took, and would take."""
    then = readable(one.predicted_seconds, "s") if one.predicted_seconds else "0"
    size = f", {approximate_size(one.bytes)}" if one.bytes else ""
    number = counted(one.calls, "call")
    return f"{one.cause}: {readable(one.seconds, 's')}, predicted {then} ({number}{size})"


def _finding_lines(one: Finding, width: int) -> list[str]:
    change = wrapped(f"    change: {one.change}", width, indent="      ")
    # Of native places few calls are recorded: they are compared among themselves.
    recorded = sum(place.seconds for place in one.places if place.site)
    places = [place for place in one.places if place.seconds >= _SMALL * recorded]
    more = len(places) - _MOST_PLACES
    return [
        *wrapped(f"- {cause_text(one)}", width),
        *change,
        *_place_lines(places[:_MOST_PLACES], width, "    at "),
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

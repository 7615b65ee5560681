"""Makes a report of what processes have counted: sums by all that matters, and the verdict."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from isthmus.decide.profile.model import Path
from isthmus.ground.spelling import counted, listed
from isthmus.ground.version import __version__
from isthmus.watching.conditions import Condition, violations_of
from isthmus.watching.costs import Costs
from isthmus.watching.counters import Calls, Process, Site
from isthmus.watching.model import (
    NO_CUDA,
    EntryLine,
    Finding,
    Loss,
    ProcessLine,
    Replaced,
    SiteLine,
    StreamLine,
    Sums,
    ThreadLine,
    Verdict,
    WatchReport,
)
from isthmus.watching.places import source_line
from isthmus.watching.verdict import ADVICE, Share, verdict_on
from isthmus.watching.verdict import Verdict as Judged

_NS = 1e-9
_COUNTS = (
    *("calls", "items", "bytes", "captured", "failed", "hidden", "replaced", "replaced_bytes"),
)
_LineT = TypeVar("_LineT", bound=Sums)
_Calls = tuple[Process, Calls]


def report_on(
    processes: Sequence[Process],
    costs: Costs,
    *,
    command: Sequence[str] = (),
    exit_code: int | None = None,
    conditions: Sequence[Condition] = (),
    until_ns: int = 0,
) -> WatchReport:
    """
    Report on processes together, and on each rank if there are several. Those without an end are
    taken to have run until a time of the wall clock; 0: nobody knows.
    """
    judged = verdict_on(processes, costs)
    rows = [(process, row) for process in processes for row in process.calls]
    used = [(process, row) for process, row in rows if row.kind in {"copy", "wait"}]
    ranks = sorted({one.rank for one in processes if one.rank}, key=lambda rank: (len(rank), rank))
    return WatchReport(
        isthmus_version=__version__,
        command=list(command),
        exit_code=exit_code,
        modelled=costs.modelled or any(one.emulated for one in processes),
        estimated=costs.estimated,
        predicted_by=costs.source,
        rank=ranks[0] if len(ranks) == 1 else "",
        seconds=_seconds(processes, until_ns),
        verdict=_verdict(judged),
        entries=_lines(rows, _entry_of, EntryLine),
        sites=_lines(used, lambda _, row: _place(row.site), SiteLine),
        threads=_lines(
            used,
            lambda one, row: {"pid": one.pid, "tid": row.thread.tid, "name": row.thread.name},
            ThreadLine,
        ),
        streams=_lines(
            used, lambda one, row: {"pid": one.pid, "stream": f"{row.stream:#x}"}, StreamLine
        ),
        processes=_process_lines(processes),
        replaced=_replaced(processes, costs),
        violations=violations_of(conditions, rows, judged),
        notes=_notes(processes),
        ranks=[
            report_on([one for one in processes if one.rank == rank], costs, until_ns=until_ns)
            for rank in (ranks if len(ranks) > 1 else [])
        ],
    )


def _lines(
    rows: Iterable[_Calls], key: Callable[[Process, Calls], Any], kind: type[_LineT]
) -> list[_LineT]:
    """Sum up rows with equal keys; those with the most seconds come first."""
    groups: defaultdict[Any, list[Calls]] = defaultdict(list)
    for process, row in rows:
        words = key(process, row)
        # Processes of several nodes may have the same number.
        groups[process.path if "pid" in words else None, *words.items()].append(row)
    lines = [kind(**dict(words), **_sums(group)) for (_, *words), group in groups.items()]
    return sorted(lines, key=lambda line: -line.seconds - line.wait_seconds)


def _sums(rows: Iterable[Calls]) -> dict[str, Any]:
    rows = list(rows)

    def total(name: str) -> int:
        return sum(getattr(row, name) for row in rows)

    times = {"seconds": "own_ns", "wait_seconds": "wait_ns"}
    times |= {f"{name}_seconds": f"{name}_ns" for name in ("hidden", "replaced")}
    return {
        **{name: total(name) for name in _COUNTS},
        **{name: total(member) * _NS for name, member in times.items()},
        "longest_seconds": max((row.max_ns for row in rows), default=0) * _NS,
    }


def _entry_of(_: Process, row: Calls) -> dict[str, Any]:
    return {
        "entry": row.entry,
        "kind": row.kind,
        "direction": row.direction,
        "source": row.source,
        "target": row.target,
        "size_from_bytes": 1 << row.size_class - 1 if row.size_class else 0,
    }


def _process_lines(processes: Sequence[Process]) -> list[ProcessLine]:
    return [
        ProcessLine(
            pid=one.pid,
            parent_pid=one.parent_pid,
            rank=one.rank,
            command=one.command,
            ended=bool(one.end_ns),
            launches=sum(thread.launches for thread in one.threads),
            **_sums(row for row in one.calls if row.kind in {"copy", "wait"}),
        )
        for one in processes
    ]


def _seconds(processes: Sequence[Process], until_ns: int) -> float:
    begins = [one.begin_ns for one in processes]
    ends = [one.end_ns or max(one.begin_ns, until_ns) for one in processes]
    return max(0, max(ends, default=0) - min(begins, default=0)) * _NS


def _verdict(judged: Judged) -> Verdict:
    return Verdict(
        seconds=judged.seconds,
        copy_seconds=judged.copying,
        pinning_seconds=judged.pinning,
        copy_wait_seconds=judged.waiting,
        avoidable_seconds=judged.avoidable,
        findings=[
            Finding(
                cause=one.cause.value,
                change=ADVICE[one.cause],
                calls=round(one.total(lambda share: share.calls)),
                bytes=round(one.total(lambda share: share.bytes)),
                seconds=one.total(lambda share: share.now),
                predicted_seconds=one.total(lambda share: share.predicted),
                places=[_loss(share) for share in one.shares],
            )
            for one in judged.findings
        ],
    )


def _place(site: Site) -> dict[str, str]:
    return {"site": site.place, "source_line": source_line(site)}


def _loss(share: Share) -> Loss:
    return Loss(
        **_place(share.site),
        calls=round(share.calls),
        bytes=round(share.bytes),
        seconds=share.now,
        predicted_seconds=share.predicted,
    )


def _replaced(processes: Sequence[Process], costs: Costs) -> Replaced | None:
    """Compare what the engine copied with the driver; in an audit the other way round."""
    executed = [one for one in processes if one.exec_mode != "off"]
    if not executed:
        return None
    audit = all(one.exec_mode == "audit" for one in executed)
    calls = [row for one in executed for row in one.calls if row.replaced]
    rows = [row for row in calls if row.direction]
    seconds = sum(row.replaced_ns for row in rows) * _NS
    predicted = sum(_replaced_by(row, costs, audit=audit) for row in rows)
    return Replaced(
        audit=audit,
        copies=sum(row.replaced for row in rows),
        bytes=sum(row.replaced_bytes for row in rows),
        seconds=seconds,
        predicted_seconds=predicted,
        saved_seconds=seconds - predicted if audit else predicted - seconds,
        pinned=sum(row.replaced for row in calls if row.kind == "pin"),
        failed=sum(one.exec_failed for one in executed),
        reason=next((one.exec_reason for one in executed if one.exec_reason), ""),
    )


def _replaced_by(row: Calls, costs: Costs, *, audit: bool) -> float:
    """Predict a row's replaced copies by the driver; in an audit by the engine."""
    ways = (Path.DRIVER, Path.STAGED) if audit else (Path.STAGED, Path.DRIVER)
    size, seconds = row.replaced_bytes // row.replaced, row.replaced_ns / row.replaced * _NS
    return row.replaced * (costs.instead(row.direction, size, seconds, *ways) or 0)


def _notes(processes: Sequence[Process]) -> list[str]:
    if not processes:
        return [NO_CUDA]
    unwatched = sorted({name for one in processes for name in one.unwatched})
    rows, sites = (
        sum(getattr(one, name) for one in processes) for name in ("rows_lost", "sites_lost")
    )
    events = sum(one.events_lost for one in processes)
    return [
        *([f"not watched, and copies: {listed(unwatched)}"] if unwatched else []),
        *([f"{counted(rows, 'call')} found no room in the tables: not counted"] if rows else []),
        *([f"the places of {counted(sites, 'call')} found no room"] if sites else []),
        *([f"{counted(events, 'call')} didn't fit into the timeline"] if events else []),
    ]

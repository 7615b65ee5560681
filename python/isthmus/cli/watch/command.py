"""`isthmus watch`."""

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from isthmus.cli.failure import Ended, ExitCode, report_failure
from isthmus.cli.state import state_of
from isthmus.cli.watch.options import ProgramArgument, require_program
from isthmus.cli.watch.reports import WatchFormat, format_for, put_report, report_text
from isthmus.errors import UsageError, WriteError

# The page draws the longest calls of so many.
_EVENTS_OF_A_PAGE = 100_000


def watch(
    context: typer.Context,
    program: ProgramArgument = None,
    *,
    output_format: Annotated[
        WatchFormat | None,
        typer.Option("--format", help="The report's format.  [default: by --output, or text]"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Write the report here.  [default: stderr]"
        ),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write each call as a trace for Perfetto (JSON)."),
    ] = None,
    python_sites: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Note the line of Python of each copy of 10 us or more and of one in N shorter "
            "ones; 0: no places at all.  [default: 16]",
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Show a line a second on a terminal.")
    ] = False,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="CONDITIONS",
            help="End with exit code 3 if one is met: hidden-sync, copy-wait, pinning, "
            "pageable>SIZE, seconds>N, avoidable>N; separated by commas.",
        ),
    ] = None,
    audit_library: Annotated[
        bool,
        typer.Option(
            "--audit-library", help="Also see calls of libraries opened with RTLD_DEEPBIND."
        ),
    ] = False,
    read: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Report on counters in a folder instead of running."),
    ] = None,
) -> None:
    """
    Run a program, and say what its copies cost.

    The program runs unchanged: its output and exit code are its own. The report says how long
    copies took, how much of that was avoidable, why, and at which lines. Predictions are of
    this machine's profile. docs/watch.md explains each number.

    Exit codes: the program's; with --fail-on 3 if a condition is met, and 5 if no call of CUDA was
    seen; 2 usage, 126 and 127 as in shells.
    """
    from isthmus.cli.output import check_output
    from isthmus.cli.stderr import say
    from isthmus.cli.watch.session import program_environment, read_folder, watched_run
    from isthmus.files.whole import write_whole
    from isthmus.watching.conditions import parse_conditions
    from isthmus.watching.costs import costs_here
    from isthmus.watching.counters import MAX_EVENTS
    from isthmus.watching.environment import watched_environment
    from isthmus.watching.model import NO_CUDA
    from isthmus.watching.reporting import report_on
    from isthmus.watching.timeline import timeline_text

    conditions = parse_conditions(fail_on) if fail_on is not None else []
    wanted = format_for(output, output_format)
    if wanted is WatchFormat.HTML:
        from isthmus.show.document.page_templates import check_templates
        from isthmus.show.pictures.drawing import check_pictures

        check_templates()
        check_pictures()
    check_output(output)
    check_output(timeline)
    if read is not None and program:
        raise UsageError("--read runs no program", hint="leave out one of both")
    for_page = _EVENTS_OF_A_PAGE if wanted is WatchFormat.HTML else 0
    events = for_page if timeline is None else MAX_EVENTS
    blind = ExitCode.CANT_TELL if conditions else ExitCode.OK
    with (
        watched_run(
            "watch",
            require_program(context, program),
            lambda folder: watched_environment(
                program_environment(),
                folder,
                events=events,
                python_sites=python_sites,
                audit_library=audit_library,
            ),
            events=events,
            live=live,
            unwatched=blind,
        )
        if read is None
        else nullcontext((None, read_folder(read, strict=True)))
    ) as (code, processes):
        costs = costs_here(emulated=any(one.emulated for one in processes))
        report = report_on(
            processes,
            costs,
            command=program or (),
            exit_code=code,
            conditions=conditions,
            until_ns=time.time_ns() if read is None else 0,
        )
        if not processes:
            say(f"isthmus watch: {NO_CUDA}{': --fail-on judges nothing' if conditions else ''}")
        try:
            if timeline is not None:
                write_whole(timeline, timeline_text(processes, modelled=report.modelled))
            if processes or output is not None:
                put_report(report, report_text(report, wanted, processes, output), output)
        except WriteError as error:
            report_failure(error, debug=state_of(context).debug)
            raise Ended(code or ExitCode.ERROR) from None
        good = ExitCode.OK if processes else blind
        raise Ended(ExitCode.BELOW_THRESHOLD if report.violations else code or good)

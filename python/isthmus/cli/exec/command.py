"""`isthmus exec`."""

from typing import Annotated

import typer

from isthmus.cli.failure import Ended
from isthmus.cli.watch.options import ProgramArgument, require_program
from isthmus.ground.spelling import shortened


def execute(
    context: typer.Context,
    program: ProgramArgument = None,
    *,
    audit: Annotated[
        bool, typer.Option("--audit", help="Replace nothing; predict what that would save.")
    ] = False,
    only: Annotated[
        str,
        typer.Option(
            metavar="LINE|ENTRY",
            help="Only copies at places with this text (train.py:12), or by an entry point.",
        ),
    ] = "",
    off: Annotated[
        str,
        typer.Option(metavar="PATH", help="Leave alone programs whose path has this text."),
    ] = "",
    pin: Annotated[
        bool, typer.Option("--pin", help="Give pinned memory from a pool that keeps it.")
    ] = False,
    min_bytes: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Replace copies of this size or more; never uploads of 2 MiB or less, nor "
            "downloads of 64 KiB or less.  [default: where the profile says it pays]",
        ),
    ] = None,
) -> None:
    """
    Run a program with its slow copies replaced by Isthmus's.

    Copies of pageable memory are staged instead; the rest stays the driver's, and so do errors.
    One line at the end says what that saved. ISTHMUS_EXEC=off in the environment stops it.
    docs/exec.md has the exact semantics.

    Exit codes: the program's; 2 usage, 126 and 127 as in shells.
    """
    from isthmus.cli.stderr import say
    from isthmus.cli.watch.session import program_environment, watched_run
    from isthmus.ground.sizes import parse_size
    from isthmus.show.answers.watch import exec_line
    from isthmus.watching.costs import costs_here
    from isthmus.watching.environment import exec_environment, watched_environment
    from isthmus.watching.reporting import report_on

    command = require_program(context, program)
    costs, least = costs_here(), parse_size(min_bytes) if min_bytes else None
    up, down = (least or costs.staged_from(direction) for direction in ("up", "down"))
    with watched_run(
        "exec",
        command,
        lambda folder: exec_environment(
            watched_environment(program_environment(), folder),
            "audit" if audit else "on",
            up=str(up),
            down=str(down),
            only=only,
            off=off,
            pin="1" if pin else "",
        ),
    ) as (code, processes):
        report = report_on(processes, costs)
    modelled = "modelled: " if report.modelled else ""
    say(f"{modelled}{exec_line(report, _none(up, down, only))}")
    raise Ended(code)


def _none(up: int, down: int, only: str) -> str:
    """Say which copies there were none of, in the directions that have any to be replaced."""
    from isthmus.ground.sizes import approximate_size as size
    from isthmus.watching.costs import NEVER_BYTES
    from isthmus.watching.layout import layout

    at = f" at '{shortened(only)}'" if only else ""
    missing = [
        f"no {what} pageable memory{at} had "
        + (f"{size(least)} or more" if least > limit else f"more than {size(limit)}")
        for what, limit, least in (
            ("upload from", layout().most_staged_bytes, up),
            ("download to", layout().most_small_bytes, down),
        )
        if least < NEVER_BYTES
    ]
    driver = "by this machine's profile, the driver's copies of pageable memory are as fast"
    return ", and ".join(missing) or driver

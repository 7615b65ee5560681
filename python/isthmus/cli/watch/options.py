"""What `isthmus watch` and `isthmus exec` have in common on the command line."""

from typing import Annotated

import typer

from isthmus.cli.state import state_of
from isthmus.errors import UsageError

PROGRAM_FOLLOWS = {"allow_interspersed_args": False}
"""The program's own options aren't ours."""
ProgramArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="-- PROGRAM ARGS...", help="What to run.", show_default=False),
]


def require_program(context: typer.Context, program: list[str] | None) -> list[str]:
    """Refuse a command line without a program behind `--`."""
    typed, name = state_of(context).arguments, context.command.name
    if program and typed[-len(program) - 1 : -len(program)] == ("--",):
        return program
    raise UsageError(
        "the program and its arguments follow --", hint=f"isthmus {name} -- python train.py"
    )

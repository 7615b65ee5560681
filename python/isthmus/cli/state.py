"""State that every command shares: the command line as typed, and whether to show tracebacks."""

from dataclasses import dataclass
from typing import Annotated

import typer


@dataclass
class State:
    """The state of one invocation."""

    arguments: tuple[str, ...] = ()
    debug: bool = False


def state_of(context: typer.Context) -> State:
    """Find the state of the invocation that a command runs in."""
    root = context.find_root()
    if not isinstance(root.obj, State):
        root.obj = State()
    return root.obj


def _note_debug(context: typer.Context, value: bool) -> bool:
    if value:
        state_of(context).debug = True
    return value


DebugOption = Annotated[
    bool,
    typer.Option("--debug", callback=_note_debug, help="Show the traceback of a failure."),
]

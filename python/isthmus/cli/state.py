"""State that every command shares: the command line as typed, and whether to show tracebacks."""

from dataclasses import dataclass

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

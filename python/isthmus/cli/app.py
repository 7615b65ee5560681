"""`isthmus`: the program, its commands, and the one place where errors end."""

import functools
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperArgument
from typer.exceptions import Abort, TyperException

from isthmus.cli import MESSAGE
from isthmus.cli.advise import advise
from isthmus.cli.bench.command import bench
from isthmus.cli.compare.command import compare
from isthmus.cli.doctor import doctor
from isthmus.cli.exec.command import execute
from isthmus.cli.failure import Ended, ExitCode, Stopped, report_failure
from isthmus.cli.fleet.command import fleet
from isthmus.cli.profile.command import profile
from isthmus.cli.report.command import report
from isthmus.cli.reproduce.command import Reproduce, reproduce
from isthmus.cli.runs import runs
from isthmus.cli.sim.command import sim
from isthmus.cli.state import State
from isthmus.cli.stderr import say
from isthmus.cli.stdout import print_data
from isthmus.cli.watch.command import watch
from isthmus.cli.watch.options import PROGRAM_FOLLOWS
from isthmus.ground.version import __version__

_DEBUG = "--debug"

app = typer.Typer(
    name="isthmus",
    help=(
        "Move data between CPU and GPU as fast as the link allows, and see why.\n\n"
        "Exit codes: 0 ok, 1 error, 2 usage, 3 below the requested threshold, 4 no device, "
        "5 can't tell, 130 interrupted by Ctrl-C: only unfinished work is lost."
    ),
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    subcommand_metavar="COMMAND",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command()(bench)
app.command()(compare)
app.command()(report)
app.command()(profile)
app.add_typer(advise)
app.command()(doctor)
app.command(cls=Reproduce)(reproduce)
app.add_typer(runs)
app.add_typer(fleet)
app.add_typer(sim)
app.command("watch", context_settings=PROGRAM_FOLLOWS)(watch)
app.command("exec", context_settings=PROGRAM_FOLLOWS)(execute)


def _print_version(value: bool) -> None:
    if value:
        print_data(f"isthmus {__version__}\n")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def program(
    context: typer.Context,
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(_DEBUG, help="Show the traceback of a failure; for every command."),
    ] = False,
) -> None:
    """Move data between CPU and GPU as fast as the link allows, and see why."""
    del version, debug  # a callback has handled one, main() the other
    if context.invoked_subcommand is None:
        print_data(f"{context.get_help()}\n")


class _Argument(TyperArgument):
    """An argument whose help shows no type of Python, and brackets once."""

    def display_type_rich(self, ctx: object) -> None:
        del ctx

    def _usage_display_name(self) -> str:
        return self.display_name_raw if self.required else f"[{self.display_name_raw}]"


# Made once for all calls of main(): that takes as long as many a command.
@functools.cache
def _command() -> Any:  # noqa: ANN401 - typer's private type
    made = typer.main.get_command(app)
    rest = [made]
    for command in rest:
        rest += getattr(command, "commands", {}).values()
        for one in command.params:
            if isinstance(one, TyperArgument):
                one.__class__ = _Argument
    return made


def options_with_values(name: str) -> set[str]:
    """List the options of a command that another word follows."""
    options = [one for one in _command().commands[name].params if not getattr(one, "is_flag", True)]
    return {word for one in options for word in one.opts}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program."""
    typed = tuple(sys.argv[1:] if arguments is None else arguments)
    # --debug may stand anywhere before --, also behind a command that has failed.
    own = typed.index("--") if "--" in typed else len(typed)
    state = State(arguments=typed, debug=_DEBUG in typed[:own])
    try:
        code = _command().main(
            args=[*(word for word in typed[:own] if word != _DEBUG), *typed[own:]],
            prog_name="isthmus",
            standalone_mode=False,
            obj=state,
        )
    except Stopped:
        return ExitCode.INTERRUPTED
    except Ended as ended:
        return ended.code
    except (Abort, KeyboardInterrupt):
        code = ExitCode.INTERRUPTED
    except (TyperException, Exception) as error:  # noqa: BLE001 - here every error ends
        return report_failure(error, debug=state.debug)
    if code == ExitCode.INTERRUPTED:
        # Typer turns Ctrl-C into this code, and prints nothing.
        say(MESSAGE)
    return int(code or ExitCode.OK)

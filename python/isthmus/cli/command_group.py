"""A command that has further commands."""

import typer

from isthmus.cli.stdout import print_data


def command_group(name: str, about: str) -> typer.Typer:
    """Make a command that prints its help if none of its own commands is given."""
    return typer.Typer(
        name=name,
        help=about,
        callback=_show_help,
        invoke_without_command=True,
        subcommand_metavar="COMMAND",
        rich_markup_mode=None,
        context_settings={"max_content_width": 100},
    )


def _show_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print_data(f"{context.get_help()}\n")

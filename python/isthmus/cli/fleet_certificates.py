"""`isthmus fleet certificates`."""

from pathlib import Path
from typing import Annotated

import typer

from isthmus.cli.state import DebugOption
from isthmus.cli.stderr import say_lines
from isthmus.cli.stdout import print_data


def certificates(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A new folder; nothing is ever replaced.")
    ],
    *,
    days: Annotated[
        int, typer.Option(metavar="N", min=1, max=3650, help="How long they are valid.")
    ] = 365,
    debug: DebugOption = False,
) -> None:
    """
    Make certificates for Dask, and print its configuration.

    The folder gets ca.pem, scheduler.pem, worker.pem and client.pem: an authority that is for this
    cluster alone, and for each role a key with its certificate. Whoever has one of the last three
    can run programs on all nodes: only you can read them. Give each machine ca.pem and the file of
    its role, under the same path, and the printed lines as a file *.yaml in ~/.config/dask. Needs
    isthmus[scale].

    Exit codes: 0 ok, 1 error, 2 usage: there is such a folder already.
    """
    del debug  # its callback has stored it
    from isthmus.files.secret import write_secrets
    from isthmus.fleet.certificates import dask_lines, make_certificates

    write_secrets(folder, make_certificates(days))
    say_lines(f"written: {folder}, valid for {days} days; there is no key to add certificates with")
    print_data(dask_lines(folder))

"""The options that commands of `isthmus sim` share."""

from pathlib import Path
from typing import Annotated

import typer

MachineOption = Annotated[
    str,
    typer.Option("-m", "--machine", metavar="NAME|FILE", help="A machine's name or TOML file."),
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a setting of the machine, the policy or the options, or a size of the "
        "workload: link.bandwidth=32GB/s, policy.unit=4KiB, workload.nodes=131072. "
        "May be repeated.",
    ),
]
PlotsOption = Annotated[
    Path | None,
    typer.Option(
        "--plots",
        metavar="FOLDER",
        help="Draw pictures of it into a folder, as SVG, PNG and HTML. Needs isthmus[report].",
    ),
]
SeedOption = Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the workload's inputs.")]

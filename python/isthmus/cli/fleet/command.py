"""`isthmus fleet`: many machines measured as one."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.cli.command_group import command_group
from isthmus.cli.failure import ExitCode
from isthmus.cli.fleet.bench import bench
from isthmus.cli.fleet.export import export
from isthmus.cli.stderr import say
from isthmus.cli.stdout import print_data
from isthmus.cli.terminal import columns_of
from isthmus.errors import UsageError

if TYPE_CHECKING:
    from isthmus.fleet.health import Health

fleet = command_group("fleet", "Measure many machines, and find the bad ones and the cause.")
fleet.command()(bench)


_ExpectOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|GPU",
        help="Also judge by expected values: a file of `isthmus runs expect`, or a GPU such as "
        "H100.",
    ),
]


class FleetFormat(StrEnum):
    """The formats of a verdict on a fleet."""

    TEXT = "text"
    JSON = "json"
    PROMETHEUS = "prometheus"
    JUNIT = "junit"
    HTML = "html"


@fleet.command()
def check(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER",
            help="A folder of runs: NODE.json, or NODE/*.json.  [default: the stored runs]",
        ),
    ] = None,
    *,
    hosts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Expected nodes, one per line: those without a run are dead.",
        ),
    ] = None,
    tolerance: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT",
            help="Largest loss that isn't slow.  [default: 5%]",
        ),
    ] = None,
    expect: _ExpectOption = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also list healthy GPUs, and every finding and cause.")
    ] = False,
    output_format: Annotated[
        FleetFormat, typer.Option("--format", help="The output's format.")
    ] = FleetFormat.TEXT,
) -> None:
    """
    Find the bad GPUs of a fleet, with causes and what to do.

    Each GPU is compared with its class, the machines with the same GPU, link, CPU and driver. A
    family of results is slow if it is slower than in most of the class by more than the tolerance
    and by more than chance. At most 1 % of healthy fleets get a false alarm; there are no
    thresholds to maintain. Some faults need no class: a link below its maximum under load, repeated
    replays, large copies below 0.7 of the rate expected of this GPU, wrong bytes. A dead node has
    no run; a wrong one has errors that others don't have. A loss in a single run that nothing
    explains is doubtful (worth a look): `isthmus bench --repeat 3` shows whether it lasts. Speed is
    judged in classes of four or more. Pairs of a node's GPUs, and the share of each while all of
    them copy (suite multi), are judged likewise.

    Exit codes: 0 ok, 1 error, 2 usage, 3 a GPU or node is dead, wrong or slow.
    """
    from isthmus.cli.bench.arguments import values_of
    from isthmus.cli.compare.tolerance import parse_tolerance
    from isthmus.fleet.check import check_fleet
    from isthmus.fleet.measured import read_fleet
    from isthmus.fleet.nodes import read_hosts
    from isthmus.measure.run.folder import files_of
    from isthmus.measure.run.store import runs_folder

    if output_format is FleetFormat.HTML:
        from isthmus.show.document.page_templates import check_templates
        from isthmus.show.pictures.drawing import check_pictures

        check_templates()
        check_pictures()
    part = parse_tolerance(tolerance)
    expected = [] if hosts is None else read_hosts(hosts)
    where = folder or runs_folder()
    files = files_of(where) if folder or where.is_dir() else []
    if not files and not expected:
        raise UsageError(
            f"there is no run in {where}",
            hint="`isthmus fleet bench` fills a folder, and so does `isthmus bench -o "
            "FOLDER/NODE.json` on each node",
        )
    own = values_of(expect)
    health = check_fleet(read_fleet(files, own), expected=expected, tolerance=part)
    if output_format not in {FleetFormat.TEXT, FleetFormat.HTML}:
        for why in health.unread:
            say(f"left out: {why}")
    print_data(_text(health, output_format, every=every))
    raise typer.Exit(ExitCode.BELOW_THRESHOLD if health.bad else ExitCode.OK)


def _text(health: "Health", wanted: FleetFormat, *, every: bool) -> str:
    if wanted is FleetFormat.TEXT:
        from isthmus.show.answers.fleet import fleet_text

        return fleet_text(health, every=every, width=columns_of(sys.stdout))
    if wanted is FleetFormat.HTML:
        from isthmus.show.document.as_html import as_html
        from isthmus.show.document.fleet import fleet_document

        return as_html(fleet_document(health))
    from isthmus.show.answers.fleet_data import fleet_json, fleet_junit, fleet_prometheus

    if wanted is FleetFormat.JUNIT:
        return fleet_junit(health)
    return fleet_json(health) if wanted is FleetFormat.JSON else fleet_prometheus(health)


fleet.command()(export)

"""`isthmus doctor`."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from isthmus.cli.failure import ExitCode
from isthmus.cli.stdout import print_data
from isthmus.cli.terminal import columns_of

_DEVICE_HELP = (
    "A GPU's number, UUID (or its beginning) or PCI address; emulated, or emulated:PROFILE.  "
    "[default: all GPUs, or emulated without one]"
)


class DoctorFormat(StrEnum):
    """The formats of a diagnosis."""

    TEXT = "text"
    JSON = "json"


def doctor(
    *,
    device: Annotated[
        str | None, typer.Option("-d", "--device", metavar="DEVICE", help=_DEVICE_HELP)
    ] = None,
    output_format: Annotated[
        DoctorFormat, typer.Option("--format", help="The output's format.")
    ] = DoctorFormat.TEXT,
) -> None:
    """
    Check driver, GPUs, links and host, and say what to do.

    Each check prints one line: ok, note (worth knowing) or problem, with what to do about it. Links
    are read while copies keep them awake, which takes a second for each GPU.

    Exit codes: 0 no problem, 1 a problem, 2 usage, 4 no device.
    """
    from isthmus import _native
    from isthmus.decide.profile.store import age_text, load_profile
    from isthmus.measure.bench.choice import choose_device
    from isthmus.measure.doctor.check import text_lines
    from isthmus.measure.doctor.diagnose import diagnose
    from isthmus.measure.doctor.sources import Sources
    from isthmus.move.windows.gdrapi import gdrapi_library

    sources = Sources(
        native=_native,
        choose_device=choose_device,
        find_gdrapi=gdrapi_library,
        profile_age=lambda path: age_text(load_profile(path)),
    )
    diagnosis = diagnose(sources, device)
    if output_format == DoctorFormat.JSON:
        print_data(diagnosis.model_dump_json(indent=2) + "\n")
    else:
        print_data("\n".join(text_lines(diagnosis, width=columns_of(sys.stdout))) + "\n")
    raise typer.Exit(ExitCode.ERROR if diagnosis.has_problem else ExitCode.OK)

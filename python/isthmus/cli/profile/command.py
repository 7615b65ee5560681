"""`isthmus profile`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.cli.options import DeviceOption
from isthmus.cli.state import state_of
from isthmus.cli.stderr import say_lines
from isthmus.cli.stdout import print_data
from isthmus.cli.terminal import columns_of
from isthmus.errors import UsageError

if TYPE_CHECKING:
    from isthmus import _native
    from isthmus.decide.profile.model import Profile
    from isthmus.measure.bench.choice import Choice

_QuickOption = Annotated[
    bool, typer.Option("--quick", help="Take at most 2 s: fewer sizes, up to 64 MiB.")
]
_ShowOption = Annotated[
    bool, typer.Option("--show", help="Print the stored profile instead of measuring one.")
]
_OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="FILE", help="Also write the profile (JSON) to this file."
    ),
]


def profile(
    context: typer.Context,
    *,
    device: DeviceOption = None,
    quick: _QuickOption = False,
    show: _ShowOption = False,
    output: _OutputOption = None,
) -> None:
    """
    Measure the cost of each copy path here, and store it.

    In at most 10 s each path (windows, the driver, staging, pinning) is timed from 4 B to 256 MiB
    in both directions, and its bytes are verified. Later copies are planned with the result. It is
    stored for each GPU and link below ~/.local/share/isthmus/profiles (or XDG_DATA_HOME).
    ISTHMUS_PROFILE names another file, or is "off". A new driver needs a new profile.

    Exit codes: 0 ok, 1 error or nothing to show, 2 usage, 4 no device.
    """
    if show and (quick or output is not None):
        raise UsageError(
            "--show prints the stored profile: it neither measures nor writes",
            hint="leave out --quick and --output, or --show",
        )
    from isthmus import _native
    from isthmus.cli.output import check_output
    from isthmus.cli.profile.measured import measure_and_keep
    from isthmus.measure.bench.choice import choose_device

    choice = choose_device(device, _native.Driver.open)
    # Before this thread is bound to a node, which would leave it fewer cores.
    identity = _native.profile_identity(choice.driver, choice.ordinal)
    if show:
        _show(choice, identity)
        return
    check_output(output)
    kept = measure_and_keep(
        choice, identity, output=output, quick=quick, debug=state_of(context).debug
    )
    # Files came first: a stdout that fails loses nothing.
    _print(kept.profile)
    raise typer.Exit(kept.code)


def _show(choice: "Choice[_native.Driver]", identity: "_native.ProfileIdentity") -> None:
    from isthmus import _native
    from isthmus.decide.profile.store import stored_profile

    stored = stored_profile(identity)
    _print(stored)
    in_use = _native.profile_in_use(choice.driver, choice.ordinal)
    say_lines(f"stored: {identity.file}" if in_use.measured else f"note: {in_use.source}")


def _print(one: "Profile") -> None:
    from isthmus.decide.profile.store import age_text
    from isthmus.show.answers.profile import profile_as_text

    print_data(profile_as_text(one, age_text(one), width=columns_of(sys.stdout)))

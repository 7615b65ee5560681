"""`isthmus profile`."""

import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.cli import STARTED_S
from isthmus.cli.failure import ExitCode, report_failure
from isthmus.cli.options import DeviceOption
from isthmus.cli.state import DebugOption, state_of
from isthmus.cli.stderr import say, say_lines
from isthmus.cli.stdout import print_data
from isthmus.cli.terminal import columns_of, is_terminal
from isthmus.errors import UsageError, WriteError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isthmus import _native
    from isthmus.bench.choice import Choice
    from isthmus.profile.measuring import Watch
    from isthmus.profile.model import Profile

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
    debug: DebugOption = False,
) -> None:
    """
    Measure the cost of each copy path here, and store it.

    In at most 10 s each path (windows, the driver, staging, pinning) is timed from 4 B to 256 MiB
    in both directions, and its bytes are verified. Later copies are planned with the result. It is
    stored for each GPU and link below ~/.local/share/isthmus/profiles (or XDG_DATA_HOME).
    ISTHMUS_PROFILE names another file, or is "off". A new driver needs a new profile.

    Exit codes: 0 ok, 1 error or nothing to show, 2 usage, 4 no device.
    """
    del debug  # its callback has stored it
    if show and (quick or output is not None):
        raise UsageError(
            "--show prints the stored profile: it neither measures nor writes",
            hint="leave out --quick and --output, or --show",
        )
    from isthmus import _native
    from isthmus.bench.choice import choose_device

    choice = choose_device(device, _native.Driver.open)
    # Before this thread is bound to a node, which would leave it fewer cores.
    identity = _native.profile_identity(choice.driver, choice.ordinal)
    if show:
        _show(choice, identity)
        return
    raise typer.Exit(_measure(choice, identity, output, quick=quick, debug=state_of(context).debug))


def _show(choice: "Choice[_native.Driver]", identity: "_native.ProfileIdentity") -> None:
    from isthmus import _native
    from isthmus.profile.store import stored_profile

    stored = stored_profile(identity)
    _print(stored)
    in_use = _native.profile_in_use(choice.driver, choice.ordinal)
    say_lines(f"stored: {identity.file}" if in_use.measured else f"note: {in_use.source}")


def _measure(
    choice: "Choice[_native.Driver]",
    identity: "_native.ProfileIdentity",
    output: Path | None,
    *,
    quick: bool,
    debug: bool,
) -> ExitCode:
    from isthmus import _native
    from isthmus.cli.output import check_output
    from isthmus.machine.placement import bind_near_device
    from isthmus.profile.measuring import measure_profile
    from isthmus.profile.plan import FULL, MAX_EMULATED_BYTES, QUICK
    from isthmus.profile.session import Session

    check_output(output)
    if choice.emulated_because is not None:
        say(f"note: the emulated device is measured: {choice.emulated_because}")
    effort = QUICK if quick else FULL
    if identity.emulated:
        effort = effort.up_to(MAX_EMULATED_BYTES)
    effort = effort.after(time.monotonic() - STARTED_S)
    say(f"measuring {identity.gpu_name}, {identity.link}: at most {effort.promised_s:g} s")
    pci_address = choice.driver.device(choice.ordinal).pci_address
    placement = bind_near_device(pci_address, _native, emulated=identity.emulated)
    for note in placement.notes:
        say(f"note: {note}")
    with _progress(effort.budget_s) as watch:
        measured = measure_profile(
            identity, lambda most: Session(choice.driver, choice.ordinal, most), effort, watch=watch
        )
    # Files first: then a stdout that fails loses nothing.
    code = _keep(measured, identity, output, debug=debug)
    _print(measured)
    return code


@contextmanager
def _progress(budget_s: float) -> "Iterator[Watch]":
    """Show a bar on a terminal, and nothing elsewhere: a profile takes seconds."""
    if not is_terminal(sys.stderr):
        yield lambda *_: None
        return
    from isthmus.cli.progress_bar import progress_bar

    with progress_bar() as bar:

        def watch(what: str, left_s: float) -> None:
            part = 1 - max(0.0, left_s) / budget_s
            bar.show(part, f"{part:.0%}", what, left_s)

        yield watch


def _keep(
    measured: "Profile", identity: "_native.ProfileIdentity", output: Path | None, *, debug: bool
) -> ExitCode:
    from isthmus.profile.store import save_profile

    if not identity.file:
        say("note: not stored: ISTHMUS_PROFILE is off, or there is no home folder")
    code = ExitCode.OK
    wanted = {"stored": Path(identity.file) if identity.file else None, "written": output}
    for word, path in wanted.items():
        if path is None:
            continue
        try:
            say_lines(f"{word}: {save_profile(measured, path)}")
        except WriteError as error:
            code = report_failure(error, debug=debug)
    return code


def _print(one: "Profile") -> None:
    from isthmus.profile.store import age_text
    from isthmus.report.profile import profile_as_text

    print_data(profile_as_text(one, age_text(one), width=columns_of(sys.stdout)))

"""Measures a profile, and keeps it: for `isthmus profile`, and for advice where there is none."""

import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.cli import STARTED_S
from isthmus.cli.failure import ExitCode, report_failure
from isthmus.cli.stderr import say, say_lines
from isthmus.cli.terminal import is_terminal
from isthmus.errors import WriteError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isthmus import _native
    from isthmus.decide.profile.measuring import Watch
    from isthmus.decide.profile.model import Profile
    from isthmus.measure.bench.choice import Choice


@dataclass(frozen=True, kw_only=True)
class Kept:
    """
    A measured profile.

    Attributes:
        code: ERROR if it couldn't be kept; this has then been reported.
    """

    profile: "Profile"
    code: ExitCode


def measure_and_keep(
    choice: "Choice[_native.Driver]",
    identity: "_native.ProfileIdentity",
    *,
    output: Path | None = None,
    quick: bool = False,
    debug: bool = False,
) -> Kept:
    """
    Measure a device's profile, store it, and say so on stderr; the identity is from before a thread
    was bound to a node.
    """
    from isthmus import _native
    from isthmus.decide.profile.measuring import measure_profile
    from isthmus.decide.profile.plan import FULL, MAX_EMULATED_BYTES, QUICK
    from isthmus.decide.profile.session import Session
    from isthmus.decide.profile.store import require_reach
    from isthmus.measure.machine.placement import bind_near_device

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
    require_reach(measured, effort)
    return Kept(profile=measured, code=_keep(measured, identity, output, debug=debug))


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
    from isthmus.decide.profile.store import save_profile

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

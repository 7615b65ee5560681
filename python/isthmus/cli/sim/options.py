"""The options that commands of `isthmus sim` share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from isthmus.sim.settings import Setup

STORED = "stored"

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
SeedOption = Annotated[int, typer.Option(min=0, help="The seed of a workload's inputs.")]
JobsOption = Annotated[
    int | None,
    typer.Option("-j", "--jobs", min=1, help="Runs at a time.  [default: one for each core]"),
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--link-from-profile",
        metavar="FILE|stored",
        help="Take the link's bandwidth from `isthmus profile`: a file, or stored for the profile "
        "of this machine's first GPU.",
    ),
]


def with_profile(setup: "Setup", profile: str | None) -> "Setup":
    """Give a machine the link of a profile, and say where it comes from."""
    if profile is None:
        return setup
    from isthmus.cli.stderr import say
    from isthmus.decide.profile.store import load_profile, stored_profile
    from isthmus.sim.measured_link import link_source, with_measured_link

    if profile == STORED:
        from isthmus import _native
        from isthmus.measure.bench.choice import choose_device

        choice = choose_device(None, _native.Driver.open)
        found = stored_profile(_native.profile_identity(choice.driver, choice.ordinal))
    else:
        found = load_profile(Path(profile))
    say(f"note: {link_source(setup.machine, found)}")
    return with_measured_link(setup, found)

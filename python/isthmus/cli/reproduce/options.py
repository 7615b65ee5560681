"""What the options of `isthmus reproduce` ask for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.errors import UsageError

if TYPE_CHECKING:
    from isthmus.cli.state import State

_EVERY = "all"


@dataclass(frozen=True, kw_only=True)
class Options:
    """
    What the user asked for.

    Attributes:
        from_run: A run to lay out; None measures.
        sizes: In bytes, ascending; None for the experiment's, or all of theirs.
        plots: The folder for pictures; None to draw nothing.
    """

    from_run: str | None
    quick: bool
    sizes: Sequence[int] | None
    all_sizes: bool
    device: str | None
    plots: Path | None
    command: Sequence[str]


def options_of(
    state: "State",
    *,
    from_run: str | None,
    quick: bool,
    device: str | None,
    plots: Path | None,
    sizes: str | None,
) -> Options:
    """Read the options, and refuse impossible ones before anything runs."""
    from isthmus.cli.output import check_plots
    from isthmus.ground.sizes import parse_sizes

    measuring = {
        "--quick": quick,
        "--sizes": sizes is not None,
        "--device": device is not None,
    }
    given = [option for option, is_given in measuring.items() if is_given]
    if from_run is not None and given:
        raise UsageError(
            f"--from measures nothing, and {given[0]} is for measuring",
            hint="leave one of them out",
        )
    every = sizes == _EVERY
    if every and quick:
        raise UsageError("--quick excludes --sizes all", hint="leave one of them out")
    check_plots(plots)
    return Options(
        from_run=from_run,
        quick=quick,
        sizes=None if sizes is None or every else parse_sizes(sizes),
        all_sizes=every,
        device=device,
        plots=plots,
        command=("isthmus", *state.arguments),
    )

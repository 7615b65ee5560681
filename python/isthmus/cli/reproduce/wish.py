"""What the options of `isthmus reproduce` ask for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.errors import UsageError

if TYPE_CHECKING:
    from isthmus.cli.state import State


@dataclass(frozen=True, kw_only=True)
class Wish:
    """
    What the user asked for.

    Attributes:
        from_run: A run to lay out; None measures.
        sizes: In bytes, ascending; None for the experiment's.
        budget_s: The most seconds; None for the experiment's.
        plots: The folder for pictures; None to draw nothing.
    """

    from_run: str | None
    quick: bool
    sizes: Sequence[int] | None
    all_sizes: bool
    device: str | None
    budget_s: float | None
    plots: Path | None
    keep: bool
    command: Sequence[str]


def wish_of(
    state: "State",
    *,
    from_run: str | None,
    quick: bool,
    device: str | None,
    plots: Path | None,
    no_save: bool,
    sizes: str | None,
    all_sizes: bool,
    budget_s: float | None,
) -> Wish:
    """Read the options, and refuse impossible ones before anything runs."""
    from isthmus.cli.bench.asked import checked_budget
    from isthmus.cli.output import check_plots
    from isthmus.ground.sizes import parse_sizes

    measuring = {
        "--quick": quick,
        "--sizes": sizes is not None,
        "--all-sizes": all_sizes,
        "--device": device is not None,
        "--budget": budget_s is not None,
        "--no-save": no_save,
    }
    given = [option for option, is_given in measuring.items() if is_given]
    if from_run is not None and given:
        raise UsageError(
            f"--from measures nothing, and {given[0]} is for measuring",
            hint="leave one of them out",
        )
    ways = [option for option in ("--quick", "--sizes", "--all-sizes") if measuring[option]]
    if all_sizes and len(ways) > 1:
        raise UsageError(f"{ways[0]} and --all-sizes", hint="leave one of them out")
    check_plots(plots)
    return Wish(
        from_run=from_run,
        quick=quick,
        sizes=None if sizes is None else parse_sizes(sizes),
        all_sizes=all_sizes,
        device=device,
        budget_s=checked_budget(budget_s),
        plots=plots,
        keep=not no_save,
        command=("isthmus", *state.arguments),
    )

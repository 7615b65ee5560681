"""Says whether a profile reaches far enough to choose paths by it."""

from isthmus.decide.profile.model import Path, Profile
from isthmus.decide.profile.plan import GROUPS, Effort, Group
from isthmus.errors import Unavailable
from isthmus.ground.sizes import format_size


def require_reach(profile: Profile, effort: Effort) -> None:
    """
    Refuse a profile whose time ran out before the rates of its paths were known; all paths are
    measured at one size before the next one begins, so the driver's path speaks for all.
    """
    least = effort.bytes_that_show_a_rate
    reached = min(_reach(profile, group) for group in GROUPS)
    if reached >= least:
        return
    done = f"ended at {format_size(reached)}" if reached else "couldn't begin"
    raise Unavailable(
        f"the profile is not stored: its copies {done}, and those of {format_size(least)} are"
        f" needed to know the rate of each path. The time of {effort.promised_s:g} s was over"
        " before, because this machine is busy or slow",
        capability="profile",
        reason=f"no copy of {format_size(least)} was measured in the time",
        needs="more time, or a machine on which less runs",
        hint=_hint(effort),
    )


def _reach(profile: Profile, group: Group) -> int:
    cost = profile.cost(Path.DRIVER, group.direction, group.host_memory)
    return cost.points[-1].bytes if cost else 0


def _hint(effort: Effort) -> str:
    again = "run `isthmus profile` again when less runs here"
    more = "run `isthmus profile` without --quick: it takes 10 s"
    return f"{more if effort.quick else again}. Until then copies are planned as before"

"""
Where profiles are kept, how they are written completely, and which reach far enough to choose
paths by them.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from isthmus.decide.profile.model import Path as CopyPath
from isthmus.decide.profile.model import Profile
from isthmus.decide.profile.plan import GROUPS, Effort, Group
from isthmus.errors import Unavailable, UsageError
from isthmus.files.folder import make_folder
from isthmus.files.regular import read_regular
from isthmus.files.whole import write_whole
from isthmus.ground.json_text import json_text
from isthmus.ground.sizes import format_size
from isthmus.ground.spelling import counted
from isthmus.measure.run.record import first_fault

if TYPE_CHECKING:
    from isthmus import _native

# About a hundred times the size of what `isthmus profile` writes. As in
# cpp/src/transfer/profile/profile.cpp.
_MAX_BYTES = 4 << 20
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def profile_text(profile: Profile) -> str:
    """Give a profile as JSON text, one point of a curve a line."""
    return json_text(json.loads(profile.model_dump_json()))


def save_profile(profile: Profile, path: Path) -> Path:
    """Keep a profile, completely or not at all."""
    make_folder(path.parent)
    return write_whole(path, profile_text(profile))


def load_profile(path: Path) -> Profile:
    """
    Read a profile's file; raises Unavailable if it can't be read, and UsageError if it is something
    else.
    """
    try:
        return Profile.model_validate_json(read_regular(path, max_bytes=_MAX_BYTES))
    except OSError as cause:
        raise Unavailable(
            capability="profile",
            reason=f"{path}: {cause.strerror or cause}",
            needs="`isthmus profile`",
        ) from cause
    except ValidationError as cause:
        raise UsageError(
            f"{path} is not a profile: {first_fault(cause)}",
            hint="run `isthmus profile` again",
        ) from None


def stored_profile(identity: "_native.ProfileIdentity") -> Profile:
    """
    Read the profile that is stored for a machine, whether it is still valid or not; raises
    Unavailable if none is, and UsageError if it is something else.
    """
    if not identity.file:
        raise Unavailable(
            capability="profile",
            reason="ISTHMUS_PROFILE is off, or there is no home folder",
            needs="ISTHMUS_PROFILE unset, or XDG_DATA_HOME",
        )
    return load_profile(Path(identity.file))


def age_text(profile: Profile, now: datetime | None = None) -> str:
    """Say how long ago a profile was measured: "3 days ago"."""
    seconds = profile.age_seconds(now or datetime.now(UTC))
    for unit, length in (("day", _DAY), ("hour", _HOUR), ("minute", _MINUTE)):
        count = int(seconds // length)
        if count:
            return f"{counted(count, unit)} ago"
    return "just now"


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
    cost = profile.cost(CopyPath.DRIVER, group.direction, group.host_memory)
    return cost.points[-1].bytes if cost else 0


def _hint(effort: Effort) -> str:
    again = "run `isthmus profile` again when less runs here"
    more = "run `isthmus profile` without --quick: it takes 10 s"
    return f"{more if effort.quick else again}. Until then copies are planned as before"

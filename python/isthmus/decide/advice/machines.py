"""The profiles that come with Isthmus, for advice on machines that one doesn't have."""

from importlib import resources
from pathlib import Path

from isthmus.decide.profile.model import Profile
from isthmus.decide.profile.store import load_profile
from isthmus.errors import Unavailable, UsageError
from isthmus.ground.suggest import did_you_mean, shortened

_FOLDER = resources.files("isthmus.decide.advice") / "machines"
_SUFFIX = ".json"


def machine_names() -> list[str]:
    """List the machines that come with Isthmus."""
    names = (entry.name for entry in _FOLDER.iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


def machine_profile(name: str) -> Profile:
    """Read the profile of a machine that comes with Isthmus, or that at a path."""
    if name in machine_names():
        return Profile.model_validate_json((_FOLDER / f"{name}{_SUFFIX}").read_bytes())
    path = Path(name)
    if not (path.suffix or path.name != name):
        raise UsageError(
            f"there is no machine '{shortened(name)}'",
            hint=f"{did_you_mean(name, machine_names())} They are: {', '.join(machine_names())}; "
            "or name a file of `isthmus profile -o FILE`",
        )
    try:
        return load_profile(path)
    except Unavailable as cause:
        raise UsageError(
            f"can't read the profile {shortened(name)}: {cause.reason}",
            hint=f"one that comes with Isthmus: {', '.join(machine_names())}",
        ) from cause

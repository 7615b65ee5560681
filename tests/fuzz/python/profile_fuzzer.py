"""Profiles, as both languages read them: Python's model for reports, C++ for plans."""

import json
from datetime import UTC, datetime
from functools import cache

from pydantic import ValidationError

from edits import Choices, edited
from fuzzing import fuzz, require, require_readable
from isthmus import _native
from isthmus.decide.profile.model import Profile
from isthmus.decide.profile.store import age_text, profile_text
from isthmus.errors import UsageError
from isthmus.measure.run.record import first_fault
from isthmus.show.answers.profile import profile_as_text

_NOW = datetime(2026, 11, 21, tzinfo=UTC)


@cache
def _text() -> str:
    from fakes.profiles import profile

    return profile_text(profile())


@cache
def _identity() -> _native.ProfileIdentity:
    return _native.profile_identity(_native.Driver.open("emulated"), 0)


@cache
def check(data: bytes) -> None:
    """
    See that a text is refused in a line, or is a profile that can be shown and made a link of.

    What begins with a brace is the text. Of all else, the bytes choose what is changed in a
    profile.
    """
    text = data
    if data[:1] != b"{":
        text = json.dumps(edited(_text(), Choices(data)), ensure_ascii=False).encode()
    _plan_with(text)
    try:
        found = Profile.model_validate_json(text)
    except ValidationError as error:
        require_readable(UsageError(first_fault(error)))
        return
    require(Profile.model_validate_json(profile_text(found)) == found, "read again as another")
    profile_as_text(found, age_text(found, _NOW))


def _plan_with(text: bytes) -> None:
    try:
        decoded = text.decode("utf-8", "surrogateescape")
        planned = _native.parse_profile(decoded, _identity())
    except UsageError as error:
        str(error).encode()
    else:
        require(planned.measured, "a profile without measurements")


if __name__ == "__main__":
    fuzz(check)

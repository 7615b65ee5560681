"""Finds the figures with which copies to and from a device are planned."""

from pathlib import Path

from isthmus.errors import Error
from isthmus.ground.suggest import one_line
from isthmus.measure.doctor.facts import ProfileFacts
from isthmus.measure.doctor.read_driver import OpenDriver
from isthmus.measure.doctor.sources import Sources


def read_profile(sources: Sources, driver: OpenDriver, ordinal: int) -> ProfileFacts:
    """Look for the stored profile of one device."""
    try:
        identity = sources.native.profile_identity(driver.native, ordinal)
        used = sources.native.profile_in_use(driver.native, ordinal)
        age = sources.profile_age(Path(identity.file)) if used.measured else None
    except Error as failure:
        return ProfileFacts(ordinal=ordinal, source=str(failure))
    return ProfileFacts(
        ordinal=ordinal,
        measured=used.measured,
        source=used.source,
        file=one_line(identity.file),
        age=age,
    )

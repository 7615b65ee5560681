"""Judges whether copies are planned with a profile of this machine."""

from isthmus.measure.doctor.check import Check, judged
from isthmus.measure.doctor.facts import ProfileFacts

_MEASURE = "run `isthmus profile` (10 s): copies are then planned with this machine's own figures"


def check_profile(facts: ProfileFacts) -> Check:
    """Say how old the profile is, or why there is none."""
    told = {"measured": facts.measured, "source": facts.source, "file": facts.file or None}
    name = f"gpu {facts.ordinal} profile"
    if facts.measured:
        return judged(name, f"measured {facts.age}: {facts.source}", facts=told)
    return judged(name, f"none: {facts.source}", _MEASURE, told)

"""Whether a node's clock differs from this machine's, by the times of a run that has just come."""

from datetime import datetime, timedelta

from isthmus.measure.run.model import Run

TOLERATED = timedelta(seconds=60)
"""A clock that NTP keeps is better by far."""
TIME_OF_DAY = "time of day"
"""The check of a node's diagnosis that says so."""


def difference(run: Run, asked_at: datetime, answered_at: datetime) -> timedelta:
    """
    Give by how much at least the clock of a run's node is ahead of this machine's, by which it was
    asked before the run began and answered after its end; negative if it is behind, zero for less
    than a minute.
    """
    ahead = run.run.finished_at - answered_at
    behind = asked_at - run.run.started_at
    if ahead > TOLERATED:
        return ahead
    return -behind if behind > TOLERATED else timedelta()

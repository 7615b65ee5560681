"""The two lives of host memory that is allocated and freed once: two questions, one word each."""

from enum import StrEnum


class Life(StrEnum):
    """How memory that is allocated, copied and freed is had: `LIVES_NOTE`."""

    STEADY = "steady"
    FIRST_TIME = "first time"


LIVES_NOTE = (
    "steady: allocated and freed repeatedly, so malloc and the driver reuse small blocks; first "
    "time: every page is new"
)

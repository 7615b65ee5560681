"""The two lives of host memory that is allocated and freed once: two questions, one word each."""

from enum import StrEnum


class Life(StrEnum):
    """How memory that is allocated, copied and freed is had: `LIVES_NOTE`."""

    STEADY = "steady"
    FIRST_TIME = "first time"


LIVES_NOTE = (
    "steady: a program allocates and frees again and again, and malloc and the driver hand out "
    "small blocks that they kept; first time: each page is new, to malloc and to the driver"
)

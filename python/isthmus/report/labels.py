"""Which results belong to which part of a report, and what they are called there."""

from isthmus.run.model import Result

BANDWIDTH = "bandwidth"
_ABOUT_WINDOWS = "window_"


def about_windows(result: Result) -> bool:
    """Tell the results of windows, and of their rivals, from those of CUDA's own copies."""
    return result.test.startswith(_ABOUT_WINDOWS)


def direction_of(result: Result) -> str:
    """Name the way the bytes go, "H2D" or "D2H"; "" of what has none."""
    return (result.direction or "").upper()

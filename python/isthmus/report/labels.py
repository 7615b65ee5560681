"""Which results belong to which part of a report."""

from isthmus.run.model import Result

BANDWIDTH = "bandwidth"
_ABOUT_WINDOWS = "window_"


def about_windows(result: Result) -> bool:
    """Tell the results of windows, and of their rivals, from those of CUDA's own copies."""
    return result.test.startswith(_ABOUT_WINDOWS)

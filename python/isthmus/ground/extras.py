"""Packages that come with an extra, such as isthmus[report], and may be missing."""

from collections.abc import Iterator
from contextlib import contextmanager

from isthmus.errors import Unavailable


@contextmanager
def packages_for(capability: str, needs: str) -> Iterator[None]:
    """Stand around imports: one that fails becomes Unavailable, with how to get the package."""
    try:
        yield
    except ImportError as cause:
        reason = f"{cause.name} is not installed" if cause.name else str(cause)
        raise Unavailable(capability=capability, reason=reason, needs=needs) from cause

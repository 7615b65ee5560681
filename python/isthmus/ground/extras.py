"""Packages that come with an extra, such as isthmus[report], and may be missing."""

from collections.abc import Iterator
from contextlib import contextmanager

from isthmus.errors import Unavailable


@contextmanager
def packages_for(capability: str, needs: str) -> Iterator[None]:
    """
    Stand around imports: one that fails becomes an error that says how to get the package.

    Args:
        capability: What can't be done without the packages.
        needs: How to get them.

    Raises:
        Unavailable: A package isn't installed.
    """
    try:
        yield
    except ImportError as cause:
        reason = f"{cause.name} is not installed" if cause.name else str(cause)
        raise Unavailable(capability=capability, reason=reason, needs=needs) from cause

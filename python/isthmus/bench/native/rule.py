"""Stopping rules in the native module's form."""

from typing import TYPE_CHECKING

from isthmus.bench.stopping import StoppingRule

if TYPE_CHECKING:
    from isthmus import _native


def native_rule(stopping: StoppingRule) -> "_native.Stopping":
    """Convert a stopping rule for the native module."""
    from isthmus import _native

    return _native.Stopping(
        min_samples=stopping.min_samples,
        max_samples=stopping.max_samples,
        max_seconds=stopping.max_seconds,
        relative_iqr=stopping.relative_iqr,
        verify=stopping.verify,
    )

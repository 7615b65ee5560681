"""Types of libraries that Isthmus doesn't import: what isn't loaded has made no arrays."""

import sys
from typing import Any


def loaded_type(library: str, name: str) -> Any:  # noqa: ANN401 - a type of any library
    """
    Give a library's type by its dotted name; None if the library isn't loaded, or another thread is
    just importing it.
    """
    found: Any = sys.modules.get(library)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found

"""The members of mappings and modules, and whether a copy to them would last."""

from collections.abc import Mapping
from typing import Any

from isthmus.errors import UsageError

# Values that no copy writes.
_UNWRITTEN = (bool, int, float, complex, str, type(None))
_EXTRA_STATE = "_extra_state"  # PyTorch's name of what get_extra_state() gives


def members_of(structure: Any, written: bool) -> dict[Any, Any]:  # noqa: ANN401
    """
    Give the members of a mapping, or a PyTorch module's parameters and buffers by name. Targets
    (`written`) that the structure makes when it is asked are refused: what is copied to them would
    be lost.
    """
    found = _asked(structure)
    if not written:
        return found
    again = _asked(structure)  # beside the first ones: no memory is used twice
    for name, value in found.items():
        is_state = str(name).endswith(_EXTRA_STATE) and not isinstance(structure, Mapping)
        if is_state or not _is_same(value, again.get(name)):
            raise UsageError(
                f"'{name}' of this {type(structure).__name__} is made anew each time it is asked "
                "for, so that what is copied to it would be lost",
                hint="load_state_dict() sets it, or the library's own way to assign it",
            )
    return found


def _asked(structure: Any) -> dict[Any, Any]:  # noqa: ANN401
    return dict(structure if isinstance(structure, Mapping) else structure.state_dict())


def _is_same(one: Any, other: Any) -> bool:  # noqa: ANN401 - a member, asked for twice
    if one is other or isinstance(one, _UNWRITTEN):
        return True
    place = _place_of(one)
    return place is not None and place == _place_of(other)


def _place_of(array: Any) -> int | None:  # noqa: ANN401
    """Give an array's first address, if it says it."""
    if hasattr(array, "data_ptr"):
        return int(array.data_ptr())
    for protocol in ("__array_interface__", "__cuda_array_interface__"):
        interface = getattr(array, protocol, None)
        if isinstance(interface, dict) and isinstance(interface.get("data"), tuple):
            return int(interface["data"][0])
    return None

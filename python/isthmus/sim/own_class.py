"""A policy that is a class in Python: what the simulator calls in a run, in batches."""

from collections.abc import Callable, Iterable
from itertools import islice
from operator import index
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from isthmus.errors import UsageError
from isthmus.ground.spelling import raised, said

if TYPE_CHECKING:
    from isthmus import _native
    from isthmus.sim.settings import Setup

_Made = TypeVar("_Made")
ARRIVAL: Final = np.dtype([("page", np.uint64), ("offset", np.uint32), ("length", np.uint32)])
"""A row of what `on_arrival` is told: ArrivalRow of bindings/sim/own_policy.cpp."""
_FLAGS = [("is_write", np.bool_), ("is_hit", np.bool_)]
ACCESS: Final = np.dtype([*ARRIVAL.descr, *_FLAGS], align=True)
"""A row of what `on_access` is told: AccessRow."""
_OFFSETS_END = 1 << 32


def native_class(chosen: type, setup: "Setup") -> "_native.OwnPolicy":
    """Give the simulator's form of a class; each run makes an object of it."""
    from isthmus import _native

    for name in ("hits", "remote"):
        if not isinstance(given := getattr(chosen, name, False), bool):
            raise UsageError(
                f"policy {setup.policy.own}: {name} is {said(given)}: True or False is needed"
            )

    def make_hooks(num_units: int) -> Hooks:
        return Hooks(chosen, setup, num_units)

    return _native.OwnPolicy.of_class(setup.policy.own, chosen, make_hooks)


class Hooks:
    """One run's policy; all rows and numbers are the bytes of arrays."""

    def __init__(self, chosen: type, setup: "Setup", num_units: int) -> None:
        """Make the policy's object."""
        self._name = setup.policy.own
        self._most = num_units + 1
        self._policy: Any = self._call("__init__", chosen, setup)

    def on_access(self, accesses: bytes, asked: bytes, arrivals: bytes) -> list[tuple[int, int]]:
        """Ask what is to migrate for the last of the accesses; without `asked` it is a hit."""
        self._arrived(arrivals)
        rows, bits = np.frombuffer(accesses, ACCESS), np.frombuffer(asked, np.uint8)
        spans = self._call("on_access", self._policy.on_access, rows, bits)
        return self._pairs(spans) if asked and spans is not None else []

    def victims(self, pages: bytes, needed: int, arrivals: bytes) -> list[int]:
        """Ask which of the pages are to leave."""
        self._arrived(arrivals)
        numbers = np.frombuffer(pages, np.uint64)
        named = self._call("victims", self._policy.victims, numbers, needed)
        try:
            some = [index(one) for one in islice(() if named is None else named, len(numbers) + 1)]
            return [int(page) for page in np.array(some, np.uint64)]  # none is negative
        except Exception as cause:
            raise self._wrong("victims", named, "page numbers") from cause

    def _arrived(self, arrivals: bytes) -> None:
        if arrivals:
            self._call("on_arrival", self._policy.on_arrival, np.frombuffer(arrivals, ARRIVAL))

    def _pairs(self, spans: Iterable[Any]) -> list[tuple[int, int]]:
        """Read an answer, which may be a generator without an end."""
        try:
            found = [(index(offset), index(length)) for offset, length in islice(spans, self._most)]
        except Exception as cause:
            raise self._wrong("on_access", spans, "pairs (offset, bytes)") from cause
        for pair in found:
            if not all(0 <= number < _OFFSETS_END for number in pair):
                raise self._wrong("on_access", pair, "an offset and bytes of the page")
        return found

    def _call(self, function: str, call: Callable[..., _Made], *given: object) -> _Made:
        try:
            return call(*given)
        except KeyboardInterrupt:
            raise
        except BaseException as cause:
            raise UsageError(f"policy {self._name}: {function} raised {raised(cause)}") from cause

    def _wrong(self, function: str, answer: object, needed: str) -> UsageError:
        gave = f"{function} gave {said(answer)}"
        return UsageError(f"policy {self._name}: {gave}: {needed} are needed")

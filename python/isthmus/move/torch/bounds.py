"""
Refuses pickles that PyTorch's loader would hang on, or end the process.

It makes only what it allows, but a few bytes can ask for any amount of work: a tuple of two
references to a tuple of two references ..., as a key whose hash is needed; or one long list, from
which a thousand sets are made. Real files refer to few things twice.
Source: PyTorch 2.15, torch/_weights_only_unpickler.py, has the opcodes that it knows.
"""

import pickle
from collections.abc import Iterable

from isthmus.errors import UsageError

# Hashing a tuple needs some 100 bytes of the thread's stack for each level.
_MOST_LEVELS = 10_000
# A unit is one object, or 8 bytes of text: some nanoseconds each time that it is used.
_FREE_UNITS = 10_000_000
_UNITS_PER_BYTE = 16
_BYTES_PER_UNIT = 8
_MOST_UNITS = 1 << 60

# What an object costs: units and levels, with all that it refers to. A list while it may grow.
_Cost = tuple[int, int] | list[int]
_ONE = 1, 1
# By opcode: the bytes that follow.
_SCALARS = {
    **{ord(one): 0 for one in (pickle.NONE, pickle.NEWFALSE, pickle.NEWTRUE, pickle.EMPTY_TUPLE)},
    ord(pickle.BININT1): 1,
    ord(pickle.BININT2): 2,
    ord(pickle.BININT): 4,
    ord(pickle.BINFLOAT): 8,
}
_PUTS = {ord(pickle.BINPUT): 1, ord(pickle.LONG_BINPUT): 4}
_GETS = {ord(pickle.BINGET): 1, ord(pickle.LONG_BINGET): 4}
# Of these the number of further bytes.
_TEXTS = {ord(pickle.SHORT_BINSTRING): 1, ord(pickle.LONG1): 1, ord(pickle.BINUNICODE): 4}
_NUMBERS = {**_PUTS, **_GETS, **_TEXTS}
_CONTAINERS = {ord(one) for one in (pickle.EMPTY_LIST, pickle.EMPTY_DICT, pickle.EMPTY_SET)}
_TUPLES = {ord(pickle.TUPLE1): 1, ord(pickle.TUPLE2): 2, ord(pickle.TUPLE3): 3}
_MARK, _GLOBAL, _PROTO, _STOP = map(ord, "(c\x80.")


def require_bounded(data: bytes, file: str, *, pickles: int = 1) -> bool:
    """
    Read pickles one after the other, each up to its end or to what PyTorch refuses, and say whether
    all of them ended; raises UsageError if making their objects takes far more work than their
    bytes, or is too deep.
    """
    end = 0
    try:
        for _ in range(pickles):
            end = _Reader(data).read(end)
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from None
    except (IndexError, KeyError, ValueError):
        return False  # PyTorch's loader ends here, too
    return True


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._below: list[list[_Cost]] = []
        self._used = 0

    def read(self, at: int) -> int:
        """Read one pickle, and give its end."""
        data, stack = self._data, list[_Cost]()
        memo: dict[int, _Cost] = {}
        while (opcode := data[at]) != _STOP:
            at += 1
            if opcode in _NUMBERS:
                first, at = at, at + _NUMBERS[opcode]
                number = (
                    data[first] if at - first == 1 else int.from_bytes(data[first:at], "little")
                )
                if opcode in _PUTS:
                    memo[number] = stack[-1]
                elif opcode in _GETS:
                    found = memo[number]
                    stack.append(found if type(found) is tuple else (found[0], found[1]))
                else:
                    at += number
                    stack.append((1 + number // _BYTES_PER_UNIT, 1))
            elif opcode in _SCALARS:
                at += _SCALARS[opcode]
                stack.append(_ONE)
            elif opcode == _MARK:
                self._below.append(stack)
                stack = []
            elif opcode == _GLOBAL:
                at = data.index(b"\n", data.index(b"\n", at) + 1) + 1
                stack.append(_ONE)
            elif opcode in _CONTAINERS:
                stack.append([1, 1])
            elif opcode == _PROTO:
                at += 1
            else:
                stack = self._combined(data[at - 1 : at], stack, at)
        return at + 1

    def _combined(self, opcode: bytes, stack: list[_Cost], at: int) -> list[_Cost]:
        """Do what takes objects from the stack, and give the stack that is next."""
        if opcode in {pickle.TUPLE, pickle.APPENDS, pickle.SETITEMS}:
            items, stack = stack, self._below.pop()
        else:
            count = _TUPLES.get(opcode[0], 2 if opcode == pickle.SETITEM else 1)
            items = [stack.pop() for _ in range(count)][::-1]
        if opcode == pickle.TUPLE or opcode[0] in _TUPLES:
            stack.append(_together(items))
        elif opcode in {pickle.APPEND, pickle.APPENDS}:
            _grow(stack[-1], items)
        elif opcode in {pickle.SETITEM, pickle.SETITEMS}:
            self._use(items[::2], at)
            _grow(stack[-1], items)
        elif opcode in {pickle.REDUCE, pickle.NEWOBJ}:
            self._use(items, at)
            stack[-1] = list(_together(items))
        elif opcode == pickle.BINPERSID:
            self._use(items, at)
            stack.append(_ONE)
        elif opcode == pickle.BUILD:
            self._use(items, at)
        else:
            raise ValueError("PyTorch doesn't know this opcode")
        return stack

    def _use(self, items: Iterable[_Cost], at: int) -> None:
        """Count the work of a call, a copy, or a key's hash."""
        self._used += sum(item[0] for item in items)
        if self._used > _FREE_UNITS + _UNITS_PER_BYTE * at:
            raise UsageError("its pickle would take far more work than its bytes")


def _grow(target: _Cost, items: Iterable[_Cost]) -> None:
    if not isinstance(target, list):
        raise UsageError("its pickle changes what it has used before")
    units, levels = _together(items)
    target[:] = min(target[0] + units, _MOST_UNITS), max(target[1], levels)


def _together(items: Iterable[_Cost]) -> tuple[int, int]:
    units, levels = 1, 0
    for item in items:
        units += item[0]
        levels = max(levels, item[1])
    if levels >= _MOST_LEVELS:
        raise UsageError(f"its pickle is nested {_MOST_LEVELS} levels deep")
    return min(units, _MOST_UNITS), levels + 1

"""
Names of item types: one spelling for what DLPack, NumPy and the buffer protocol say.

Types are the same if their names are. Bytes without a type have none.
"""

import re
import sys
from functools import lru_cache

from isthmus.errors import UsageError

# Source: DLPack 1.1, DLDataTypeCode.
_DLPACK_NUMBERS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
_DLPACK_OTHERS = {
    3: "handle",
    6: "bool",
    7: "float8_e3m4",
    8: "float8_e4m3",
    9: "float8_e4m3b11fnuz",
    10: "float8_e4m3fn",
    11: "float8_e4m3fnuz",
    12: "float8_e5m2",
    13: "float8_e5m2fnuz",
    14: "float8_e8m0fnu",
    15: "float6_e2m3fn",
    16: "float6_e3m2fn",
    17: "float4_e2m1fn",
}
# Source: NumPy's documentation, "The array interface protocol".
_KINDS = {
    "b": "bool",
    "i": "int",
    "u": "uint",
    "f": "float",
    "c": "complex",
    "m": "timedelta",
    "M": "datetime",
    "S": "bytes",
    "U": "str",
}
_TYPE = re.compile(r"([<>|=]?)([a-zA-Z])(\d+)(\[\w+\])?")
_UTF32_BYTES = 4
_FOREIGN_ORDER = ">" if sys.byteorder == "little" else "<"
# Source: Python's documentation, struct; NumPy's, PEP 3118 for "Zf" and "w".
_FORMATS = {
    **dict.fromkeys("bhilqn", "int"),
    **dict.fromkeys("BHILQN", "uint"),
    **dict.fromkeys("efdg", "float"),
    **dict.fromkeys(("Zf", "Zd", "Zg", "F", "D"), "complex"),
    "?": "bool",
}


def item_of_dlpack(code: int, bits: int, lanes: int) -> str:
    """
    Name a DLPack type.

    Args:
        code: DLDataTypeCode.
        bits: Of all lanes together.
        lanes: More than one in a vector type.
    """
    each = bits // lanes
    name = _DLPACK_OTHERS.get(code) or f"{_DLPACK_NUMBERS.get(code, f'type{code}_')}{each}"
    return name if lanes == 1 else f"{name}x{lanes}"


@lru_cache(maxsize=256)
def item_of_typestr(text: object, what: str) -> tuple[str | None, int]:
    """
    Name a NumPy type string such as "<f4", and count the bytes of an item.

    Args:
        text: The type string.
        what: The array's type, for the message.

    Raises:
        UsageError: It is no type string, or of Python objects.
    """
    if text == "|O":
        raise UsageError(f"this {what} holds Python objects, which can't be copied as bytes")
    found = _TYPE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise UsageError(f"this {what} has items of unknown size: typestr '{text}'")
    order, kind, count, unit = found[1], found[2], int(found[3]), found[4] or ""
    item_bytes = count * _UTF32_BYTES if kind == "U" else count
    if kind not in _KINDS:
        return None, item_bytes
    name = "bool" if kind == "b" else f"{_KINDS[kind]}{8 * item_bytes}{unit}"
    # One byte has no order, and bytes in a string neither.
    foreign = order == _FOREIGN_ORDER and item_bytes > 1 and kind != "S"
    return _of_foreign_order(name) if foreign else name, item_bytes


def item_of_format(text: str, item_bytes: int) -> str:
    """Name a buffer's format, such as "<f"; what isn't a plain number is named by its format."""
    order, plain = (text[0], text[1:]) if text[:1] in set("@=<>!") else ("@", text)
    word = _FORMATS.get(plain)
    if word is None:
        return text
    name = "bool" if word == "bool" else f"{word}{8 * item_bytes}"
    foreign = order.replace("!", ">") == _FOREIGN_ORDER and item_bytes > 1
    return _of_foreign_order(name) if foreign else name


def _of_foreign_order(name: str) -> str:
    return f"{'big' if _FOREIGN_ORDER == '>' else 'little'}-endian {name}"

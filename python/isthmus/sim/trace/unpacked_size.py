"""
How much memory a packed block asks for, read before Arrow allocates it.

Arrow's reader believes what a file says, so a small file could ask for all memory. Its footer and
the heads of its blocks are flatbuffers. Source: https://arrow.apache.org/docs/format/Columnar.html
"""

import mmap
import struct

# Far more than the writers here put into one block.
MAX_UNPACKED_BYTES = 1 << 30

_TAIL_BYTES = 10  # the footer's length, and the magic
_FOOTER_BATCHES = 3  # the numbers of fields: Footer.recordBatches
_MESSAGE_HEADER, _MESSAGE_METADATA = 2, 4  # old files name their compression in the latter
_BATCH_BUFFERS, _BATCH_COMPRESSION = 2, 3
_MOST_BUFFERS = 64  # a trace's batch has fewer; Arrow reads no more than its schema needs
_MARKED_HEAD_BYTES = 8  # a mark, and the length of the flatbuffer behind it
_BLOCK = struct.Struct("<qi4xq")
_BUFFER = struct.Struct("<qq")


def unpacked_bytes(mapped: mmap.mmap, index: int) -> int:
    """Sum what a block's packed buffers become; 0 if it isn't packed, struct.error if corrupt."""
    footer_bytes = _number(mapped, "<i", len(mapped) - _TAIL_BYTES)
    footer = _followed(mapped, len(mapped) - _TAIL_BYTES - footer_bytes)
    batches = _followed(mapped, _field(mapped, footer, _FOOTER_BATCHES))
    begin, head_bytes, _ = _BLOCK.unpack_from(mapped, batches + 4 + index * _BLOCK.size)
    message = _followed(mapped, begin + _MARKED_HEAD_BYTES)
    batch = _followed(mapped, _field(mapped, message, _MESSAGE_HEADER))
    packed = _field(mapped, batch, _BATCH_COMPRESSION)
    if not packed and not _field(mapped, message, _MESSAGE_METADATA):
        return 0
    buffers = _followed(mapped, _field(mapped, batch, _BATCH_BUFFERS))
    total = 0
    for number in range(min(_number(mapped, "<I", buffers), _MOST_BUFFERS)):
        place, length = _BUFFER.unpack_from(mapped, buffers + 4 + number * _BUFFER.size)
        if length:
            # -1: this one isn't packed.
            total += max(_number(mapped, "<q", begin + head_bytes + place), 0)
    return total


def _number(mapped: mmap.mmap, form: str, place: int) -> int:
    found: int = struct.unpack_from(form, mapped, place)[0]
    return found


def _followed(mapped: mmap.mmap, place: int) -> int:
    return place + _number(mapped, "<I", place)


def _field(mapped: mmap.mmap, table: int, number: int) -> int:
    """Give the place of a table's field; 0 if it is absent."""
    fields = table - _number(mapped, "<i", table)
    slot = 4 + 2 * number
    if slot >= _number(mapped, "<H", fields):
        return 0
    offset = _number(mapped, "<H", fields + slot)
    return table + offset if offset else 0

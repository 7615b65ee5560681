"""Journals from which a sweep continues."""

import zlib

from fuzzing import fuzz, require, require_readable, temporary_folder
from isthmus.errors import UsageError
from isthmus.sim.store import SweepStore

# Of the journals that are taken, one in so many ends in a table.
_WRITTEN = 32
_HEAD = b'{"sweep": 1, "identity": "this"}\n'


def check(data: bytes) -> None:
    """
    See that a journal is refused in a line, or that a point that was read is kept.

    The first byte says whether the others are the lines of this sweep, or the whole journal.
    """
    table = temporary_folder() / "sweep.parquet"
    journal = table.with_name("sweep.parquet.journal")
    table.unlink(missing_ok=True)
    journal.write_bytes((_HEAD if data[:1] < b"\x80" else b"") + data[1:])
    try:
        store = SweepStore(table, "this", ["a"])
    except UsageError as error:
        require_readable(error)
        return
    known = "a" in store
    if zlib.crc32(data) % _WRITTEN == 0:
        with store:
            pass
        require(("a" in SweepStore(table, "this", ["a"])) == known, "a point was lost")


if __name__ == "__main__":
    fuzz(check)

"""Kernels of Accel-Sim 2.0, packed: any bytes give the text of a trace, or are refused."""

from itertools import islice

from fuzzing import fuzz, require, require_readable, temporary_folder
from isthmus.errors import UsageError
from isthmus.sim.trace.text import text_pieces

# Of a small file this is everything, unless zstd packed very well.
_MAX_PIECES = 4
# A piece ends with the first part that makes it a megabyte; a part has at most one.
_MAX_PIECE_BYTES = 2 << 20


def check(data: bytes) -> None:
    """Check that a file is refused in one line, or becomes text in pieces of bounded size."""
    path = temporary_folder() / "kernel-1.tracez"
    path.write_bytes(data)
    try:
        pieces = list(islice(text_pieces(path), _MAX_PIECES))
    except UsageError as error:
        require_readable(error)
        return
    require(max(map(len, pieces)) < _MAX_PIECE_BYTES, "a piece of unbounded size")
    require(
        data.startswith(pieces[0][: data.find(b"\0")]), "the text doesn't begin with the header"
    )


if __name__ == "__main__":
    fuzz(check)

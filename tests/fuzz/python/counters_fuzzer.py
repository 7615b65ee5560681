"""Files of watched processes: counters, with bytes of no process."""

import json
from functools import cache
from pathlib import Path

from fuzzing import fuzz, require, require_readable, temporary_folder
from isthmus.decide.advice.machine import machine_profile
from isthmus.errors import UsageError
from isthmus.show.answers.watch import verdict_line, watch_as_text
from isthmus.watching.costs import Costs, costs_of
from isthmus.watching.counters import read_counters, since
from isthmus.watching.reporting import report_on
from isthmus.watching.timeline import timeline_text

_EDIT_BYTES = 4


@cache
def _whole() -> bytes:
    from fakes.counters import MIB, CounterFile, download, upload

    file = CounterFile(rank="1", unwatched="cuMemcpyNew", exec_mode=1)
    upload(file, MIB, 900, site="train.py:9 step", hidden=1, replaced=1, replaced_bytes=5)
    download(file, 64 * MIB, 9000, calls=2, stream=7)
    file.row("cuMemHostAlloc", "pin", calls=20, ns=900).row("cuMemFreeHost", "unpin", calls=20)
    file.row("cuCtxSynchronize", "wait", ns=5, hidden=1, hidden_ns=5)
    file.repeat("train.py:9 step", calls=3, bytes=3 * MIB, ns=9, first_ns=3)
    file.event("cuMemcpyDtoH_v2", "copy", begin_ns=3, ns=5)
    return file.write(temporary_folder(), "whole").read_bytes()


@cache
def _costs() -> Costs:
    return costs_of(machine_profile("h100-sxm-pcie5"), "an H100")


@cache
def _places() -> list[int]:
    """List the bytes that hold something, and their neighbours: most of a file is free."""
    used = {place for place, byte in enumerate(_whole()) if byte}
    return sorted({place + more for place in used for more in range(8)} - {len(_whole())})


def check(data: bytes) -> None:
    """
    See that a file is refused in a line, or can be reported on.

    Each four bytes change one of the file: two choose it, one is not used, one is the new value. A
    first byte of 255 cuts the file.
    """
    whole = bytearray(_whole())
    for at in range(0, len(data) - _EDIT_BYTES + 1, _EDIT_BYTES):
        place = _places()[int.from_bytes(data[at : at + 2]) % len(_places())]
        if place < len(whole):
            whole[place] = data[at + 3]
    if data[:1] == b"\xff":
        del whole[int.from_bytes(data[1:4]) % len(whole) :]
    path = temporary_folder() / "1-2.counters"
    Path(path).write_bytes(whole)
    try:
        found = read_counters(path)
    except UsageError as error:
        require(str(error).startswith(f"{path}: "), f"{error} names no file")
        require_readable(error)
        return
    except OSError:
        require(not whole, "only a file of no bytes had no room")
        return
    report = report_on([found], _costs())
    require(report.verdict.avoidable_seconds <= report.verdict.seconds * 1.001 + 1e-9, "too much")
    require(verdict_line(report).isprintable(), "more than a line")
    watch_as_text(report).encode()
    json.loads(report.model_dump_json())
    require(not since(found, found).calls, "a difference of nothing")
    try:
        json.loads(timeline_text([found], modelled=False))
    except UsageError as error:
        require_readable(error)


if __name__ == "__main__":
    fuzz(check)

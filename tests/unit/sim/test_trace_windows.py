"""CTAs that are too large for memory while they run are read again from the trace's file."""

from pathlib import Path

import numpy as np
import pytest

import isthmus
from fakes import traces
from isthmus import _native
from isthmus.sim.trace.file import open_trace, record_trace
from isthmus.sim.trace.storage import Compression

pytestmark = pytest.mark.native

# Three CTAs run on each of h100-pcie5's 132 cores, and each may hold 64 MiB / 132 / 3: 169 KB.
# These have 280 KB.
_NUM_OPERATIONS = 2000
_LINES_EACH = 16
_NUM_CTAS = 4


def test_a_file_gives_the_same_results_whether_its_blocks_can_be_read_again_or_not(
    tmp_path: Path,
) -> None:
    again, again_bytes = _simulated(tmp_path / "plain.trace", None)
    held, held_bytes = _simulated(tmp_path / "packed.trace", "zstd")
    assert again.event_digest == held.event_digest
    assert again.total_ps == held.total_ps
    lines_bytes = _NUM_CTAS * _NUM_OPERATIONS * _LINES_EACH * 8
    assert again_bytes > lines_bytes
    assert held_bytes < lines_bytes


def _simulated(path: Path, compression: Compression | None) -> tuple[isthmus.SimulationResult, int]:
    """Simulate a program from a file, and count the bytes read by system calls."""
    blocks = [_block(cta) for cta in range(_NUM_CTAS)]
    made = _native.TraceSource(
        "made", traces.program(num_ctas=(_NUM_CTAS,)), _NUM_CTAS, blocks.__getitem__
    )
    record_trace(made, path, compression=compression)
    trace = open_trace(path)
    before = _bytes_read()
    result = isthmus.simulate(trace, "h100-pcie5", "ranges")
    return result, _bytes_read() - before


def _bytes_read() -> int:
    return int(Path("/proc/self/io").read_text().split("rchar:")[1].split()[0])


def _block(cta: int) -> list[np.ndarray]:
    """A CTA of two warps, of which one does all: lines of 64 MiB, drawn from the CTA's number."""
    num_lines = _NUM_OPERATIONS * _LINES_EACH
    drawn = np.random.default_rng(cta).integers(0, 1 << 19, num_lines, dtype=np.uint64)
    ends = np.arange(_NUM_OPERATIONS + 1, dtype=np.uint32) * _LINES_EACH
    return [
        np.zeros(2, np.uint32),
        np.full(2, cta, np.uint32),
        np.array([0, _NUM_OPERATIONS + 1, _NUM_OPERATIONS + 2], np.uint32),
        np.array([*[traces.LOAD] * _NUM_OPERATIONS, traces.END, traces.END], np.uint8),
        np.full(_NUM_OPERATIONS + 2, 3, np.uint32),
        np.array([*ends, num_lines, num_lines], np.uint32),
        drawn + np.uint64(0xC0000000 // 128),
    ]

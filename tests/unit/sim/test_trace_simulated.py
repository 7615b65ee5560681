"""A trace file simulates as its workload does."""

from pathlib import Path

import pytest

from fakes import traces
from fakes.traces import LOAD_LINE, kernel_text, write_kernels
from isthmus import _native
from isthmus.errors import UsageError
from isthmus.sim.running import simulate
from isthmus.sim.trace.file import record_trace
from isthmus.sim.trace.importing import import_trace
from isthmus.sim.trace.storage import Compression

pytestmark = pytest.mark.native


@pytest.mark.parametrize("policy", ["whole-page", "ranges"])
@pytest.mark.parametrize("compression", [None, "zstd"])
def test_a_file_simulates_as_its_workload_does(
    tmp_path: Path, compression: Compression | None, policy: str
) -> None:
    record_trace(
        _native.TraceSource.of_workload("lps"), tmp_path / "a.arrow", compression=compression
    )
    first = simulate("lps", policy=policy)
    second = simulate(tmp_path / "a.arrow", policy=policy)
    assert second.event_digest == first.event_digest
    assert (second.total_ps, second.traffic_bytes) == (first.total_ps, first.traffic_bytes)


def test_an_imported_trace_simulates(tmp_path: Path) -> None:
    report = import_trace(write_kernels(tmp_path, kernel_text(LOAD_LINE)), tmp_path / "a.arrow")
    assert simulate(report.path).total_ps > 0


@pytest.mark.parametrize("policy", ["whole-page", "ranges", "tree"])
def test_addresses_that_real_programs_have_migrate_like_any_others(
    tmp_path: Path, policy: str
) -> None:
    """CUDA gives addresses from 0x7f... on; a GPU's may have 57 bits."""
    lines = [LOAD_LINE.replace("0x7f1269c00000", f"0x7f1269{page:x}00000") for page in (0xA, 0xC)]
    moved = []
    for top in ("7f12", "1f12", "1007f12", "1fe7f12"):
        texts = [kernel_text(*(line.replace("0x7f12", f"0x{top}") for line in lines))]
        folder = tmp_path / top
        folder.mkdir()
        commands = f"MemcpyHtoD,0x{top}69c00000,4096\nkernel-1.traceg\n"
        kernels = write_kernels(folder, *texts, commands=commands)
        report = import_trace(kernels, tmp_path / f"{top}.arrow")
        result = simulate(report.path, policy=policy)
        moved.append((result.bytes_to_gpu, result.counts["line_requests"]))
    assert moved[0][0] > 0
    assert set(moved) == {moved[0]}


def test_a_corrupt_trace_stops_a_simulation() -> None:
    broken = traces.block(0, 1, 1)
    broken[5][1] = 77
    with pytest.raises(UsageError, match="fake, block 1: line_begin falls"):
        simulate(traces.source([traces.block(0, 0, 1), broken]))

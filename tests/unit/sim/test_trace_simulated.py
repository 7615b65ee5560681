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


def test_a_corrupt_trace_stops_a_simulation() -> None:
    broken = traces.block(0, 1, 1)
    broken[5][1] = 77
    with pytest.raises(UsageError, match="fake, block 1: line_begin falls"):
        simulate(traces.source([traces.block(0, 0, 1), broken]))

"""The reader in benchmarks/sim/public_traces.py, which knows nothing of ours, agrees with it."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from fakes.traces import LOAD_LINE, kernel_text, write_kernels
from isthmus.sim.trace.importing import import_trace

BENCHMARKS = Path(__file__).parents[3] / "benchmarks" / "sim"


@pytest.fixture
def public_traces() -> ModuleType:
    spec = importlib.util.spec_from_file_location("public_traces", BENCHMARKS / "public_traces.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.native
def test_a_second_reader_counts_the_same(tmp_path: Path, public_traces: ModuleType) -> None:
    lines = [
        LOAD_LINE,
        "0020 0000000f 0 STG.E.64 2 R2 R4 8 2 0x7f1269c00100 8 8 100000 0 0 ",
        "0030 00000003 1 R4 LDG.E.U8 1 R2 1 0 0x7f1269c00aff 0x7f1269d00000 0 ",
        "0040 00000003 0 STL.64 2 R1 R4 8 1 0xfffff0 0 0 ",
    ]
    text = kernel_text(*lines)
    upload = "MemcpyHtoD,0x00007f1269c00000,4096\n"
    commands = f"{upload}kernel-1.traceg\n{upload}kernel-2.traceg\n"
    write_kernels(tmp_path, text, text, commands=commands)
    counted = public_traces.reference(tmp_path)
    rows = public_traces.simulated(import_trace(tmp_path, tmp_path / "trace.arrow").path)
    assert public_traces.differences(counted, rows) == []
    assert counted["touched_again_bytes"] > counted["touched_bytes"]
    counted["unit_bytes"] += 1
    assert len(public_traces.differences(counted, rows)) == 1


def test_the_committed_numbers_are_those_of_the_second_reader(public_traces: ModuleType) -> None:
    committed = json.loads((BENCHMARKS / "two_cores" / "public_traces.json").read_text())
    named = {trace["trace"]: trace for trace in committed["traces"]}
    assert set(named) == {public.name for public in public_traces.TRACES}
    for public in public_traces.TRACES:
        trace = named[public.name]
        assert (trace["repository"], trace["commit"]) == (public.repository, public.commit)
        assert public_traces.differences(trace["reference"], trace["runs"]) == []
        assert all(run["modelled"] for run in trace["runs"])

"""Traces that other programs write: by docs/traces.md with pyarrow alone, and by a tracer."""

import json
import re
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pytest

from crafted_traces import sealed
from documents.snippets import ROOT, snippets_of
from fakes import traces
from isthmus import _native
from isthmus.errors import UsageError
from isthmus.sim import seal_trace
from isthmus.sim.trace import storage
from isthmus.sim.trace.file import open_trace, record_trace, trace_info
from isthmus.sim.trace.importing import import_trace
from program import EMULATED, run_process

pytestmark = pytest.mark.native

EXAMPLE = ROOT / "examples" / "trace"


def described(trace: _native.TraceSource) -> object:
    """What a program says, without names."""
    program = trace.program
    launches = [
        (
            each.num_ctas,
            each.threads_per_cta,
            [(s.kind, s.address, s.size_bytes) for s in each.before],
        )
        for each in program.launches
    ]
    places = [(each.address, each.size_bytes) for each in program.allocations]
    return launches, places, [(s.kind, s.address, s.size_bytes) for s in program.after]


@pytest.fixture(scope="module")
def pages_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the blocks of docs/traces.md have run."""
    folder = tmp_path_factory.mktemp("page")
    page = (ROOT / "docs" / "traces.md").read_text("utf-8")
    for number, snippet in enumerate(snippets_of(page)):
        if snippet.language == "python":
            (folder / f"{number}.py").write_text(snippet.text, "utf-8")
            done = run_process([sys.executable, f"{number}.py"], EMULATED, cwd=folder)
            assert done.code == 0, done.err
    return folder


def test_a_trace_that_pyarrow_alone_wrote_by_the_page_is_read(pages_files: Path) -> None:
    by_hand, written = (pages_files / name for name in ("by_hand.arrow", "mine.arrow"))
    assert trace_info(by_hand).summary == trace_info(written).summary
    assert traces.contents(open_trace(by_hand)) == traces.contents(open_trace(written))
    assert described(open_trace(by_hand)) == described(open_trace(written))


def test_it_names_no_function_of_isthmus(pages_files: Path) -> None:
    (script,) = (path for path in pages_files.glob("*.py") if "by_hand" in path.read_text("utf-8"))
    assert not re.search(r"import isthmus|from isthmus", script.read_text("utf-8"))


def rewritten(original: Path, path: Path, change: Callable[[dict[bytes, bytes]], None]) -> Path:
    """Write a trace's blocks with other metadata, as pyarrow would."""
    with pa.memory_map(str(original)) as file:
        table = pa.ipc.open_file(file).read_all()
    metadata = dict(table.schema.metadata)
    change(metadata)
    with pa.ipc.new_file(str(path), table.schema.with_metadata(metadata)) as writer:
        writer.write_table(table)
    return path


@pytest.mark.parametrize("absent", [b"isthmus.trace.seal", None])
def test_a_file_without_a_seal_is_refused_with_the_function_that_seals_it(
    pages_files: Path, tmp_path: Path, absent: bytes | None
) -> None:
    def unseal(metadata: dict[bytes, bytes]) -> None:
        seal = metadata.pop(b"isthmus.trace.seal")
        if absent is None:
            metadata[b"isthmus.trace.seal"] = seal[:-8] + b"00000000"

    path = rewritten(pages_files / "by_hand.arrow", tmp_path / "mine.arrow", unseal)
    with pytest.raises(UsageError, match=r"mine\.arrow: .*(seal|checksum)") as refused:
        open_trace(path)
    assert "isthmus.sim.seal_trace(path)" in str(refused.value.hint)
    seal_trace(path)
    assert trace_info(path).summary == trace_info(pages_files / "by_hand.arrow").summary


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.pop("after"), "after: Field required"),
        (lambda p: p.update(more=1), "more: Extra inputs"),
        (
            lambda p: p["launches"][0].update(num_ctas=-1),
            r"launches.*num_ctas.*greater than or equal",
        ),
        (lambda p: p["launches"][0].update(num_ctas=1 << 40), "num_ctas.*less than 4294967296"),
        (
            lambda p: p["launches"][0].update(num_ctas=3),
            "4 CTAs from CTA 0 are not in a launch of 3",
        ),
        (lambda p: p["launches"][0].update(num_ctas=5), "before the program does"),
        (lambda p: p["launches"][0].update(warps_per_cta=0), "0 warps in a CTA of 64 threads"),
        (lambda p: p["launches"][0].update(threads_per_cta=9999), "9999 threads in a CTA"),
        (lambda p: p["allocations"][0].update(size_bytes=1 << 60), "beyond the 57 bits"),
        (lambda p: p["allocations"][0].update(size_bytes=3 << 20), "'b' overlaps .* 'a'"),
        (lambda p: p["allocations"][0].update(address=(1 << 64) - 8), "beyond the 57 bits"),
        (lambda p: p["after"][0].update(kind="copy"), "kind: Input should be 'upload'"),
        (
            lambda p: p["after"][0].update(size_bytes=0),
            "host step 0 after the last launch has no bytes",
        ),
        (lambda p: p.update(launches=[]), "launches no kernel"),
    ],
)
def test_a_program_that_breaks_a_rule_is_refused_with_the_file_and_the_place(
    pages_files: Path, tmp_path: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    def break_rule(metadata: dict[bytes, bytes]) -> None:
        program = json.loads(metadata[b"isthmus.trace.program"])
        change(program)
        metadata[b"isthmus.trace.program"] = json.dumps(program).encode()

    path = rewritten(pages_files / "by_hand.arrow", tmp_path / "mine.arrow", break_rule)
    before = path.read_bytes()
    with pytest.raises(UsageError, match=rf"mine\.arrow.*{message}") as refused:
        seal_trace(path)
    assert len(str(refused.value).splitlines()) <= 2  # the error and its hint
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_other_columns_are_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.arrow"
    metadata = {"isthmus.trace.program": "{}", "isthmus.trace.version": "1"}
    # What differs may stand at the end of a long type.
    one = pa.array([[{"kind": 6, "compute": 0, "lines": [1]}]])
    number = pa.field("launch", pa.uint32(), nullable=False)
    both = pa.schema(
        [number, pa.field("cta", pa.uint32(), nullable=False), ("operations", one.type)]
    )
    for columns, message in (
        (
            pa.table([pa.array([0], pa.uint32())] * 2 + [one], schema=both),
            r"lines: list<\w+: int64>.* has to be .*lines: list<item: uint64 not null> not",
        ),
        ({"a": [1]}, "a column is a: int64, and has to be launch: uint32 not null"),
        (
            {"launch": pa.array([0], pa.uint32())},
            "a column is launch: uint32, and has to be launch: uint32 not null",
        ),
    ):
        table = columns if isinstance(columns, pa.Table) else pa.table(columns)
        table = table.replace_schema_metadata(metadata)
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
        with pytest.raises(UsageError, match=message) as refused:
            seal_trace(path)
        assert "docs/traces.md" in str(refused.value.hint)


def test_a_stream_is_refused_with_the_function_that_writes_files(tmp_path: Path) -> None:
    path = tmp_path / "mine.arrow"
    table = pa.table({"a": [1]})
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(UsageError, match="doesn't begin as an Arrow file") as refused:
        open_trace(path)
    assert "pyarrow.ipc.new_file" in str(refused.value.hint)


def packed_trace(path: Path) -> bytes:
    record_trace(
        traces.source([traces.block(0, 0, 2), traces.block(1, 0, 1)]), path, compression="zstd"
    )
    return path.read_bytes()


def test_a_block_that_asks_for_all_memory_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.arrow"
    whole = packed_trace(path)
    frame = b"\x28\xb5\x2f\xfd"  # zstd's; before it stands how much it becomes
    place = whole.rindex(frame) - 8
    bomb = whole[:place] + struct.pack("<q", 1 << 50) + whole[place + 8 :]
    path.write_bytes(sealed(bomb))
    with pytest.raises(
        UsageError, match=r"bomb\.arrow.*block 1: unpacked it takes 1024.0 TiB: at most"
    ):
        trace_info(path)


def test_what_a_block_takes_is_what_its_arrays_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "packed.arrow"
    packed_trace(path)
    most = sum(array.nbytes for array in traces.block(0, 0, 2))
    monkeypatch.setattr(storage, "MAX_UNPACKED_BYTES", most)
    assert trace_info(path).summary.num_blocks == 2
    monkeypatch.setattr(storage, "MAX_UNPACKED_BYTES", most - 1)
    with pytest.raises(UsageError, match="block 0: unpacked it takes"):
        trace_info(path)


def test_the_example_s_import_is_what_its_program_writes(tmp_path: Path) -> None:
    imported = tmp_path / "imported.arrow"
    report = import_trace(EXAMPLE, imported)
    assert len(report.warnings) == 1  # only what no such trace holds
    done = run_process([sys.executable, str(EXAMPLE / "own_program.py")], EMULATED, cwd=tmp_path)
    assert done.code == 0, done.err
    assert re.fullmatch(r"(\w+: [\d.]+ us, modelled\n){2}", done.out)
    written = tmp_path / "vector_add.arrow"
    assert traces.contents(open_trace(imported)) == traces.contents(open_trace(written))
    assert described(open_trace(imported)) == described(open_trace(written))
    assert {path.name for path in tmp_path.iterdir()} == {imported.name, written.name}

"""Trace files: what is written is read, and corrupt files are refused with place and reason."""

import gc
import mmap
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest

from fakes import traces
from isthmus import _native
from isthmus.errors import Unavailable, UsageError, WriteError
from isthmus.sim.trace.file import open_trace, record_trace, trace_info
from isthmus.sim.trace.seal import UNSEALED
from isthmus.sim.trace.storage import Compression

pytestmark = pytest.mark.native


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "small.trace"


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_a_recorded_trace_holds_what_its_source_held(
    path: Path, compression: Compression | None
) -> None:
    recorded = record_trace(traces.source(), path, compression=compression)
    assert traces.contents(open_trace(path)) == traces.contents(traces.source())
    assert recorded.operations == {"load": 6, "local_store": 6, "end": 6}
    assert (recorded.num_blocks, recorded.num_ctas, recorded.num_warps) == (3, 3, 6)
    assert recorded.num_lines == 18
    assert recorded.warp_instructions == 3 * sum(range(6)) + 12


def test_the_program_comes_back_as_it_was(path: Path) -> None:
    record_trace(traces.source(), path)
    program = open_trace(path).program
    assert (program.name, program.description, program.synthetic) == ("small", "made up", True)
    assert [(a.name, a.address, a.size_bytes) for a in program.allocations] == [
        ("data", 0xC0000000, 1 << 20)
    ]
    first = program.launches[0]
    assert (first.name, first.num_ctas, first.warps_per_cta) == ("kernel 0", 2, 2)
    assert (first.threads_per_cta, first.max_ctas_per_sm) == (40, 3)
    assert first.local_bytes_per_thread == 64
    assert [step.kind for step in first.before] == ["upload"]
    assert [step.kind for step in program.after] == ["download"]
    assert program.thread_instructions == 1234


def test_any_tool_that_reads_arrow_reads_traces(path: Path) -> None:
    record_trace(traces.source(), path)
    with pa.memory_map(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
    assert table["launch"].to_pylist() == [0, 0, 0, 0, 1, 1]
    assert table["cta"].to_pylist() == [0, 0, 1, 1, 0, 0]
    warp = table["operations"][0].as_py()
    assert [operation["kind"] for operation in warp] == [
        traces.LOAD,
        traces.LOCAL_STORE,
        traces.END,
    ]
    assert warp[0]["lines"] == [0xC0000000 // 128, 0xC0000000 // 128 + 50]


def test_info_is_what_recording_said(path: Path) -> None:
    recorded = record_trace(traces.source(), path)
    info = trace_info(path)
    assert info.summary == recorded
    assert info.size_bytes == path.stat().st_size
    assert info.program.name == "small"


def test_a_plain_trace_is_read_without_a_copy(path: Path) -> None:
    record_trace(traces.source(), path)
    trace = open_trace(path)
    block = trace.next()
    assert block is not None
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        place = mapped.find(block.lines.tobytes())
        mapped[place] ^= 1
        assert block.lines[0] == 0xC0000000 // 128 ^ 1
        mapped[place] ^= 1


def test_progress_counts_ctas(path: Path) -> None:
    seen: list[tuple[int, int]] = []
    record_trace(traces.source(), path, progress=lambda done, of: seen.append((done, of)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_a_trace_replaces_an_old_file_only_when_it_is_whole(path: Path) -> None:
    path.write_text("old")

    def stop(done: int, _: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        record_trace(traces.source(), path, progress=stop)
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]
    record_trace(traces.source(), path)
    assert trace_info(path).summary.num_blocks == 3


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    target = tmp_path / "absent" / "small.trace"
    with pytest.raises(WriteError, match=r"can't write .*small\.trace: No such file"):
        record_trace(traces.source(), target)


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        open_trace(tmp_path / "absent.trace")
    with pytest.raises(UsageError, match="is not a regular file"):
        open_trace(tmp_path)


def test_a_pipe_without_a_writer_is_refused_and_not_waited_for(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(UsageError, match=r"small\.trace: it is not a regular file"):
        open_trace(path)


def test_a_description_may_say_anything(path: Path) -> None:
    description = UNSEALED.decode() + '\0\n"\N{SNOWMAN}'
    blocks = [traces.block(0, 0, 2), traces.block(1, 0, 1)]
    told = traces.program(description=description)
    record_trace(_native.TraceSource("fake", told, 2, blocks.__getitem__), path)
    assert open_trace(path).program.description == description


@pytest.mark.parametrize("contents", [b"", b"x", b"ARROW1", b"ARROW1\0\0" + bytes(100)])
def test_what_is_no_trace_is_refused(path: Path, contents: bytes) -> None:
    path.write_bytes(contents)
    with pytest.raises(UsageError, match=r"small\.trace"):
        open_trace(path)


def test_another_arrow_file_is_no_trace(path: Path) -> None:
    table = pa.table({"a": [1, 2]})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(UsageError, match="an Arrow file, but not a trace"):
        open_trace(path)


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_a_trace_that_ends_anywhere_else_is_refused(
    path: Path, compression: Compression | None
) -> None:
    record_trace(traces.source(), path, compression=compression)
    for size in reversed(range(path.stat().st_size)):
        os.truncate(path, size)
        with pytest.raises(UsageError, match=r"small\.trace"):
            trace_info(path)


@pytest.mark.parametrize(("compression", "change"), [(None, 0x01), (None, 0x80), ("zstd", 0xFF)])
def test_a_wrong_byte_anywhere_is_refused(
    path: Path, compression: Compression | None, change: int
) -> None:
    record_trace(traces.source(), path, compression=compression)
    whole = path.read_bytes()
    with path.open("r+b", buffering=0) as file:
        for place, byte in enumerate(whole):
            os.pwrite(file.fileno(), bytes([byte ^ change]), place)
            with pytest.raises(UsageError, match=r"small\.trace"):
                trace_info(path)
            os.pwrite(file.fileno(), bytes([byte]), place)
    assert trace_info(path).summary.num_blocks == 3


def test_blocks_in_disorder_are_refused() -> None:
    blocks = [traces.block(0, 0, 1), traces.block(0, 1, 1), traces.block(1, 0, 1)]
    for wrong, message in (
        ([blocks[1]], "CTA 1 of launch 0 comes where CTA 0 of launch 0 was due"),
        ([blocks[0], blocks[0]], "CTA 0 of launch 0 comes where CTA 1 of launch 0 was due"),
        ([blocks[0], blocks[2]], "CTA 0 of launch 1 comes where CTA 1 of launch 0 was due"),
        (blocks[:2], "before the program does"),
        ([], "before the program does"),
    ):
        with pytest.raises(UsageError, match=message):
            traces.contents(traces.source(wrong))


def test_blocks_that_break_a_rule_are_refused() -> None:
    for array, place, value, message in (
        (0, 1, 1, "warp 1 is of another launch or CTA"),
        (3, 2, 0, "operation 2 of warp 0"),
        (3, 0, 9, "of kind 9"),
        (5, 1, 1000, "line_begin falls"),
        (6, 0, 1 << 60, "57 bits"),
        (6, 2, 16, "local word 16"),
    ):
        broken = traces.block(0, 0, 1)
        broken[array][place] = value
        with pytest.raises(UsageError, match=f"fake, block 0: .*{message}"):
            traces.source([broken]).next()


def test_what_reading_raises_passes_through() -> None:
    def interrupted(_: int) -> list[np.ndarray]:
        raise KeyboardInterrupt

    trace = _native.TraceSource("fake", traces.program(), 1, interrupted)
    with pytest.raises(KeyboardInterrupt):
        trace.next()
    with pytest.raises(KeyboardInterrupt):
        trace.next()


def test_a_trace_does_not_go_on_under_a_living_array() -> None:
    trace = traces.source()
    block = trace.next()
    assert block is not None
    lines = block.lines
    assert not lines.flags.writeable
    with pytest.raises(UsageError, match="still alive"):
        trace.next()
    with pytest.raises(UsageError, match="still alive"):
        trace.rewind()
    del lines
    assert trace.next() is not None
    with pytest.raises(UsageError, match="the trace has gone on"):
        _ = block.lines


def test_an_array_outlives_its_trace() -> None:
    trace = traces.source()
    block = trace.next()
    assert block is not None
    lines = block.lines
    del trace, block
    gc.collect()
    assert lines.tolist() == traces.block(0, 0, 1)[6].tolist()


def test_a_trace_has_one_user_at_a_time() -> None:
    reading, go_on = threading.Event(), threading.Event()

    def slow(index: int) -> list[np.ndarray]:
        reading.set()
        assert go_on.wait(30)
        return traces.block(0, index, 1)

    trace = _native.TraceSource("fake", traces.program(), 3, slow)
    other = threading.Thread(target=trace.next)
    other.start()
    try:
        assert reading.wait(30)
        with pytest.raises(UsageError, match="in use"):
            trace.next()
    finally:
        go_on.set()
        other.join()


def test_a_program_that_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="launch 0 has no CTAs"):
        _native.TraceSource("fake", traces.program(num_ctas=(0,)), 0, lambda _: [])
    with pytest.raises(UsageError, match="unknown host step 'copy': use upload"):
        _native.TraceHostStep("copy", 0, 1)


def test_a_workload_becomes_a_file(path: Path) -> None:
    workload = _native.TraceSource.of_workload("lps")
    record_trace(workload, path, compression="zstd")
    workload.rewind()
    trace = open_trace(path)
    while (block := workload.next()) is not None:
        other = trace.next()
        assert other is not None
        assert (other.lines == block.lines).all()
        assert (other.kinds == block.kinds).all()
        assert (other.compute == block.compute).all()
    assert trace.next() is None


def test_without_pyarrow_traces_are_unavailable(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(Unavailable, match=r"pip install 'isthmus\[sim\]'"):
        open_trace(path)


# A process of its own, whose peak is its own: ru_maxrss would begin with its parent's.
_READ = """
import sys
from pathlib import Path
from isthmus.sim.trace.file import trace_info
info = trace_info(Path(sys.argv[1]))
status = Path("/proc/self/status").read_text()
peak_kib = int(status.split("VmHWM:")[1].split()[0])
print(info.summary.num_lines, peak_kib)
"""


@pytest.mark.long
def test_a_large_trace_is_read_in_bounded_memory(path: Path) -> None:
    num_blocks, num_lines = 128, 1 << 18
    large = _large_source(num_blocks, num_lines)
    record_trace(large, path)
    size_bytes = path.stat().st_size
    assert size_bytes > 256 << 20
    found = subprocess.run(
        [sys.executable, "-c", _READ, str(path)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    lines, peak_kib = map(int, found.stdout.split())
    assert lines == num_blocks * num_lines
    # 16 MiB of the file may be mapped at once; the rest is Python, NumPy and pyarrow.
    assert peak_kib * 1024 < 180 << 20


def _large_source(num_blocks: int, num_lines: int) -> _native.TraceSource:
    """A source of large blocks: a CTA of two warps, one of which asks for all the lines."""

    def read(index: int) -> list[np.ndarray]:
        return [
            np.zeros(2, np.uint32),
            np.full(2, index, np.uint32),
            np.array([0, 2, 3], np.uint32),
            np.array([traces.LOAD, traces.END, traces.END], np.uint8),
            np.zeros(3, np.uint32),
            np.array([0, num_lines, num_lines, num_lines], np.uint32),
            np.arange(num_lines, dtype=np.uint64),
        ]

    return _native.TraceSource("large", traces.program(num_ctas=(num_blocks,)), num_blocks, read)

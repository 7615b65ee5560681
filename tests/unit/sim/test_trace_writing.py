"""Traces of a user's own program: equal to the recorder's, and nothing stored if wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fakes import traces
from isthmus import _native
from isthmus.errors import UsageError, WriteError
from isthmus.sim import TraceWriter
from isthmus.sim.running import open_source
from isthmus.sim.trace.file import open_trace, record_trace, trace_info

pytestmark = pytest.mark.native

LINE = 128
LANES = np.arange(32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mine.arrow"


def described(path: Path, program: _native.TraceProgram) -> TraceWriter:
    """A writer that knows a program's facts, and nothing of its calls."""
    return TraceWriter(
        path,
        name=program.name,
        description=program.description,
        synthetic=program.synthetic,
        thread_instructions=program.thread_instructions,
    )


def launch(trace: TraceWriter, one: _native.TraceLaunch) -> None:
    for step in one.before:
        trace.host(step.kind, step.address, step.size_bytes, stream=step.stream)
    trace.launch(
        one.name,
        num_ctas=one.num_ctas,
        threads_per_cta=one.threads_per_cta,
        max_ctas_per_sm=one.max_ctas_per_sm,
        local_bytes_per_thread=one.local_bytes_per_thread,
        stream=one.stream,
    )


def write_block(trace: TraceWriter, block: _native.TraceBlock, num_warps: int) -> None:
    """Give a block's operations row by row, with the addresses of its lines as those of lanes."""
    counts: np.ndarray = np.diff(block.line_begin.astype(np.int64))
    width = max(1, int(counts.max()))
    addresses = np.zeros((len(counts), width), np.uint64)
    active = np.arange(width) < counts[:, None]
    local = np.isin(block.kinds, (traces.LOCAL_LOAD, traces.LOCAL_STORE))
    units = np.repeat(np.where(local, 4, LINE), counts).astype(np.uint64)
    addresses[active] = block.lines * units
    begins = block.op_begin.astype(np.int64)
    warps = np.repeat(np.arange(num_warps), np.diff(begins))
    warps_per_cta = num_warps // block.num_ctas
    trace.write(
        block.kinds,
        addresses,
        warps=warps + block.first_cta * warps_per_cta,
        compute=block.compute,
        active=active,
        num_ctas=block.num_ctas,
    )


@pytest.mark.parametrize("workload", ["small", "nqu", "lib"])
def test_a_program_written_by_its_arrays_is_the_recorder_s_file_byte_for_byte(
    path: Path, workload: str
) -> None:
    source = traces.source() if workload == "small" else open_source(workload)
    recorded = path.with_name("recorded.arrow")
    record_trace(source, recorded)
    program = source.program
    with described(path, program) as trace:
        for allocation in program.allocations:
            trace.allocate(allocation.name, allocation.size_bytes, address=allocation.address)
        begun = -1
        source.rewind()
        while (block := source.next()) is not None:
            if block.launch != begun:
                begun = block.launch
                launch(trace, program.launches[begun])
            write_block(trace, block, len(block.op_begin) - 1)
        for step in program.after:
            trace.host(step.kind, step.address, step.size_bytes)
    assert path.read_bytes() == recorded.read_bytes()


@pytest.mark.parametrize("num_reads", [1, 2])
def test_a_program_known_by_its_rule_is_the_recorder_s_file_byte_for_byte(
    path: Path, num_reads: int
) -> None:
    num_bytes, num_ctas, warps_per_cta = 32 << 20, 8 * 4, 8
    source = _native.TraceSource.of_managed_read(
        num_bytes, num_cores=4, at_random=False, num_reads=num_reads
    )
    recorded = path.with_name("recorded.arrow")
    summary = record_trace(source, recorded)
    assert summary.num_blocks > num_reads  # a launch is several blocks
    num_warps = num_ctas * warps_per_cta
    with described(path, source.program) as trace:
        memory = trace.allocate("memory", num_bytes, address=0x7F0000000000)
        # Turn after turn, each warp reads 8 B with each lane; rows of a warp aren't together.
        turns, warps = np.divmod(np.arange(num_bytes // 256), num_warps)
        addresses = memory + 256 * (turns * num_warps + warps)[:, None] + 8 * LANES
        kinds = ["load"] * len(warps) + ["end"] * num_warps
        ends = np.zeros((num_warps, 32), np.int64)
        for _ in range(num_reads):
            trace.launch("pattern_verify", num_ctas=num_ctas, threads_per_cta=32 * warps_per_cta)
            trace.write(
                kinds,
                np.concatenate([addresses, ends]),
                warps=np.concatenate([warps, np.arange(num_warps)]),
                size_bytes=8,
                compute=np.repeat([14, 1], [len(warps), num_warps]),
            )
    assert path.read_bytes() == recorded.read_bytes()


def saxpy(path: Path, changes: dict[str, Any] | None = None) -> None:
    """Two CTAs of two warps: load, load, store; `changes` are other arguments of `write`."""
    with TraceWriter(path, name="saxpy") as trace:
        x, y = (trace.allocate(name, 4 * 128) for name in "xy")
        trace.host("upload", x, 4 * 128)
        trace.launch("saxpy", num_ctas=2, threads_per_cta=64)
        warps = np.tile(np.arange(4), 3)
        offsets = 4 * (32 * warps[:, None] + LANES)
        given = {
            "kinds": np.repeat(["load", "load", "store"], 4),
            "addresses": np.repeat([x, y, y], 4)[:, None] + offsets,
            "warps": warps,
        }
        trace.write(**(given | (changes or {})))
        trace.host("download", y, 4 * 128)


def test_lines_are_each_once_in_the_order_of_the_first_lane_that_requests_them(path: Path) -> None:
    with TraceWriter(path, name="order") as trace:
        begin = trace.allocate("data", 1 << 20)
        trace.launch("order", num_ctas=1, threads_per_cta=32)
        far = [[begin + 1000, begin + 120, begin + 1000, begin], [begin, 0, 0, 0], [begin] * 4]
        active = np.ones((3, 4), bool)
        active[1, 1:] = False
        trace.write("atomic", far, warps=[0, 0, 0], size_bytes=[16, 300, 4], active=active)
    first = begin // LINE
    (block,) = traces.contents(open_trace(path))
    lines = [first + 7, first, first + 1, first + 7]
    # Of 120 to 136 two, and so of 1000 to 1016.
    assert block[-1] == [first + 7, first, first + 1, first, first + 1, first + 2, first]
    assert block[6] == [0, 3, 6, 7, 7]
    assert lines[0] == block[-1][0]


def test_warps_and_ctas_without_operations_end(path: Path) -> None:
    with TraceWriter(path, name="idle") as trace:
        trace.launch("idle", num_ctas=3, threads_per_cta=96)
        trace.write("barrier", warps=[4], compute=7)
    (block,) = traces.contents(open_trace(path))
    assert block[3] == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10][: len(block[3])]  # type: ignore[arg-type]
    assert trace_info(path).summary.operations == {"barrier": 1, "end": 9}
    with TraceWriter(path, name="idle") as trace:
        trace.launch("idle", num_ctas=2, threads_per_cta=32)
        trace.write("load", warps=[])
    assert trace_info(path).summary.operations == {"end": 2}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kinds": "laod"}, "there is no kind of operation 'laod'"),
        ({"kinds": 7}, "kinds is 7: 0 to 6 are possible"),
        ({"kinds": ["load"] * 3}, r"kinds has the shape \(3,\)"),
        ({"warps": np.full(12, 4)}, r"warps\[0\] is 4: 0 to 3 are possible"),
        ({"warps": np.full(12, -1)}, r"warps\[0\] is -1"),
        ({"warps": np.zeros(12)}, "warps has the type float64, not whole numbers"),
        ({"warps": np.zeros(11, int)}, "shape"),
        ({"addresses": np.zeros((12, 33), int)}, "with 1 to 32 lanes"),
        ({"addresses": np.full(12, -8)}, r"addresses\[0, 0\] is -8"),
        ({"addresses": np.full(12, (1 << 64) - 1, np.uint64)}, "18446744073709551615"),
        ({"addresses": np.full(12, 1 << 40)}, r"row 0, lane 0: 0x10000000000 and the bytes"),
        ({"addresses": [[1, 2], [3]]}, "addresses is no array of numbers"),
        ({"addresses": None}, "row 0, a load, has no active lane"),
        ({"size_bytes": 300}, "row 1, lane 22: .* aren't in one allocation"),
        ({"size_bytes": 0}, "size_bytes is 0: 1 to 4096"),
        ({"compute": 1 << 32}, "compute is 4294967296"),
        ({"compute": -1}, "compute is -1"),
        ({"active": np.ones(12)}, "active has the shape"),
        ({"active": np.zeros((12, 32), bool)}, "row 0, a load, has no active lane"),
        ({"addresses": np.full((12, 32), "5")}, "addresses has the type <U1, not whole numbers"),
        ({"addresses": [None] * 12}, "addresses has the type object, not whole numbers"),
        ({"num_ctas": 3}, "num_ctas is 3: 1 to 2 are possible"),
        ({"num_ctas": 1}, r"warps\[2\] is 2: 0 to 1 are possible"),
        ({"kinds": ["end", *["load"] * 11]}, "row 0 ends warp 0, and row 4 is of the same warp"),
        ({"kinds": "local_load"}, "row 0, a local_load, is of 32 words"),
        ({"kinds": "local_load", "addresses": np.zeros(12, int)}, "local word 0, but a thread has"),
    ],
)
def test_wrong_operations_are_refused_with_file_place_and_reason_and_nothing_is_stored(
    path: Path, changes: dict[str, Any], message: str
) -> None:
    path.write_text("old")
    with pytest.raises(UsageError, match=message) as refused:
        saxpy(path, changes)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_a_refused_call_changes_nothing_and_another_may_follow(path: Path) -> None:
    saxpy(path)
    whole = path.read_bytes()
    with TraceWriter(path, name="saxpy") as trace:
        x, y = (trace.allocate(name, 4 * 128) for name in "xy")
        trace.host("upload", x, 4 * 128)
        wrong: list[Callable[[], object]] = [
            lambda: trace.allocate("z", 0),
            lambda: trace.allocate("z", 4096, address=x - 1),
            lambda: trace.allocate("z", 1 << 57),
            lambda: trace.host("uplaod", x, 4),
            lambda: trace.host("upload", x, -4),
            lambda: trace.allocate(5, 4),  # type: ignore[arg-type]
            lambda: trace.allocate("\ud800", 4),
            lambda: trace.host(None, x, 4),  # type: ignore[arg-type]
            lambda: trace.launch(None, num_ctas=1, threads_per_cta=32),  # type: ignore[arg-type]
            lambda: trace.launch("saxpy", num_ctas=2, threads_per_cta=2048),
            lambda: trace.launch("saxpy", num_ctas=0, threads_per_cta=64),
            lambda: trace.launch("saxpy", num_ctas=1.5, threads_per_cta=64),  # type: ignore[arg-type]
            lambda: trace.write("barrier", warps=[0]),
        ]
        for call in wrong:
            with pytest.raises(UsageError, match=r"mine\.arrow"):
                call()
        trace.launch("saxpy", num_ctas=2, threads_per_cta=64)
        with pytest.raises(UsageError, match=r"launch 0 'saxpy' has 0 of its 2 CTAs"):
            trace.launch("other", num_ctas=1, threads_per_cta=32)
        warps = np.tile(np.arange(4), 3)
        addresses = np.repeat([x, y, y], 4)[:, None] + 4 * (32 * warps[:, None] + LANES)
        with pytest.raises(UsageError, match="row 4"):
            trace.write("load", np.where(addresses < y, addresses, 5), warps=warps)
        trace.write(np.repeat(["load", "load", "store"], 4), addresses, warps=warps)
        with pytest.raises(UsageError, match=r"'saxpy': all of its 2 CTAs are written already"):
            trace.write("barrier", warps=[0])
        trace.host("download", y, 4 * 128)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("type_of", [np.uint8, np.int64, object, list])
def test_kinds_may_be_names_or_numbers_of_any_type(path: Path, type_of: type) -> None:
    saxpy(path)
    whole = path.read_bytes()
    kinds = np.repeat(["load", "load", "store"] if type_of is object else [0, 0, 1], 4)
    saxpy(path, {"kinds": kinds.tolist() if type_of is list else kinds.astype(type_of)})
    assert path.read_bytes() == whole


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_trace_is_not_stored(path: Path, error: type[BaseException]) -> None:
    def cut() -> None:
        with TraceWriter(path, name="cut") as trace:
            trace.launch("cut", num_ctas=1, threads_per_cta=32)
            trace.write("barrier", warps=[0])
            raise error

    with pytest.raises(error):
        cut()
    assert list(path.parent.iterdir()) == []


def test_a_trace_that_lacks_ctas_or_launches_is_not_stored(path: Path) -> None:
    with pytest.raises(UsageError, match="the program launches no kernel"), TraceWriter(path):
        pass
    trace = TraceWriter(path)

    def half() -> None:
        with trace:
            trace.launch("half", num_ctas=2, threads_per_cta=32)
            trace.write("barrier", warps=[0], num_ctas=1)

    with pytest.raises(UsageError, match="1 of its 2 CTAs"):
        half()
    with pytest.raises(UsageError, match="isn't open"):
        trace.write("barrier", warps=[0])
    assert list(path.parent.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=r"can't write .*mine\.arrow"):
        saxpy(tmp_path / "absent" / "mine.arrow")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": 5}, "name is 5, not a text"),
        ({"description": "\ud800"}, r"description is '\\ud800', not a text"),
        ({"synthetic": "no"}, "synthetic is 'no': True or False is needed"),
        ({"compression": "lz4"}, "compression is 'lz4': None or 'zstd' is needed"),
        ({"thread_instructions": -1}, "thread_instructions is -1"),
    ],
)
def test_a_description_that_can_not_be_is_refused_before_anything_is_written(
    path: Path, wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=rf"mine\.arrow: {message}"):
        TraceWriter(path, **wrong)


def test_a_writer_writes_one_trace_once(path: Path) -> None:
    def write(trace: TraceWriter) -> None:
        with trace:
            trace.launch("once", num_ctas=1, threads_per_cta=32)
            trace.write("barrier", warps=[0])
            with pytest.raises(UsageError, match="writes one trace, once"), trace:
                pass

    write(trace := TraceWriter(path))
    with pytest.raises(UsageError, match="writes one trace, once"):
        write(trace)
    assert trace_info(path).summary.operations == {"barrier": 1, "end": 1}
    assert list(path.parent.iterdir()) == [path]


def test_more_ctas_than_memory_holds_are_written_a_few_at_a_time(path: Path) -> None:
    def all_at_once() -> None:
        with TraceWriter(path) as trace:
            trace.launch("large", num_ctas=(1 << 32) - 1, threads_per_cta=1024)
            trace.write("barrier", warps=[0])

    with pytest.raises(UsageError, match="launch 0 'large': Unable to allocate") as refused:
        all_at_once()
    assert refused.value.hint == "write fewer CTAs at a time: num_ctas"
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("name", ["nul\0.arrow", 5, None])
def test_a_name_that_no_file_has_is_refused(name: Any) -> None:  # noqa: ANN401 - anything
    with pytest.raises((UsageError, WriteError), match=r"no file has such|a path was expected"):
        saxpy(name)

"""Streams in traces: written, stored, read, simulated, and shown by kernel and over time."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.sim import TraceWriter, seal_trace
from isthmus.sim.machine_files import load_machine
from isthmus.sim.parts import By, rows_of
from isthmus.sim.pictures import draw_run
from isthmus.sim.policy import default_policy
from isthmus.sim.result import SimulationResult
from isthmus.sim.running import run, simulate
from isthmus.sim.settings import Setup
from isthmus.sim.timeline import new_timeline, timeline_text
from isthmus.sim.trace.file import open_trace

pytestmark = pytest.mark.native

NUM_BYTES = 1 << 20


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "streams.arrow"


def write(path: Path, streams: tuple[int, ...], *, copies: tuple[int | None, ...] = ()) -> Path:
    """Write a kernel for each stream, which reads an array of its own."""
    with TraceWriter(path, name="streams") as trace:
        for number, stream in enumerate(streams):
            array = trace.allocate(f"array {number}", NUM_BYTES)
            step = copies[number] if copies else None
            trace.host("upload", array, NUM_BYTES, stream=step)
            trace.launch(f"kernel {number}", num_ctas=4, threads_per_cta=32, stream=stream)
            rows = np.arange(4 * 20)
            trace.write("load", array + 128 * rows[:, None], warps=rows // 20, compute=50)
    return path


def version_1(path: Path) -> Path:
    """Write the same trace as Isthmus wrote it before there were streams."""
    with pa.ipc.open_file(str(path)) as file:
        batches = [file.get_batch(each) for each in range(file.num_record_batches)]
        metadata = dict(file.schema.metadata)
    program = json.loads(metadata[b"isthmus.trace.program"])
    for launch in program["launches"]:
        assert launch.pop("stream") == 0
        for step in launch["before"]:
            assert step.pop("stream") is None
    metadata |= {b"isthmus.trace.program": json.dumps(program), b"isthmus.trace.version": b"1"}
    old = path.with_name("version_1.arrow")
    schema = batches[0].schema.with_metadata(metadata)
    with pa.ipc.new_file(str(old), schema) as writer:
        for batch in batches:
            writer.write_batch(batch.replace_schema_metadata(metadata))
    return old


def seen(path: Path) -> tuple[_native.TraceProgram, SimulationResult, _native.SimTimeline]:
    """Run a trace on demand, and see what happens."""
    events = new_timeline()
    setup = Setup(machine=load_machine("paper-gtx480"), policy=default_policy("ranges"))
    source = open_trace(path)
    return source.program, run(source, setup, timeline=events), events


def test_a_file_has_the_streams_that_were_written(path: Path) -> None:
    program = open_trace(write(path, (3, 0, 3), copies=(3, None, 3))).program
    assert [launch.stream for launch in program.launches] == [3, 0, 3]
    assert [launch.before[0].stream for launch in program.launches] == [3, None, 3]
    with pa.ipc.open_file(str(path)) as file:
        assert file.schema.metadata[b"isthmus.trace.version"] == b"2"


@pytest.mark.parametrize("policy", ["ideal", "programmer", "ranges", "advise"])
def test_kernels_of_two_streams_take_less_than_those_of_one(path: Path, policy: str) -> None:
    own, alone = write(path, (0, 1), copies=(0, 1)), path.with_name("alone.arrow")
    both = simulate(own, policy=policy)
    assert both.total_ps < simulate(write(alone, (0, 0)), policy=policy).total_ps
    assert both.total_ps >= simulate(write(alone, (0,)), policy=policy).total_ps
    assert both.kernel_ps + both.copy_ps <= both.total_ps


def test_a_trace_of_version_1_gives_the_same_as_one_stream(path: Path) -> None:
    new = write(path, (0, 0))
    old = version_1(new)
    seal_trace(old)
    assert open_trace(old).program.launches[1].stream == 0
    one = simulate(write(path.with_name("five.arrow"), (5, 5), copies=(5, 5)))
    results = [simulate(old), simulate(new), one]
    assert len({(each.total_ps, each.event_digest) for each in results}) == 1


@pytest.mark.parametrize(
    ("stream", "why"),
    [
        (-1, "stream is -1: 0 to 4294967294 are possible"),
        ((1 << 32) - 1, "stream is 4294967295: 0 to 4294967294 are possible"),
        ("copies", "stream is 'copies', not a whole number"),
        (True, "stream is True, not a whole number"),
    ],
)
def test_what_is_no_stream_is_refused_with_the_place(path: Path, stream: object, why: str) -> None:
    with TraceWriter(path) as trace:
        array = trace.allocate("array", NUM_BYTES)
        with pytest.raises(UsageError, match=f"streams.arrow, launch 0: {why}"):
            trace.launch("kernel", num_ctas=1, threads_per_cta=32, stream=stream)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match=f"streams.arrow: {why}"):
            trace.host("upload", array, 128, stream=stream)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="a read has stream 2: only copies have a stream"):
            trace.host("read", array, 128, stream=2)
        trace.launch("kernel", num_ctas=1, threads_per_cta=32)
        trace.write("load", [array], warps=[0])


@pytest.mark.parametrize("value", ["-1", "4294967295", '"a"', "1.5"])
def test_a_file_with_no_stream_is_refused_with_the_place(path: Path, value: str) -> None:
    with pa.ipc.open_file(str(write(path, (0, 0)))) as file:
        batch, metadata = file.get_batch(0), dict(file.schema.metadata)
    text = metadata[b"isthmus.trace.program"].decode()
    metadata[b"isthmus.trace.program"] = text.replace('"stream":0', f'"stream":{value}', 1).encode()
    with pa.ipc.new_file(str(path), batch.schema.with_metadata(metadata)) as writer:
        writer.write_batch(batch.replace_schema_metadata(metadata))
    with pytest.raises(UsageError, match=r"streams\.arrow: can't read the program: .*stream"):
        seal_trace(path)


def test_kernels_that_overlap_have_their_own_counts(path: Path) -> None:
    program, result, events = seen(write(path, (0, 1, 0), copies=(0, 1, 0)))
    rows = rows_of(By.KERNEL, {}, program, result, events)
    assert [row["kernel"] for row in rows] == ["kernel 0", "kernel 1", "kernel 2"]
    assert [row["line_requests"] for row in rows] == [80, 80, 80]
    assert len({row["bytes_migrated_to_gpu"] for row in rows}) == 1
    spans = result.launch_ps.tolist()
    assert [row["time_ps"] for row in rows] == [end - start for start, end in spans]
    assert sum(end - start for start, end in spans) > result.kernel_ps, "some overlap"


def test_a_timeline_has_a_row_for_each_stream(path: Path) -> None:
    *_, events = seen(write(path, (4, 9, 4)))
    document = json.loads(timeline_text(events))["traceEvents"]
    names = {one["tid"]: one["args"]["name"] for one in document if one["name"] == "thread_name"}
    kernels = {
        one["name"]: names[one["tid"]] for one in document if one["ph"] == "X" and one["pid"] == 1
    }
    assert kernels == {"kernel 0": "stream 4", "kernel 1": "stream 9", "kernel 2": "stream 4"}


def test_a_picture_has_a_row_for_each_stream(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    drawn = draw_run("ranges", *seen(write(path, (4, 9, 4), copies=(4, 9, 4))), folder)
    texts = [one.read_text("utf-8") for one in drawn if one.suffix == ".svg"]
    assert texts
    assert all("kernels, by stream" in text for text in texts)

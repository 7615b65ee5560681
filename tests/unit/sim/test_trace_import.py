"""The import of Accel-Sim's traces: what they hold, what they lack, and what is corrupt."""

import lzma
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes import traces
from fakes.traces import (
    EXIT_LINE,
    LINES_OF_VERSIONS,
    LOAD_LINE,
    kernel_text,
    tracez,
    versioned_text,
    write_kernels,
)
from isthmus import _native
from isthmus.errors import UsageError, WriteError
from isthmus.sim.trace.file import open_trace, trace_info
from isthmus.sim.trace.importing import ImportReport, import_trace
from isthmus.sim.trace.warnings import COUNTS, warnings_of

pytestmark = pytest.mark.native

FIRST_LINE = 0x7F1269C00000 // 128


def imported(folder: Path, *texts: str, commands: str | None = None) -> ImportReport:
    target = folder / "imported.trace"
    return import_trace(write_kernels(folder, *texts, commands=commands), target)


def told(report: ImportReport, part: str) -> bool:
    return any(part in warning for warning in report.warnings)


def test_kernels_become_launches_and_instructions_operations(tmp_path: Path) -> None:
    report = imported(tmp_path, kernel_text(LOAD_LINE), kernel_text(LOAD_LINE, num_ctas=1))
    assert traces.contents(open_trace(report.path)) == [
        (0, 0, 2, [0, 2, 4], [0, 6, 0, 6], [0, 1, 0, 1], [0, 1, 1, 2, 2], [FIRST_LINE] * 2),
        (1, 0, 1, [0, 2], [0, 6], [0, 1], [0, 1, 1], [FIRST_LINE]),
    ]
    program = open_trace(report.path).program
    assert program.name == tmp_path.name
    assert [launch.name for launch in program.launches] == ["_Z5levelPi"] * 2
    assert program.thread_instructions == 3 * 64
    assert report.counts["memory_operations"] == 3


def test_copies_become_host_steps_where_they_stand(tmp_path: Path) -> None:
    commands = (
        "MemcpyHtoD,0x00007f1269c00000,4096\n\nkernel-1.traceg\n"
        "MemcpyHtoD,0x00007f1269c00000,64\nMemcpyHtoD,0x00007f1269d00000,0\nkernel-2.traceg\n"
        "MemcpyDtoH,0x00007f1269c00000,128\n"
    )
    texts = kernel_text(LOAD_LINE), kernel_text(LOAD_LINE, number=2)
    program = imported(tmp_path, *texts, commands=commands).program
    steps = [[(s.kind, s.size_bytes) for s in launch.before] for launch in program.launches]
    assert steps == [[("upload", 4096)], [("upload", 64)]]
    assert [(step.kind, step.size_bytes) for step in program.after] == [("download", 128)]


def test_allocations_are_the_copies_and_the_touched_lines(tmp_path: Path) -> None:
    other = "0020 00000001 1 R4 LDG.E 1 R2 4 2 0x7f1269d00ffc 0 "
    program = imported(tmp_path, kernel_text(LOAD_LINE, other)).program
    assert [(each.name, each.address, each.size_bytes) for each in program.allocations] == [
        ("upload-0", 0x7F1269C00000, 4096),
        ("touched-1", 0x7F1269D00F80, 128),
    ]


@pytest.mark.parametrize("version", LINES_OF_VERSIONS)
@pytest.mark.parametrize("packed", [False, True])
def test_every_version_of_the_tracer_is_read(tmp_path: Path, version: str, packed: bool) -> None:
    text = versioned_text(version)
    kernels_list = write_kernels(tmp_path, text)
    if packed:
        (tmp_path / "kernel-1.tracez").write_bytes(tracez(text))
        kernels_list.write_text("MemcpyHtoD,0x7f1269c00000,4096\nkernel-1.tracez\n")
    report = import_trace(kernels_list, tmp_path / "imported.trace")
    assert traces.contents(open_trace(report.path)) == [
        (0, 0, 2, [0, 2, 4], [0, 6, 0, 6], [0, 1, 0, 1], [0, 1, 1, 2, 2], [FIRST_LINE] * 2)
    ]
    assert len(report.warnings) == 1


@pytest.mark.parametrize("ending", ["", " 0", " -264", " 0 0", " 3 -1"])
@pytest.mark.parametrize("version", [4, 5])
def test_versions_4_and_5_exist_with_and_without_immediates(
    tmp_path: Path, version: int, ending: str
) -> None:
    line = f"0010 0000000f 1 R4 LDG.E 1 R2 4 2 0x7f1269c00000 128 128 128{ending} "
    report = imported(tmp_path, kernel_text(line, version=version))
    assert trace_info(report.path).summary.num_lines == 8


@pytest.mark.parametrize("version", ["7", "9", "0"])
def test_an_unknown_version_is_refused_with_the_versions_that_are_read(
    tmp_path: Path, version: str
) -> None:
    text = versioned_text("5").replace("version = 5", f"version = {version}")
    why = rf"kernel-1\.traceg, line 12: .* version {version} of .*; versions 1 to 6 are read"
    with pytest.raises(UsageError, match=why):
        imported(tmp_path, text)


def test_old_tracers_repeat_cta_and_warp(tmp_path: Path) -> None:
    text = kernel_text(LOAD_LINE, version=2)
    text = text.replace("\n0010", "\n0 0 0 0 0010").replace("\n0100", "\n0 0 0 0 0100")
    assert trace_info(imported(tmp_path, text).path).summary.num_lines == 2


def test_addresses_of_lanes_that_did_nothing_are_said(tmp_path: Path) -> None:
    line = "0010 00000001 1 R4 LDG.E 1 R2 4 2 0x7f1269c00000 1024 1024 "
    report = imported(tmp_path, kernel_text(line, version=3))
    assert told(report, "2 accesses have more addresses than active lanes")
    assert trace_info(report.path).summary.num_lines == 2


@pytest.mark.parametrize(
    "line",
    [
        "0020 ffffffff 0 SYNCS.ARRIVE.TRANS64.A1T0 2 R2 R3 8 1 0x20 0 0",
        "0020 ffffffff 0 ARRIVES.LDGSTSBAR.64 1 R2 8 1 0x20 0 0",
        "0020 ffffffff 0 HGMMA.64x128x16.F32.BF16 3 R4 R8 R9 1 0 0 0",
        "0020 ffffffff 0 REPLAY_START 0 0 0 0",
    ],
)
def test_what_stays_in_the_sm_is_no_missing_traffic(tmp_path: Path, line: str) -> None:
    assert len(imported(tmp_path, kernel_text(LOAD_LINE, line)).warnings) == 1


@pytest.mark.parametrize("size", [(512 << 30) + 1, 100 * 10**12])
def test_a_copy_larger_than_any_memory_is_refused(tmp_path: Path, size: int) -> None:
    commands = f"kernel-1.traceg\nMemcpyHtoD,0x00007f1269c00000,{size}\n"
    with pytest.raises(UsageError, match=r"line 2: a copy of .* more than any GPU's memory"):
        imported(tmp_path, kernel_text(LOAD_LINE), commands=commands)


def test_copies_that_together_need_more_than_any_memory_are_refused(tmp_path: Path) -> None:
    half = 300 << 30
    commands = f"MemcpyHtoD,0x10000000000,{half}\nMemcpyHtoD,{{}},{half}\nkernel-1.traceg\n"
    with pytest.raises(UsageError, match=r"copies and accesses of .* need 600\.0 GiB; no GPU"):
        imported(tmp_path, kernel_text(LOAD_LINE), commands=commands.format("0x20000000000"))
    # The same memory twice is no more.
    imported(tmp_path, kernel_text(LOAD_LINE), commands=commands.format("0x10000000000"))


def test_packed_kernels_are_unpacked_even_where_the_list_does_not_say_so(tmp_path: Path) -> None:
    kernels_list = write_kernels(tmp_path, kernel_text(LOAD_LINE))
    plain = tmp_path / "kernel-1.traceg"
    # Two streams, as `cat a.xz b.xz` makes them.
    text = plain.read_bytes()
    (tmp_path / "kernel-1.traceg.xz").write_bytes(
        lzma.compress(text[:100]) + bytes(4) + lzma.compress(text[100:])
    )
    expected = traces.contents(open_trace(import_trace(kernels_list, tmp_path / "a").path))
    plain.unlink()
    report = import_trace(tmp_path, tmp_path / "b", compression="zstd")
    assert traces.contents(open_trace(report.path)) == expected
    assert report.text_bytes == len(text)


@pytest.mark.parametrize(
    ("line", "warning"),
    [
        ("0020 ffffffff 1 R4 TEX.SCR.LL 2 R2 R3 0 0", "TRAFFIC IS MISSING: 2 accesses to textures"),
        ("0020 ffffffff 1 R4 LDC.64 0 0 0", "2 accesses to constant memory"),
        ("0020 ffffffff 0 UBLKCP 0 0 0", "TRAFFIC IS MISSING: 2 bulk copies"),
        ("0020 ffffffff 1 R4 LDNEW 1 R2 4 1 0x10000 4 0", "unknown instructions"),
        ("0020 ffffffff 0 LDGSTS.E.128 2 R2 R3 16 1 0x20 16 0", "only the shared address"),
        ("0020 ffffffff 1 R4 LDG.E 1 R2 4 1 0x0 0 0", "2 loads are of address 0"),
    ],
)
def test_what_the_trace_cannot_hold_is_said_loudly(tmp_path: Path, line: str, warning: str) -> None:
    assert told(imported(tmp_path, kernel_text(LOAD_LINE, line)), warning)
    (tmp_path / "clean").mkdir()
    clean = imported(tmp_path / "clean", kernel_text(LOAD_LINE))
    assert not told(clean, warning)
    assert len(clean.warnings) == 1


def test_what_had_to_be_assumed_is_said(tmp_path: Path) -> None:
    texts = kernel_text(LOAD_LINE), kernel_text(LOAD_LINE, number=2, stream=7)
    commands = "kernel-1.traceg\nNcclAllReduce\nkernel-2.traceg\n"
    report = imported(tmp_path, *texts, commands=commands)
    assert told(report, "ran on 2 streams")
    assert [launch.stream for launch in report.program.launches] == [0, 1]
    assert told(report, "1 lines of the list are neither copies nor kernels")
    assert told(report, "all data begins on the CPU")


def test_lists_of_other_contexts_are_said(tmp_path: Path) -> None:
    kernels_list = write_kernels(tmp_path, kernel_text(LOAD_LINE))
    (tmp_path / "kernelslist_ctx_0x55.g").write_text(kernels_list.read_text())
    assert told(import_trace(tmp_path, tmp_path / "a"), "has 2 lists of kernels")
    assert not told(import_trace(kernels_list, tmp_path / "b"), "lists of kernels")


# In the place of any word of a trace.
WRONG = (
    "x",
    "-1",
    "0",
    "1.5",
    "ffffffff",
    "99999999999999999999",
    "0x7f1269c00000",
    "\x1b[31m",
    "",
)


@pytest.mark.parametrize("version", LINES_OF_VERSIONS)
def test_any_field_of_any_version_may_be_wrong(version: str) -> None:
    """It is refused with the line, or is one that doesn't matter here, such as a register."""
    words = re.split(r"(\s+)", versioned_text(version))
    texts = [
        "".join([*words[:place], wrong, *words[place + 1 :]])
        for place, wrong in product(range(0, len(words), 2), WRONG)
    ]
    refusals = [said for said in map(refusal_of, texts) if said]
    assert len(refusals) > 300
    for said in refusals:
        assert re.match(r"kernel-1\.traceg, line \d+: ", said)
        assert said.isprintable()


@pytest.mark.parametrize("version", LINES_OF_VERSIONS)
def test_no_wrong_field_is_read_as_another_trace_without_a_word(version: str) -> None:
    """Masks and strides may be those of another program; nothing else may."""
    text = versioned_text(version)
    usual = read_as(text)
    assert usual is not None
    words = re.split(r"(\s+)", text)
    silent = set()
    for place, wrong in product(range(0, len(words), 2), WRONG):
        found = read_as("".join([*words[:place], wrong, *words[place + 1 :]]))
        if found is not None and found[0] != usual[0] and found[1] == usual[1]:
            silent.add((words[place], wrong))
    assert silent == {("ffffffff", "0"), ("4", "-1")}


def read_as(text: str) -> tuple[object, tuple[str, ...]] | None:
    """What a kernel's text is read as, and what is said about it; None if it is refused."""
    kernel = _native.AccelSimKernel("kernel-1.traceg", 0, _native.TouchedLines())
    try:
        kernel.feed(text.encode())
        kernel.finish(missing_ctas_do_nothing=False)
    except UsageError:
        return None
    arrays = [part.tolist() if hasattr(part, "tolist") else part for part in kernel.block()]
    launch = kernel.launch
    shape = (launch.num_ctas, launch.warps_per_cta, launch.max_ctas_per_sm)
    counts = {name: getattr(kernel.counts, name) for name in COUNTS}
    said = warnings_of(counts, num_streams=1, num_lists=1, left_out=[])
    return (arrays, shape, kernel.stream), said


def refusal_of(text: str) -> str:
    """What is said against a kernel's text, if anything."""
    kernel = _native.AccelSimKernel("kernel-1.traceg", 0, _native.TouchedLines())
    try:
        kernel.feed(text.encode())
        kernel.finish(missing_ctas_do_nothing=False)
    except UsageError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "key",
    [
        *("kernel name", "shmem", "nregs", "binary version", "cuda stream id"),
        *("shmem base_addr", "local mem base_addr"),
    ],
)
def test_a_line_that_every_tracer_writes_is_missed(tmp_path: Path, key: str) -> None:
    text = re.sub(rf"^-{key} = .*\n", "", kernel_text(LOAD_LINE), flags=re.MULTILINE)
    assert told(imported(tmp_path, text), "1 lines that every tracer writes are absent")


def test_a_gpu_that_is_not_known_is_said(tmp_path: Path) -> None:
    text = kernel_text(LOAD_LINE).replace("binary version = 70", "binary version = 777")
    assert told(
        imported(tmp_path, text), "1 kernels are of a GPU (binary version) that isn't known"
    )


def test_missing_thread_blocks_are_a_truncated_file_unless_the_caller_knows(tmp_path: Path) -> None:
    text = kernel_text(LOAD_LINE).replace("(2,1,1)", "(5,1,1)")
    kernels_list = write_kernels(tmp_path, text)
    with pytest.raises(UsageError, match=r"kernel-1\.traceg.*3 thread blocks before.*truncated"):
        import_trace(kernels_list, tmp_path / "trace")
    report = import_trace(kernels_list, tmp_path / "trace", missing_ctas_do_nothing=True)
    assert told(report, "3 thread blocks are not in the trace")
    assert report.program.launches[0].num_ctas == 2


def test_a_program_without_memory_operations_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="accesses global memory: nothing would migrate"):
        imported(tmp_path, kernel_text("0010 ffffffff 1 R1 FFMA 3 R4 R6 R8 0 0"))
    assert not (tmp_path / "imported.trace").exists()


def test_an_import_that_fails_leaves_no_file(tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    kernels_list = write_kernels(tmp_path, kernel_text(LOAD_LINE), "broken")
    with pytest.raises(UsageError):
        import_trace(kernels_list, tmp_path / "imported.trace")
    after = sorted(tmp_path.iterdir())
    assert set(after) - set(before) == {
        kernels_list,
        tmp_path / "kernel-1.traceg",
        tmp_path / "kernel-2.traceg",
    }


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    kernels_list = write_kernels(tmp_path, kernel_text(LOAD_LINE))
    with pytest.raises(WriteError, match="absent"):
        import_trace(kernels_list, tmp_path / "absent" / "trace")


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        ("", "names no kernel"),
        ("MemcpyHtoD,0x10,4\n", "names no kernel"),
        ("MemcpyHtoD,10,4\nkernel-1.traceg\n", "line 1: a copy is 'MemcpyHtoD,0xADDRESS,BYTES'"),
        ("MemcpyHtoD,0x10\nkernel-1.traceg\n", "line 1: a copy is"),
        ("kernel-1.trace\n", r"line 1: 'kernel-1\.trace' is not a \.traceg or \.tracez file"),
        ("kernel-9.traceg\n", r"can't read .*kernel-9\.traceg: No such file"),
        (
            "MemcpyHtoD,0xffffffffffffffff,4\nkernel-1.traceg\n",
            "line 1: the copy lies beyond the 57 bits",
        ),
    ],
)
def test_a_broken_list_is_refused(tmp_path: Path, commands: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        imported(tmp_path, kernel_text(LOAD_LINE), commands=commands)


def test_a_missing_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"kernelslist\.g: No such file"):
        import_trace(tmp_path, tmp_path / "trace")


def test_a_pipe_without_a_writer_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    kernels_list = write_kernels(tmp_path, kernel_text(LOAD_LINE))
    (tmp_path / "kernel-1.traceg").unlink()
    os.mkfifo(tmp_path / "kernel-1.traceg")
    with pytest.raises(UsageError, match="is not a regular file"):
        import_trace(kernels_list, tmp_path / "trace")


def test_an_error_names_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"kernel-1\.traceg, line 23: the address mode is 9"):
        imported(tmp_path, kernel_text(LOAD_LINE.replace(" 4 1 ", " 4 9 ")))


def test_any_truncation_of_a_packed_kernel_is_refused(tmp_path: Path) -> None:
    kernels_list = write_kernels(tmp_path, kernel_text(LOAD_LINE), commands="kernel-1.traceg.xz\n")
    packed = lzma.compress((tmp_path / "kernel-1.traceg").read_bytes())
    for size in range(len(packed)):
        (tmp_path / "kernel-1.traceg.xz").write_bytes(packed[:size])
        with pytest.raises(UsageError, match=r"kernel-1\.traceg\.xz"):
            import_trace(kernels_list, tmp_path / "trace")


def test_a_wrong_byte_of_a_packed_kernel_is_refused(tmp_path: Path) -> None:
    kernels_list = write_kernels(tmp_path, kernel_text(LOAD_LINE), commands="kernel-1.traceg.xz\n")
    packed = lzma.compress((tmp_path / "kernel-1.traceg").read_bytes())
    for place in range(len(packed)):
        broken = bytearray(packed)
        broken[place] ^= 0x10
        (tmp_path / "kernel-1.traceg.xz").write_bytes(broken)
        with pytest.raises(UsageError, match=r"kernel-1\.traceg\.xz"):
            import_trace(kernels_list, tmp_path / "trace")


def test_any_truncation_of_a_plain_kernel_is_refused(tmp_path: Path) -> None:
    text = kernel_text(LOAD_LINE)
    kernels_list = write_kernels(tmp_path, text)
    # The last line end may go, and what is only white space behind it.
    for size in range(len(text.rstrip())):
        (tmp_path / "kernel-1.traceg").write_text(text[:size])
        with pytest.raises(UsageError, match=r"kernel-1\.traceg, line \d+"):
            import_trace(kernels_list, tmp_path / "trace")


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_whatever_a_text_says_a_trace_or_a_refusal_comes_of_it(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("fuzzed")
    text = bytearray(kernel_text(LOAD_LINE, EXIT_LINE).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(text) - 1))
        length = data.draw(st.integers(0, 8))
        text[place : place + length] = data.draw(st.binary(max_size=8))
    kernels_list = write_kernels(folder, "")
    (folder / "kernel-1.traceg").write_bytes(text)
    try:
        report = import_trace(kernels_list, folder / "trace", missing_ctas_do_nothing=True)
    except UsageError:
        return
    assert trace_info(report.path).summary.num_ctas == report.program.launches[0].num_ctas


# A process of its own, whose peak is its own: ru_maxrss would begin with its parent's.
_IMPORT = """
import sys
from pathlib import Path
from isthmus.sim.trace.importing import import_trace
report = import_trace(Path(sys.argv[1]), Path(sys.argv[2]))
status = Path("/proc/self/status").read_text()
peak_kib = int(status.split("VmHWM:")[1].split()[0])
print(report.text_bytes, peak_kib)
"""


@pytest.mark.long
def test_a_large_text_is_imported_in_bounded_memory(tmp_path: Path) -> None:
    cta = f"\n#BEGIN_TB\n\nthread block = {{}},0,0\n\nwarp = 0\ninsts = 3001\n{LOAD_LINE}\n"
    cta += "0020 ffffffff 1 R1 FFMA 3 R4 R6 R8 0 0 \n" * 3000 + "\n#END_TB\n"
    num_ctas = 2400
    kernels_list = write_kernels(tmp_path, commands="kernel-1.traceg.xz\n")
    with lzma.open(tmp_path / "kernel-1.traceg.xz", "wt", preset=0) as file:
        file.write(traces.HEADER.format(num_ctas=num_ctas, number=1, stream=0, version=5))
        for number in range(num_ctas):
            file.write(cta.format(number))
    found = subprocess.run(
        [sys.executable, "-c", _IMPORT, str(kernels_list), str(tmp_path / "trace")],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    text_bytes, peak_kib = map(int, found.stdout.split())
    assert text_bytes > 250 << 20
    assert peak_kib * 1024 < 200 << 20

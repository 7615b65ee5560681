"""Crafted traces with a correct checksum: refused with an error of Isthmus's, or read."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from crafted_traces import crafted, sealed, small_traces
from fakes import traces
from isthmus import _native
from isthmus.errors import UsageError
from isthmus.sim.running import simulate
from isthmus.sim.trace.file import record_trace, trace_info
from isthmus.sim.trace.importing import import_trace
from isthmus.sim.trace.report import info_text
from program import run_code

pytestmark = pytest.mark.native

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpora" / "trace"
# A process of its own, because reading might end it.
_READ = """
import sys
from pathlib import Path
from isthmus.errors import UsageError
from isthmus.sim.trace.file import trace_info
for name in sys.argv[1:]:
    try:
        trace_info(Path(name))
    except UsageError as refusal:
        print(refusal)
"""


def read_elsewhere(*paths: Path) -> list[str]:
    """The messages for refused traces, from a process that must survive them."""
    names = [str(path) for path in paths]
    code = f"import sys; sys.path = {sys.path!r}; sys.argv[1:] = {names!r}\n{_READ}"
    outcome = run_code(code)
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out.splitlines()


def with_array(path: Path, old: list[int], new: list[int], dtype: type) -> Path:
    """Record a trace and put other numbers in the place of the first array that has the old."""
    record_trace(traces.source(), path)
    data = path.read_bytes()
    before, after = np.array(old, dtype).tobytes(), np.array(new, dtype).tobytes()
    assert before in data
    assert len(before) == len(after)
    path.write_bytes(sealed(data.replace(before, after, 1)))
    return path


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([0, 3, 6], [0x40000000, 3, 6]),
        ([0, 3, 6], [0, 0x7FFFFFF0, 6]),
        pytest.param([0, 3, 6], [0, 3, 0x7FFFFFF0], marks=pytest.mark.long),
        pytest.param([0, 3, 6], [0, 3, -8], marks=pytest.mark.long),
        ([0, 2, 3, 3, 5, 6, 6], [0, 2, 3, 3, 5, 6, 0x7FFFFFFF]),
        pytest.param(
            [0, 2, 3, 3, 5, 6, 6], [0, -2000000000, 3, 3, 5, 6, 6], marks=pytest.mark.long
        ),
        pytest.param([0, 2, 3, 3, 5, 6, 6], [-1, 2, 3, 3, 5, 6, 6], marks=pytest.mark.long),
    ],
)
def test_offsets_that_point_anywhere_are_refused(
    tmp_path: Path, old: list[int], new: list[int]
) -> None:
    said = read_elsewhere(with_array(tmp_path / "a.arrow", old, new, np.int32))
    assert len(said) == 1
    assert "a.arrow: can't read block 0: " in said[0]


def test_crafted_traces_end_no_process(tmp_path: Path) -> None:
    originals = small_traces(tmp_path)
    paths = []
    for number in range(300):
        path = crafted(number, originals, tmp_path).rename(tmp_path / f"{number}.arrow")
        paths.append(path)
    assert len(read_elsewhere(*paths)) > 100


def test_what_fuzzing_found_stays_mended() -> None:
    files = sorted(CORPUS.iterdir())
    said = read_elsewhere(*files)
    assert 0 < len(said) < len(files)


def test_a_host_step_over_the_whole_address_space_is_simulated(tmp_path: Path) -> None:
    whole = _native.TraceHostStep("read", 0, 1 << 57)
    plain = traces.program()
    launches = [
        _native.TraceLaunch(
            each.name,
            num_ctas=each.num_ctas,
            warps_per_cta=each.warps_per_cta,
            threads_per_cta=each.threads_per_cta,
            max_ctas_per_sm=each.max_ctas_per_sm,
            local_bytes_per_thread=each.local_bytes_per_thread,
            before=[whole],
        )
        for each in plain.launches
    ]
    program = _native.TraceProgram(
        "wide",
        description="",
        synthetic=True,
        allocations=plain.allocations,
        launches=launches,
        after=[whole],
        thread_instructions=0,
    )
    blocks = [traces.block(0, 0, 2), traces.block(1, 0, 1)]
    source = _native.TraceSource("fake", program, len(blocks), blocks.__getitem__)
    path = tmp_path / "wide.arrow"
    record_trace(source, path)
    assert simulate(path).total_ps > 0


def test_a_trace_whose_name_is_no_text_is_read_and_named(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"a\xff.arrow")
    record_trace(traces.source(), path)
    text = info_text(trace_info(path))
    assert r"/a\udcff.arrow, " in text
    assert simulate(path).total_ps > 0
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UsageError, match=r"a.\.arrow"):
        trace_info(path)


def test_a_kernel_whose_name_is_no_text_is_imported_and_named(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    kernels_list = traces.write_kernels(folder, traces.kernel_text(traces.LOAD_LINE))
    report = import_trace(kernels_list, tmp_path / "a.arrow")
    assert report.program.name == r"\udcff"
    traces.write_kernels(folder, "nonsense\n")
    with pytest.raises(UsageError, match=r"kernel-1\.traceg, line 1: 'nonsense' is no line"):
        import_trace(kernels_list, tmp_path / "a.arrow")


def test_what_a_trace_says_of_itself_does_not_reach_the_terminal_raw(tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    told = traces.program(description="\x1b[2J\N{SNOWMAN}")
    blocks = [traces.block(0, 0, 2), traces.block(1, 0, 1)]
    record_trace(_native.TraceSource("fake", told, 2, blocks.__getitem__), path)
    assert "small (synthetic): \\x1b[2J\N{SNOWMAN}\n" in info_text(trace_info(path))

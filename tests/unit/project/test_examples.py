"""The examples in Python run, say on which device, and hide no module of anybody's."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from program import EMULATED, run_process

EXAMPLES = Path(__file__).parents[3] / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.py"))


def test_there_are_examples() -> None:
    assert {"1_copy_arrays", "4_write_window"} <= {path.stem for path in PROGRAMS}


def test_numbers_give_the_order_in_which_the_list_has_them() -> None:
    programs = sorted(path.name for path in EXAMPLES.glob("[0-9]_*"))
    assert [int(name[0]) for name in programs] == list(range(1, len(programs) + 1))
    listed = re.findall(r"\[([0-9]_[\w.]+)\]", (EXAMPLES / "README.md").read_text("utf-8"))
    assert listed == programs


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_an_example_is_named_like_no_module(path: Path) -> None:
    """Python puts an example's folder first: other libraries would import the example instead."""
    assert path.stem not in sys.stdlib_module_names
    assert importlib.util.find_spec(path.stem) is None


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_an_example_hides_no_missing_library_and_knows_nothing_private(path: Path) -> None:
    text = path.read_text("utf-8")
    assert "ImportError" not in text
    assert "_native" not in text


@pytest.mark.native
def test_the_window_example_reads_what_it_wrote() -> None:
    done = run_process([sys.executable, str(EXAMPLES / "4_write_window.py")], EMULATED)
    assert done.out.splitlines() == [
        "b'hello, GPU'",
        "1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0",
        "4096 bytes, by way of dmabuf",
    ]


@pytest.mark.native
def test_the_paged_example_fetches_what_it_uses() -> None:
    done = run_process([sys.executable, str(EXAMPLES / "9_page_array.py")], EMULATED)
    assert done.out.splitlines() == [
        "first items of the rows: 500.0 99999.0 7.0",
        "fetched: 3 of 6250 units of 1 KiB",
        "row 500 on the host: 500.5",
        "sum of the first 10 rows: 728.0",
    ]


@pytest.mark.native
def test_the_graph_example_reaches_the_nodes_with_a_quarter_of_the_edges_held() -> None:
    done = run_process([sys.executable, str(EXAMPLES / "paged" / "graph_search.py")], EMULATED)
    reached, frames = done.out.splitlines()
    assert reached == "reached: 20000 of 20000 nodes, at most 3 steps away"
    assert re.fullmatch(r"frames: 2500 for 10000 units, evicted: [1-9]\d+", frames)


@pytest.mark.native
def test_the_copy_example_brings_back_what_it_sent() -> None:
    done = run_process([sys.executable, str(EXAMPLES / "1_copy_arrays.py")], EMULATED)
    assert (done.out.splitlines(), done.err) == (
        [
            "the same",
            "sum of the first 100 squares: 328350.0",
            "pageable to device",
            "4 copies",
        ],
        "",
    )


@pytest.mark.native
def test_the_example_of_many_copies_copies_all() -> None:
    done = run_process([sys.executable, str(EXAMPLES / "3_copy_state_dict.py")], EMULATED)
    assert (done.out, done.err) == ("sum of the bias: 512.0\n", "")


@pytest.mark.native
def test_the_example_of_an_event_goes_on_and_arrives() -> None:
    done = run_process([sys.executable, str(EXAMPLES / "2_wait_for_copy.py")], EMULATED)
    assert (done.out, done.err) == ("arrived\nsum: 1000.0\n", "")


@pytest.mark.native
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_an_example_without_a_gpu_names_the_emulated_device(path: Path) -> None:
    without = {"ISTHMUS_DRIVER": "/nowhere/libcuda.so.1"}
    done = run_process([sys.executable, str(path)], without)
    assert done.code == 1
    assert "ISTHMUS_DRIVER=emulated" in done.err.splitlines()[-1]

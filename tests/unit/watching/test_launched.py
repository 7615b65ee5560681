"""ISTHMUS_WATCH in the environment, and `isthmus.watch()` in a program."""

import mmap
import os
import signal
import sys
from importlib.metadata import files
from pathlib import Path
from typing import Any

import pytest

import isthmus
import isthmus.watch
from fakes.counters import MIB, MS, CounterFile, upload
from fakes.watched_programs import needs_a_compiler, with_libraries
from isthmus.errors import Unavailable
from program import NO_GPU, Outcome, run_code, run_process

pytestmark = [pytest.mark.native, needs_a_compiler]
PTH = Path(__file__).parents[3] / "python" / "isthmus_watch.pth"
# What a rank runs: it leaves counters as the library would, under its own number.
RANK = """
import mmap, os, shutil, sys
print(sys.argv, os.environ["LD_PRELOAD"])
folder = os.environ["ISTHMUS_WATCH_FOLDER"]
own = shutil.copy(sys.argv[1], f"{folder}/{os.getpid()}-1.counters")
# Of another node.
shutil.copy(sys.argv[1], f"{folder}/{os.getpid()}-2.counters")
kept = mmap.mmap(os.open(own, os.O_RDWR), 0)
sys.exit(6)
"""


def slow(**header: Any) -> CounterFile:  # noqa: ANN401 - any member
    members = {"calls": 10, "hidden": 10, "hidden_ns": 80 * MS, "site": "train.py:30 step"}
    return upload(CounterFile(**header), 64 * MIB, 80 * MS, **members)


@pytest.fixture
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand for the libraries in processes, too: each imports this when it starts."""
    folder = tmp_path / "libraries"
    folder.mkdir()
    with_libraries(folder, monkeypatch)
    (folder / "sitecustomize.py").write_text(
        "from pathlib import Path\n"
        "from isthmus.watching import environment\n"
        "real = environment.package_folders()\n"
        f"environment.package_folders = lambda: [Path({str(folder)!r}), *real]\n"
        "import os, site\n"
        # In a wheel, the file in site-packages has run already, without the libraries.
        f"exec(Path({str(PTH)!r}).read_text())\n"
    )
    return folder


def started(libraries: Path, *arguments: str, watch: str, cwd: Path) -> Outcome:
    variables = NO_GPU | {"PYTHONPATH": str(libraries), "ISTHMUS_WATCH": watch}
    return run_process([sys.executable, *arguments], variables, cwd=cwd)


def test_the_file_that_python_reads_at_its_start_is_installed_with_the_package() -> None:
    assert "isthmus_watch.pth" in {str(one) for one in files("isthmus") or ()}


@pytest.mark.parametrize("watch", ["1", "counts"])
def test_a_python_with_the_variable_starts_again_under_watch(
    libraries: Path, tmp_path: Path, watch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "3")
    script = tmp_path / "rank.py"
    script.write_text(RANK)
    made = slow(rank="3").write(tmp_path / "made")
    done = started(libraries, str(script), str(made), "--x y", watch=watch, cwd=tmp_path)
    folder = f"isthmus-watch-{os.getpid()}" if watch == "1" else watch
    assert done.code == 6
    assert done.out.startswith(f"['{script}', '{made}', '--x y'] ")
    assert "libisthmus_watch.so" in done.out
    assert done.err.count("\n") == 1
    assert done.err.startswith("isthmus watch: rank 3, pid 100: Copies took 80.0 ms")
    assert done.err.endswith(f"(isthmus watch --read {tmp_path / folder})\n")
    assert len(list((tmp_path / folder).iterdir())) == 2


def test_a_python_without_calls_of_cuda_says_nothing_and_leaves_nothing(
    libraries: Path, tmp_path: Path
) -> None:
    done = started(libraries, "-c", "print('ran')", watch="1", cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, "ran\n", "")
    assert not list(tmp_path.glob("isthmus-watch-*"))


def test_a_python_without_calls_of_cuda_does_not_wait_for_what_reports(
    libraries: Path, tmp_path: Path
) -> None:
    done = started(libraries, "-X", "importtime", "-c", "pass", watch="1", cwd=tmp_path)
    assert "isthmus.cli.watch.launched" in done.err
    assert "isthmus.watching.reporting" not in done.err


def test_a_launcher_that_copied_nothing_says_nothing(libraries: Path, tmp_path: Path) -> None:
    made = CounterFile().write(tmp_path / "made")
    (tmp_path / "rank.py").write_text(RANK)
    done = started(libraries, "rank.py", str(made), watch="1", cwd=tmp_path)
    assert (done.code, done.err) == (6, "")


def test_two_runs_in_one_shell_have_two_folders_and_the_ranks_of_one_have_one(
    libraries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = slow().write(tmp_path / "made")
    (tmp_path / "rank.py").write_text(RANK)
    for _ in range(2):
        started(libraries, "rank.py", str(made), watch="1", cwd=tmp_path)
    assert len(list(tmp_path.glob("isthmus-watch-*"))) == 2
    for rank in "01":
        monkeypatch.setenv("RANK", rank)
        started(libraries, "rank.py", str(made), watch="1", cwd=tmp_path)
    folder = tmp_path / f"isthmus-watch-{os.getpid()}"
    assert len({one.name.split("-")[0] for one in folder.iterdir()}) == 2
    assert len(list(tmp_path.glob("isthmus-watch-*"))) == 3


def test_an_unhandled_ctrl_c_ends_a_watched_python_by_its_signal(
    libraries: Path, tmp_path: Path
) -> None:
    made = slow().write(tmp_path / "made")
    (tmp_path / "rank.py").write_text(RANK.replace("sys.exit(6)", "raise KeyboardInterrupt"))
    done = started(libraries, "rank.py", str(made), watch="1", cwd=tmp_path)
    assert "Copies took 80.0 ms" in done.err
    assert done.code == -signal.SIGINT


@pytest.mark.parametrize("watch", ["", "0"])
def test_a_python_starts_as_ever_where_nothing_shall_be_watched(
    libraries: Path, tmp_path: Path, watch: str
) -> None:
    code = "import os; print('LD_PRELOAD' in os.environ)"
    done = started(libraries, "-c", code, watch=watch, cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, "False\n", "")


@pytest.mark.parametrize("how", ["exec(open(pth).read())", "interpreters.run_string(one, read)"])
def test_a_program_that_runs_already_does_not_begin_anew(
    libraries: Path, tmp_path: Path, how: str
) -> None:
    """It may read .pth files itself, and each of its subinterpreters does."""
    script = tmp_path / "program.py"
    script.write_text(
        "import os, sys\n"
        "try: import _interpreters as interpreters\n"
        "except ImportError: import _xxsubinterpreters as interpreters\n"
        f"pth, read = {str(PTH)!r}, 'import os'\n"
        "print('once', 'LD_PRELOAD' in os.environ, flush=True)\n"
        "os.environ['ISTHMUS_WATCH'] = '1'\n"
        f"one = interpreters.create(); {how}; print('end')\n"
    )
    done = started(libraries, str(script), watch="", cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, "once False\nend\n", "")


def test_a_python_that_cant_be_watched_runs_and_says_why(libraries: Path, tmp_path: Path) -> None:
    code = "import os; print('LD_PRELOAD' in os.environ)"
    done = started(libraries, "-c", code, watch="/proc/nowhere/x", cwd=tmp_path)
    assert (done.code, done.out) == (0, "False\n")
    assert "isn't watched: can't write /proc/nowhere/x" in done.err
    assert done.err.count("\n") == 1


def test_a_broken_installation_breaks_no_python(tmp_path: Path) -> None:
    (tmp_path / "isthmus").mkdir()
    (tmp_path / "isthmus" / "__init__.py").write_text("raise RuntimeError('broken')")
    code = f"exec(open({str(PTH)!r}).read()); print('ran')"
    variables = {"PYTHONPATH": str(tmp_path), "ISTHMUS_WATCH": "1"}
    assert run_code(code, variables).out == "ran\n"


def test_a_python_without_the_variable_imports_nothing_of_it() -> None:
    code = f"import sys; exec(open({str(PTH)!r}).read()); print('isthmus.watching' in sys.modules)"
    done = run_code(code)
    assert (done.out, done.err) == ("False\n", "")
    assert len(PTH.read_text().splitlines()) == 1


def test_the_module_and_the_function_are_one_in_both_orders() -> None:
    call = "\ntry: isthmus.watch()\nexcept isthmus.Unavailable as e: print(e.capability)"
    for first in (
        "import isthmus",
        "import isthmus.watch",
        "import isthmus; isthmus.watch; import isthmus.watch",
        "from isthmus import watch; import isthmus; assert isthmus.watch is watch",
    ):
        assert run_code(first + call).out == "isthmus.watch\n"


def test_a_process_that_isnt_watched_says_how_to_start_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ISTHMUS_WATCH_FOLDER", raising=False)
    with pytest.raises(Unavailable, match=r"python -m isthmus\.watch script\.py"):
        isthmus.watch()


def test_a_block_counts_what_is_copied_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISTHMUS_WATCH_FOLDER", str(tmp_path))
    monkeypatch.setenv("LD_PRELOAD", "/somewhere/libisthmus_watch.so")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    name = f"{os.getpid()}-1000000000.counters"
    with isthmus.watch() as block:
        assert block.seconds == 0
        own = slow().write(tmp_path, name)
        with own.open("r+b") as file:
            _mapped = mmap.mmap(file.fileno(), 0)
        with isthmus.watch() as inner:
            assert block.seconds == pytest.approx(0.08)
            upload(slow(), MIB, 5 * MS, site="b.py:1 f").write(tmp_path, name)
        assert inner.seconds == pytest.approx(0.005)
    upload(slow(), MIB, 500 * MS, site="b.py:1 f").write(tmp_path, name)
    assert block.seconds == pytest.approx(0.085)
    assert "b.py:1 f" in str(block)
    assert [one.site for one in inner.report.sites] == ["b.py:1 f"]

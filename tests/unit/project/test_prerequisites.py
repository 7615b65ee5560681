"""`make` says in one line what is missing, before it installs or builds anything."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[3] / "cmake" / "prerequisites.sh"


def stub(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def said(folder: Path, python: str = "python3") -> tuple[int, str]:
    """Run the check where the commands in a folder are all that there are."""
    for tool in ("basename", "sh"):
        place = next(p for p in ("/usr/bin", "/bin") if os.access(f"{p}/{tool}", os.X_OK))
        if not (folder / tool).exists():
            (folder / tool).symlink_to(f"{place}/{tool}")
    ended = subprocess.run(
        [CHECK, "make bench", python],
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not ended.stdout
    return ended.returncode, ended.stderr


@pytest.mark.parametrize(
    ("python", "lack"),
    [
        (
            "exit 1",
            "Python 3.11 or later as python3: apt-get install python3 python3-venv python3-dev",
        ),
        (
            "case $2 in *ensurepip*) exit 1; esac",
            "python3-venv (ensurepip): apt-get install python3-venv",
        ),
        (
            "case $2 in *Python.h*) exit 1; esac",
            "python3-dev (Python.h): apt-get install python3-dev",
        ),
    ],
)
def test_what_python_lacks_is_one_line(tmp_path: Path, python: str, lack: str) -> None:
    stub(tmp_path, "g++", "exit 0")
    stub(tmp_path, "python3", python)
    assert said(tmp_path) == (1, f"make bench needs {lack}\n")


def test_two_things_that_python_lacks_are_one_line_too(tmp_path: Path) -> None:
    stub(tmp_path, "g++", "exit 0")
    stub(tmp_path, "python3", "case $2 in *Python.h* | *ensurepip*) exit 1; esac")
    lacks = "python3-venv (ensurepip), python3-dev (Python.h)"
    line = f"make bench needs {lacks}: apt-get install python3-venv python3-dev\n"
    assert said(tmp_path) == (1, line)


def test_a_missing_compiler_is_named_with_the_rest(tmp_path: Path) -> None:
    stub(tmp_path, "python3.12", "case $2 in *Python.h*) exit 1; esac")
    lack = "g++, python3.12-dev (Python.h): apt-get install g++ python3.12-dev"
    assert said(tmp_path, "python3.12") == (1, f"make bench needs {lack}\n")


def test_a_missing_python_is_no_error_of_the_shell(tmp_path: Path) -> None:
    stub(tmp_path, "c++", "exit 0")
    status, line = said(tmp_path)
    assert (status, line.count("\n")) == (1, 1)
    assert "Python 3.11 or later" in line


def test_nothing_is_said_where_nothing_is_missing(tmp_path: Path) -> None:
    stub(tmp_path, "clang++", "exit 0")
    stub(tmp_path, "python3", "exit 0")
    assert said(tmp_path) == (0, "")


def test_a_python_without_its_header_is_found(tmp_path: Path) -> None:
    """The questions are put to a real Python, whose folder of headers is another."""
    stub(tmp_path, "g++", "exit 0")
    empty = tmp_path / "empty"
    empty.mkdir()
    hide = f"import sysconfig; sysconfig.get_path = lambda name: {str(empty)!r}\n"
    stub(tmp_path, "python3", f'exec {sys.executable} -c "{hide}$2"')
    assert said(tmp_path) == (
        1,
        "make bench needs python3-dev (Python.h): apt-get install python3-dev\n",
    )

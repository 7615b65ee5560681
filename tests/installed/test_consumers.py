"""Programs outside the tree are built with the installed library, run, and see their bytes."""

import os
import shutil
from pathlib import Path

import pytest

import isthmus
from installed.conftest import ROOT, Installed, run_tool
from program import EMULATED, run_process

pytestmark = pytest.mark.native

_CONSUMER = Path(__file__).parent / "consumer"
_QUIET = EMULATED | {"ISTHMUS_PROFILE": "off"}
# What the last line of each example ends with, if all is well.
_EXAMPLES = {"copy": "the same", "window": "1 2 3 4, by way of dmabuf"}


def outside(sources: Path, folder: Path) -> Path:
    """Copy a project to where nothing of the tree can be found by chance."""
    return Path(shutil.copytree(sources, folder / sources.name))


@pytest.mark.long
def test_a_program_in_cpp_uses_every_public_header(installed: Installed, tmp_path: Path) -> None:
    installed.build(outside(_CONSUMER, tmp_path), tmp_path / "build")
    done = run_process([str(tmp_path / "build" / "consumer")], _QUIET)
    said = f"every byte has arrived with isthmus {isthmus.__version__}\n"
    assert (done.code, done.out) == (0, said)


@pytest.mark.long
def test_the_examples_in_cpp_are_built_by_find_package(
    installed: Installed, tmp_path: Path
) -> None:
    examples = outside(ROOT / "examples", tmp_path)
    installed.build(examples, tmp_path / "build", "-DEMULATED=ON")
    for name, expected in _EXAMPLES.items():
        done = run_process([str(tmp_path / "build" / name)], _QUIET)
        assert done.out.splitlines()[-1].endswith(expected), done.out


@pytest.mark.parametrize("name", sorted(_EXAMPLES))
def test_an_example_in_c_is_built_by_pkg_config(
    name: str, installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PKG_CONFIG_PATH", str(installed.libraries / "pkgconfig"))
    asked = run_tool(["pkgconf", "--cflags", "--libs", "isthmus"])
    assert asked.code == 0, asked.err
    version = run_tool(["pkgconf", "--modversion", "isthmus"])
    assert version.out.strip() == isthmus.__version__
    build_in_c(name, tmp_path, asked.out.split(), installed.cuda_headers)
    assert_runs(name, tmp_path, installed.libraries)


@pytest.mark.parametrize("name", sorted(_EXAMPLES))
def test_an_example_in_c_is_built_with_the_python_package(
    name: str, installed: Installed, tmp_path: Path
) -> None:
    from isthmus import _native

    package = Path(str(_native.__file__)).parent
    flags = ["-I", str(package / "include"), "-L", str(package), "-listhmus"]
    build_in_c(name, tmp_path, flags, installed.cuda_headers)
    assert_runs(name, tmp_path, package)


def example_in_c(name: str) -> Path:
    """Find an example: numbers before their names give the order in which they are read."""
    [path] = (ROOT / "examples").glob(f"[0-9]_{name}.c")
    return path


def build_in_c(name: str, folder: Path, flags: list[str], cuda_headers: str) -> None:
    source = str(shutil.copy(example_in_c(name), folder))
    warnings = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-isystem", cuda_headers]
    command = [os.environ.get("CC", "cc"), *warnings, source, *flags, "-listhmus_emulator"]
    built = run_process([*command, "-o", str(folder / name)])
    assert built.code == 0, built.err


def assert_runs(name: str, folder: Path, libraries: Path) -> None:
    done = run_process([str(folder / name)], _QUIET | {"LD_LIBRARY_PATH": str(libraries)})
    assert done.out.splitlines()[-1].endswith(_EXAMPLES[name]), done.out + done.err


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("{version}", True), ("{major}.{minor}", True), ("{major}.{next}", False), ("99", False)],
)
def test_cmake_refuses_another_version(
    wanted: str, found: bool, installed: Installed, tmp_path: Path
) -> None:
    version = isthmus.__version__
    major, minor, _ = version.split(".")
    words = {"version": version, "major": major, "minor": minor, "next": str(int(minor) + 1)}
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.24)\n"
        "project(picky LANGUAGES C)\n"
        f"find_package(isthmus {wanted.format(**words)} REQUIRED)\n",
        "utf-8",
    )
    done = installed.configure(tmp_path, tmp_path / "build")
    assert (done.code == 0) is found, done.err
    if not found:
        assert f"version: {version}" in done.err


def test_a_program_in_c_alone_needs_no_compiler_for_cpp(
    installed: Installed, tmp_path: Path
) -> None:
    shutil.copy(example_in_c("copy"), tmp_path / "copy.c")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.24)\n"
        "project(in_c LANGUAGES C)\n"
        "find_package(isthmus REQUIRED)\n"
        "add_executable(in_c copy.c)\n"
        "target_include_directories(in_c PRIVATE ${CUDA_INCLUDE})\n"
        "target_link_libraries(in_c PRIVATE isthmus::isthmus isthmus::emulator)\n",
        "utf-8",
    )
    installed.build(tmp_path, tmp_path / "build")
    done = run_process([str(tmp_path / "build" / "in_c")], _QUIET)
    assert done.out.splitlines()[-1].endswith(_EXAMPLES["copy"]), done.out

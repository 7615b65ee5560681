"""The library as it is installed, in a folder to which it was moved."""

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from program import Outcome, run_process

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "release"
# Where pip has put cmake and ninja for this Python.
_TOOLS = Path(sys.executable).parent


def run_tool(command: list[str]) -> Outcome:
    """Run a program of the build's, and CMake's own generator with it."""
    return run_process(
        command, {"PATH": f"{_TOOLS}:{os.environ['PATH']}", "CMAKE_GENERATOR": "Ninja"}
    )


@dataclass(frozen=True)
class Installed:
    """An installed library, and what programs are built with beside it."""

    prefix: Path
    compiler: str
    cuda_headers: str
    was_at: Path

    @property
    def libraries(self) -> Path:
        """The folder of the shared libraries."""
        return next(self.prefix.rglob("libisthmus.so")).parent

    @property
    def headers(self) -> Path:
        """The folder to give to a compiler."""
        return self.prefix / "include"

    def configure(self, sources: Path, build: Path, *options: str) -> Outcome:
        """Let CMake configure a project that finds the library there."""
        settings = {
            "CMAKE_PREFIX_PATH": self.prefix,
            "CMAKE_CXX_COMPILER": self.compiler,
            "CUDA_INCLUDE": self.cuda_headers,
        }
        given = [f"-D{name}={value}" for name, value in settings.items()]
        return run_tool(["cmake", "-S", str(sources), "-B", str(build), *given, *options])

    def build(self, sources: Path, build: Path, *options: str) -> None:
        """Configure and build a project."""
        configured = self.configure(sources, build, *options)
        assert configured.code == 0, configured.err
        built = run_tool(["cmake", "--build", str(build)])
        assert built.code == 0, built.out


def cached(name: str) -> str:
    """Tell what the build was configured with."""
    cache = (BUILD / "CMakeCache.txt").read_text("utf-8")
    found = re.search(rf"^{name}:\w+=(.*)$", cache, re.MULTILINE)
    assert found is not None, f"{BUILD} has no {name}: run `make` once more"
    return found[1]


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Install what was built, and move it elsewhere: nothing in it may know where it was."""
    if not (BUILD / "CMakeCache.txt").exists():
        pytest.skip("there is no build in build/release: `make test` makes it")
    first = tmp_path_factory.mktemp("first") / "prefix"
    done = run_tool(["cmake", "--install", str(BUILD), "--prefix", str(first)])
    assert done.code == 0, done.err
    moved = tmp_path_factory.mktemp("moved") / "prefix"
    shutil.move(first, moved)
    return Installed(moved, cached("CMAKE_CXX_COMPILER"), cached("ISTHMUS_CUDA_INCLUDE"), first)

"""
The wheels of `make wheel` are installed into empty environments, where they import, copy and run.

It needs wheels in dist/, and PyPI for what they depend on.
"""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from program import EMULATED, Outcome, run_process

ROOT = Path(__file__).parents[2]
WHEELS = sorted((ROOT / "dist").glob("isthmus-*.whl"))
_PROGRAM = """
import isthmus
array = isthmus.device_empty(1 << 20, "float32")
import numpy as np
sent, back = np.arange(1 << 20, dtype="f4"), np.zeros(1 << 20, "f4")
isthmus.copy(array, sent)
isthmus.copy_async(back, array).result(60)
assert np.array_equal(back, sent)
with isthmus.window(array) as window:
    window.write(b"1234")
    assert window.read(4) == b"1234"
from isthmus.move.windows.opening import default_windows
print(isthmus.__version__, default_windows()._driver.device(0).name)
"""

pytestmark = pytest.mark.skipif(not WHEELS, reason="there are no wheels: `make wheel` makes them")


def interpreters_for(wheel: Path) -> list[str]:
    """List the interpreters of this machine that a wheel is for."""
    tag, abi = wheel.stem.split("-")[2:4]
    first = int(tag.removeprefix("cp3"))
    minors = range(first, 15) if abi == "abi3" else [first]
    found = [shutil.which(f"python3.{minor}") for minor in minors]
    pyenv = Path.home() / ".pyenv" / "versions"
    found += [str(path) for m in minors for path in pyenv.glob(f"3.{m}.*/bin/python")]
    return [python for python in found if python and works(python)]


def works(python: str) -> bool:
    """Tell whether it is an interpreter, and not a stand-in for one that isn't chosen."""
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module", params=WHEELS, ids=lambda wheel: wheel.name)
def wheel(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Install a wheel into an empty environment of every Python that it is for."""
    made = []
    for number, python in enumerate(interpreters_for(wheel)):
        folder = tmp_path_factory.mktemp(f"venv{number}")
        ran(python, "-m", "venv", str(folder))
        inside = folder / "bin" / "python"
        pip = [str(inside), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        ran(*pip, str(wheel), "numpy")
        made.append(inside)
    return made


def ran(*command: str) -> Outcome:
    done = run_process(command, max_seconds=300)
    assert done.code == 0, done.err
    return done


def test_it_imports_and_copies_on_the_emulated_device(installed: list[Path]) -> None:
    assert installed, "no Python here fits this wheel"
    for python in installed:
        done = run_process([str(python), "-c", _PROGRAM], EMULATED)
        assert (done.code, done.err) == (0, ""), python
        assert "Emulated GPU" in done.out


def test_its_command_runs(installed: list[Path]) -> None:
    for python in installed:
        program = str(python.with_name("isthmus"))
        assert ran(program, "--version").out.startswith("isthmus ")
        assert "host_to_device_memcpy_ce" in ran(program, "bench", "--list").out


def test_it_runs_on_the_linux_that_its_tag_names(wheel: Path) -> None:
    """By auditwheel's own judgement, as pip decides by the tag where it may be installed."""
    done = ran(sys.executable, "-m", "auditwheel", "show", str(wheel))
    tags = wheel.stem.split("-")[4].split(".")
    assert all(tag.startswith("manylinux_2_") for tag in tags), tags
    assert any(tag in done.out.replace("\n", "") for tag in tags)


def test_it_holds_the_library_its_headers_its_types_and_all_licences(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for part in ("libisthmus.so.0", "libgdrapi.so.2", "libisthmus_emulator.so", "py.typed"):
        assert f"isthmus/{part}" in names
    assert "isthmus/include/isthmus/isthmus.h" in names
    for part in ("page.html.j2", "pieces.html.j2", "page.css", "page.js", "page.md.j2"):
        assert f"isthmus/show/document/page/{part}" in names
    licences = [name for name in names if "/licenses/" in name]
    assert any("nanobind" in name for name in licences)
    assert any("nlohmann-json" in name for name in licences)

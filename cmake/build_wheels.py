"""
Build wheels for this machine's kind of processor. It runs in an environment with auditwheel.

    build_wheels.py OUT_FOLDER [PYTHON ...]

PYTHON are interpreters; without any, those of this machine are taken: CPython 3.11, for which there
is no stable ABI that nanobind can use, and the oldest from 3.12 on, whose wheel serves all later
ones. Each wheel gets the tag of the oldest Linux on which it can run: `auditwheel` finds that.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "wheels"
# The first version whose stable ABI nanobind can use, and the versions that wheels are for.
FIRST_STABLE = (3, 12)
MINORS = range(11, 15)


def run(*command: str | Path, **variables: str) -> str:
    """Run a command, and end with its output if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(  # noqa: S603 - the build's own commands
        words, cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def version_of(python: str) -> tuple[int, int] | None:
    """Give the version of an interpreter with headers; None if it isn't usable."""
    question = (
        "import json, sys, sysconfig, pathlib; "
        "header = pathlib.Path(sysconfig.get_path('include'), 'Python.h'); "
        "print(json.dumps([*sys.version_info[:2], header.exists()]))"
    )
    done = subprocess.run(  # noqa: S603 - an interpreter that was named or found
        [python, "-c", question], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return None
    major, minor, has_headers = json.loads(done.stdout)
    return (major, minor) if has_headers else None


def candidates() -> Iterator[str]:
    """Name the interpreters that may be here: on the path, and pyenv's."""
    for minor in MINORS:
        found = shutil.which(f"python3.{minor}")
        if found:
            yield found
    pyenv = shutil.which("pyenv")
    if pyenv:
        versions = Path(run(pyenv, "root").strip()) / "versions"
        for minor in MINORS:
            yield from map(str, sorted(versions.glob(f"3.{minor}.*/bin/python")))


def chosen(names: list[str]) -> list[str]:
    """Choose one interpreter for each wheel."""
    usable: dict[tuple[int, int], str] = {}
    for python in names or candidates():
        version = version_of(python)
        if version is not None:
            usable.setdefault(version, python)
        elif names:
            sys.exit(f"{python} is no Python with headers")
    stable = [version for version in sorted(usable) if version >= FIRST_STABLE]
    wanted = [version for version in sorted(usable) if version < FIRST_STABLE] + stable[:1]
    if not stable:
        print("no wheel for CPython 3.12 and later: there is no such Python with headers here")
    return [usable[version] for version in wanted]


def environment_of(python: str) -> Path:
    """Make an environment with what a build needs, unless this one has it."""
    major, minor = version_of(python) or (0, 0)
    if (major, minor) == sys.version_info[:2]:
        return Path(sys.executable)
    folder = BUILD / f"venv-{major}.{minor}"
    if not (folder / "bin" / "python").exists():
        run(python, "-m", "venv", folder)
    inside = folder / "bin" / "python"
    needs = run(sys.executable, ROOT / "cmake" / "build_requirements.py").split()
    run(inside, "-m", "pip", "install", "-q", "--disable-pip-version-check", *needs)
    return inside


def built(python: Path, out: Path) -> Path:
    """Build one wheel, and give it the tag of the oldest Linux that it can run on."""
    raw = BUILD / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    launcher = shutil.which("ccache")
    find = ROOT / "cmake" / "wheel_file.py"
    cuda_header = run(sys.executable, find, "*/include/cudaTypedefs.h", "nvidia-*").strip()
    settings = {
        "wheel.py-api": "cp312",
        # The same for all wheels, so that the compiler's cache knows what is the same.
        "cmake.define.ISTHMUS_CUDA_INCLUDE": str(Path(cuda_header).parent),
        # As deep as the other builds: ccache compares relative paths.
        "build-dir": f"{BUILD.parent}/{{wheel_tag}}",
        "cmake.define.ISTHMUS_OLD_LIBSTDCXX": "ON",
        # ccache remembers no file that was compiled with a precompiled header.
        **(
            {
                "cmake.define.CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
                "cmake.define.ISTHMUS_PRECOMPILE": "OFF",
            }
            if launcher
            else {}
        ),
    }
    given = [f"--config-settings={name}={value}" for name, value in settings.items()]
    path = f"{python.parent}:{os.environ['PATH']}"
    pip = [python, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    run(*pip, "-w", raw, *given, ".", PATH=path)
    (wheel,) = raw.glob("*.whl")
    # It changes no library, as all that ours need is a Linux's own: it judges, and names the wheel.
    run(sys.executable, "-m", "auditwheel", "repair", "-w", out, wheel)
    architecture = platform.machine()
    (repaired,) = out.glob(f"{'-'.join(wheel.stem.split('-')[:4])}-*{architecture}.whl")
    return repaired


def main(arguments: list[str]) -> int:
    """Build all wheels."""
    out = Path(arguments[0]).absolute()
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("isthmus-*.whl"):
        old.unlink()
    for python in chosen(arguments[1:]):
        start = time.monotonic()
        print(f"a wheel by {python}: compiles C++, for some minutes ...", flush=True)
        wheel = built(environment_of(python), out)
        size = wheel.stat().st_size / 1e6
        print(f"{wheel.name}: {size:.1f} MB, {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

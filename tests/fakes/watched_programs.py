"""Small programs to be watched, compiled where they are needed, and a library to preload."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from isthmus.watching import environment

needs_a_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc isn't installed")


def compiled(path: Path, code: str, options: Sequence[str] = ()) -> Path:
    """Compile C."""
    command = ["gcc", "-x", "c", "-", "-o", str(path), *options]
    subprocess.run(command, input=code, text=True, check=True, timeout=60)
    return path


def with_libraries(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand for the libraries where they aren't built: these are preloaded and count nothing."""
    real = environment.package_folders()
    for name in (environment.WATCH_LIBRARY, environment.EXEC_LIBRARY):
        if not any((one / name).exists() for one in real):
            compiled(folder / name, "int isthmus_stands_for_it;", ["-shared", "-fPIC"])
    monkeypatch.setattr(environment, "package_folders", lambda: [folder, *real])

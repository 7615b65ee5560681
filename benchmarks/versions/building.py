"""Builds a version of the library, whatever its age: the package, and what takes its turns."""

import io
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
# Before code that imports a version: PYTHONPATH alone isn't enough where isthmus is installed for
# editing, whose finder comes first.
PATH_FIRST = """
import sys
from importlib.machinery import PathFinder
sys.meta_path.insert(0, PathFinder)
"""
TARGETS = "_native;isthmus_emulator;isthmus;gdrapi;turns_version;turns"


@dataclass(frozen=True)
class Version:
    """
    A version that was built.

    Attributes:
        folder: Of all that was built.
        source: The revision that was asked for, or the name of the folder.
    """

    folder: Path
    source: str

    @property
    def package(self) -> Path:
        """Where Python finds this version's `isthmus`."""
        return self.folder / "package"

    @property
    def library(self) -> Path:
        """What `turns` loads."""
        return self.folder / "build" / "turns" / "turns_version.so"

    @property
    def turns(self) -> Path:
        """The program that gives turns; it is the same in all versions."""
        return self.folder / "build" / "turns" / "turns"

    @property
    def emulator(self) -> Path:
        """The emulated driver."""
        return self.package / "isthmus" / "libisthmus_emulator.so"

    def environment(self, **more: str) -> dict[str, str]:
        """Give an environment whose Python imports this version. It chooses by its defaults."""
        path = os.pathsep.join([str(self.package), os.environ.get("PYTHONPATH", "")])
        return {**os.environ, "PYTHONPATH": path, "ISTHMUS_PROFILE": "off", **more}


def build(source: str, folder: Path) -> Version:
    """
    Build a version as `pip install` does. What is there already isn't compiled again.

    Args:
        source: A folder with sources, or a revision of this repository.
        folder: For all that is built.
    """
    folder.mkdir(parents=True, exist_ok=True)
    version = Version(folder, Path(source).name if Path(source).is_dir() else source)
    shutil.rmtree(version.package, ignore_errors=True)
    added = FOLDER / "version.cmake"
    with (folder / "build.log").open("w") as log:
        done = subprocess.run(  # noqa: S603 - this Python's pip
            [
                *(sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation"),
                *("--disable-pip-version-check", "--no-compile", "--target", version.package),
                f"--config-settings=build-dir={folder / 'build'}",
                f"--config-settings=build.targets={TARGETS}",
                f"--config-settings=cmake.define.CMAKE_PROJECT_isthmus_INCLUDE={added}",
                _sources(source, folder),
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"{source} could not be built: see {folder / 'build.log'}")
    return version


def _sources(source: str, folder: Path) -> Path:
    if Path(source).is_dir():
        return Path(source).resolve()
    archive = subprocess.run(  # noqa: S603
        ["git", "-C", FOLDER.parents[1], "archive", source],  # noqa: S607
        capture_output=True,
        check=False,
    )
    if archive.returncode:
        raise SystemExit(f"{source} is neither a folder nor a revision: {archive.stderr.decode()}")
    sources = folder / "source"
    shutil.rmtree(sources, ignore_errors=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(sources, filter="data")
    return sources

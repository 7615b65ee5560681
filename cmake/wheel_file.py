"""
Print the path of a file of this Python's installed packages, the last by name if there are several.

    wheel_file.py PATTERN PACKAGES    # "*/include/cudaTypedefs.h" "nvidia-*"

PACKAGES is a package's name as in pip, or a pattern of names. Prints nothing if there is no such
file.
"""

import csv
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from importlib.metadata import Distribution, distributions
from pathlib import Path, PurePosixPath


def recorded(package: Distribution) -> Iterator[PurePosixPath]:
    """Give the paths in pip's record. `files` would leave out what isn't where the record says."""
    for path, *_ in csv.reader((package.read_text("RECORD") or "").splitlines()):
        yield PurePosixPath(path)


def places(package: Distribution, file: PurePosixPath) -> Iterator[Path]:
    """Give where a file of the package may lie."""
    yield Path(str(package.locate_file(file)))
    # `pip install --target` moves files that belong outside site-packages into the target, and
    # leaves the ".." in their recorded paths.
    yield Path(str(package.locate_file(Path(*(part for part in file.parts if part != "..")))))


pattern, names = sys.argv[1:]
found = (
    place.resolve()
    for package in distributions()
    if fnmatch((package.name or "").lower().replace("_", "-"), names)
    for file in recorded(package)
    if file.match(pattern)
    for place in places(package, file)
    if place.exists()
)
print(max(found, default=""))

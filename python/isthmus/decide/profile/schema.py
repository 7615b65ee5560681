"""
Writes the JSON schema of a profile: `python -m isthmus.decide.profile.schema [--check] [FILE]`.

By default the file is docs/schema/profile-v2.json below the current folder.
"""

import sys
from pathlib import Path

from isthmus.decide.profile.model import Profile
from isthmus.measure.run.schema import schema_of, write_or_check

_COMMITTED = Path("docs/schema/profile-v2.json")


def schema_text() -> str:
    """Give the schema as JSON text, the same on every machine."""
    return schema_of(Profile, "Isthmus profile, version 2")


def main(arguments: list[str]) -> int:
    """Write the schema to a file, or check the file; the exit code says whether they agree."""
    return write_or_check(arguments, _COMMITTED, schema_text())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

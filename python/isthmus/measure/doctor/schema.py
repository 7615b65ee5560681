"""
Writes the JSON schema of a diagnosis: `python -m isthmus.measure.doctor.schema [--check] [FILE]`.

By default the file is docs/schema/doctor-v1.json below the current folder.
"""

import sys
from pathlib import Path

from isthmus.measure.doctor.check import Diagnosis
from isthmus.measure.run.schema import schema_of, write_or_check

_COMMITTED = Path("docs/schema/doctor-v1.json")


def main(arguments: list[str]) -> int:
    """Write the schema to a file, or check the file; the exit code says whether they agree."""
    return write_or_check(arguments, _COMMITTED, schema_of(Diagnosis, "Isthmus doctor, version 1"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""
Writes the JSON schema of a machine's file: `python -m isthmus.sim.schema [--check] [FILE]`.

By default the file is docs/schema/machine-v1.json below the current folder.
"""

import sys
from pathlib import Path

from isthmus.measure.run.schema import schema_of, write_or_check
from isthmus.sim.machine import ModelledMachine

_COMMITTED = Path("docs/schema/machine-v1.json")


def schema_text() -> str:
    """Give the schema as JSON text, the same on every machine."""
    return schema_of(ModelledMachine, "Isthmus machine to simulate, version 1")


def main(arguments: list[str]) -> int:
    """Write the schema to a file, or check the file; the exit code says whether they agree."""
    return write_or_check(arguments, _COMMITTED, schema_text())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

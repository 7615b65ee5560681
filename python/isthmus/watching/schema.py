"""
Writes the JSON schema of a report on watched processes: `python -m isthmus.watching.schema`.

With `--check` it compares. By default the file is docs/schema/watch-v1.json below the current
folder.
"""

import sys
from pathlib import Path

from isthmus.measure.run.schema import schema_of, write_or_check
from isthmus.watching.model import WatchReport

_COMMITTED = Path("docs/schema/watch-v1.json")


def schema_text() -> str:
    """Give the schema as JSON text, the same on every machine."""
    return schema_of(WatchReport, "Isthmus watch report, version 1")


def main(arguments: list[str]) -> int:
    """Write the schema to a file, or check the file; the exit code says whether they agree."""
    return write_or_check(arguments, _COMMITTED, schema_text())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

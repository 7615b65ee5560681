"""
Writes the JSON schema of a run file: `python -m isthmus.run.schema [--check] [FILE]`.

Without a file it is docs/schema/run-v1.json below the current folder. The schema is generated from
the model and committed; `--check` says whether they still agree.
"""

import json
import sys
from pathlib import Path

from isthmus.run.model import Run

_COMMITTED = Path("docs/schema/run-v1.json")
_ADDRESS = "https://json-schema.org/draft/2020-12/schema"


def schema_text() -> str:
    """Give the schema as JSON text, the same on every machine."""
    schema = {"$schema": _ADDRESS, **Run.model_json_schema(mode="validation")}
    schema["title"] = "Isthmus run, version 1"
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Write the schema to a file, or check the file; the exit code says whether it agrees."""
    check = "--check" in arguments
    files = [Path(argument) for argument in arguments if argument != "--check"]
    path = files[0] if files else _COMMITTED
    if check:
        return int(not path.exists() or path.read_text(encoding="utf-8") != schema_text())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(schema_text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

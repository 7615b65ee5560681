"""
Writes the JSON schema of a run file: `python -m isthmus.measure.run.schema [--check] [FILE]`.

By default the file is docs/schema/run-v1.json below the current folder. The schema is generated
from the model and committed; `--check` says whether they still agree.
"""

import json
import sys
from pathlib import Path

from pydantic import BaseModel

from isthmus.files.folder import make_folder
from isthmus.files.whole import write_whole
from isthmus.measure.run.model import Run

_COMMITTED = Path("docs/schema/run-v1.json")
_ADDRESS = "https://json-schema.org/draft/2020-12/schema"


def schema_text() -> str:
    """Give the schema as JSON text, the same on every machine."""
    return schema_of(Run, "Isthmus run, version 1")


def schema_of(model: type[BaseModel], title: str) -> str:
    """Give the schema of any file of ours as JSON text."""
    schema = {"$schema": _ADDRESS, **model.model_json_schema(mode="validation")}
    schema["title"] = title
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def write_or_check(arguments: list[str], committed: Path, text: str) -> int:
    """
    Run the command line of a schema's module, `--check` and a file, and give the exit code: 1 if it
    was to be checked and differs.
    """
    check = "--check" in arguments
    files = [Path(argument) for argument in arguments if argument != "--check"]
    path = files[0] if files else committed
    if check:
        return int(not path.exists() or path.read_text(encoding="utf-8") != text)
    make_folder(path.parent)
    write_whole(path, text)
    return 0


def main(arguments: list[str]) -> int:
    """Write the schema to a file, or check the file; the exit code says whether they agree."""
    return write_or_check(arguments, _COMMITTED, schema_text())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Print what pyproject.toml needs to build, or some groups: `dependencies`, an extra, a group."""

import sys
import tomllib
from pathlib import Path

text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
project = tomllib.loads(text)
groups = {
    "dependencies": project["project"]["dependencies"],
    **project["project"]["optional-dependencies"],
    **project["dependency-groups"],
}
requirements = (
    [requirement for name in sys.argv[1:] for requirement in groups[name]]
    if len(sys.argv) > 1
    else project["build-system"]["requires"]
)
for requirement in requirements:
    print(requirement.replace(" ", ""))

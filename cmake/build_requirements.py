"""Print what pyproject.toml needs to build, or the packages of one of its groups."""

import sys
import tomllib
from pathlib import Path

text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
project = tomllib.loads(text)
groups = project["project"]["optional-dependencies"] | project["dependency-groups"]
requirements = groups[sys.argv[1]] if len(sys.argv) > 1 else project["build-system"]["requires"]
for requirement in requirements:
    print(requirement.replace(" ", ""))

"""Every dependency has a floor that `make floors` can install."""

import importlib.util
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(name="script")
def imported() -> ModuleType:
    path = ROOT / "cmake" / "floors.py"
    specification = importlib.util.spec_from_file_location("floors", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_every_dependency_has_a_floor(script: ModuleType) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = [floor.split("==")[0] for floor in script.floors(project["dependencies"])]
    assert {"typer", "rich", "pydantic"} <= set(names)


def test_a_floor_is_the_oldest_version_that_is_allowed(script: ModuleType) -> None:
    assert script.floors(["rich>=13,<15", "a-b[c]>=1.2"]) == ["rich==13", "a-b==1.2"]
    with pytest.raises(AssertionError):
        script.floors(["rich"])


def test_its_tests_exist(script: ModuleType) -> None:
    assert [test for test in script.TESTS if not (ROOT / test).exists()] == []

"""The emulated device, and stand-ins for engines that aren't installed."""

import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

import isthmus
from fakes.engine_tensors import EngineTorch


@pytest.fixture(autouse=True)
def _emulated() -> Iterator[None]:
    with isthmus.emulated():
        yield


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> EngineTorch:
    made = EngineTorch()
    monkeypatch.setitem(sys.modules, "torch", made.module)
    return made


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModuleType]:
    """Make a module of an engine, and the packages around it."""

    made: dict[str, ModuleType] = {}

    def make(name: str, **names: object) -> ModuleType:
        root, parts = name.split(".", maxsplit=1)[0], name.split(".")
        if root not in made:  # the engine itself may be installed, and imported
            for known in [each for each in sys.modules if each.split(".")[0] == root]:
                monkeypatch.delitem(sys.modules, known)
        for end in range(1, len(parts) + 1):
            package = ".".join(parts[:end])
            if package not in made:
                made[package] = ModuleType(package)
                monkeypatch.setitem(sys.modules, package, made[package])
        vars(made[name]).update(names)
        return made[name]

    return make

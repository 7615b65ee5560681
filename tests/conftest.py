"""What all tests share: a quiet environment of their own, and golden files."""

import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from program import Golden

_GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--regenerate-golden",
        action="store_true",
        help="Write the golden files instead of comparing with them.",
    )


@pytest.fixture(autouse=True)
def own_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Keep the user's folders and settings out of the tests, and the tests out of them."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("ISTHMUS_DRIVER", raising=False)
    monkeypatch.delenv("ISTHMUS_PROFILE", raising=False)
    return home


# What isthmus opens once for a process, when it is first needed: module, name, what makes its
# first value.
_DEFAULTS: tuple[tuple[str, str, Callable[[], object]], ...] = (
    ("isthmus.transfer.copying", "_default", lambda: None),
    ("isthmus.windows.opening", "_default", lambda: None),
    ("isthmus.pinned", "_pools", dict),
)


@pytest.fixture(autouse=True)
def own_defaults() -> Iterator[None]:
    """
    Forget after each test what it opened for all of the process.

    Each test has a driver of its own. What is kept would be of another's, and its context would
    hold the emulated driver to one profile.
    """
    yield
    opened = [
        (module, name, first)
        for module, name, first in _DEFAULTS
        if module in sys.modules and getattr(sys.modules[module], name) != first()
    ]
    for module, name, first in opened:
        setattr(sys.modules[module], name, first())
    if opened:
        # A future or an error's traceback may refer to it in a circle.
        gc.collect()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare a text with the golden file of a name, or write that file."""

    def compare(name: str, text: str) -> None:
        path = _GOLDEN / name
        if request.config.getoption("--regenerate-golden"):
            path.write_text(text, encoding="utf-8")
        expected = path.read_text(encoding="utf-8") if path.exists() else ""
        assert text == expected, f"{path.name} differs: if that is meant, run `make golden`"

    return compare

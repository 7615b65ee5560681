"""What all tests share: a quiet environment of their own, and golden files."""

import gc
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fakes.live_contexts import live_contexts, settled_contexts
from program import Golden

_GOLDEN = Path(__file__).parent / "golden"
_HOMES = itertools.count()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--regenerate-golden",
        action="store_true",
        help="Write the golden files instead of comparing with them.",
    )


_frozen_modules = 0
_MODULES_WORTH_FREEZING = 30


def _freeze() -> None:
    """
    Let collections of garbage look only at what tests make from here on.

    Many tests collect it, and all that was imported takes a tenth of a second each time.
    """
    global _frozen_modules  # noqa: PLW0603 - of this process, as what it counts
    if len(sys.modules) >= _frozen_modules + _MODULES_WORTH_FREEZING:
        gc.collect()
        gc.freeze()
        _frozen_modules = len(sys.modules)


def pytest_collection_finish() -> None:
    _freeze()


@pytest.fixture(autouse=True)
def own_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Keep the user's folders and settings out of the tests, and the tests out of them."""
    # Not by mktemp(), which reads the names of all tests' folders to number the next.
    home = tmp_path_factory.getbasetemp() / f"home{next(_HOMES)}"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("ISTHMUS_DRIVER", raising=False)
    monkeypatch.delenv("ISTHMUS_PROFILE", raising=False)
    return home


@pytest.fixture(autouse=True, scope="module")
def no_context_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """
    Report a file whose tests leave a context of the emulated driver alive.

    The emulated driver couldn't take another profile in any later test of this process, and these
    would fail in its place. A test that keeps one on purpose needs a process of its own.
    """
    _freeze()  # before tests of this file have made anything
    num_failed, before = request.session.testsfailed, live_contexts()
    yield
    # A failed test's traceback keeps what the test had.
    if request.session.testsfailed == num_failed:
        assert settled_contexts(before) <= before, "a test of this file leaves a context alive"


# What isthmus opens once for a process, when it is first needed: module, name, what makes its
# first value.
_DEFAULTS: tuple[tuple[str, str, Callable[[], object]], ...] = (
    (
        "isthmus.move.transfer.copying",
        "_default",
        lambda: sys.modules["isthmus.move.transfer.copying"].NOT_OPEN,
    ),
    ("isthmus.move.windows.opening", "_default", lambda: None),
    ("isthmus.pinned", "_pools", dict),
)


@pytest.fixture(autouse=True)
def own_defaults(request: pytest.FixtureRequest) -> Iterator[None]:
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
    # Pytest would keep what the fixtures gave to a file's last test until the file has ended.
    request.node.funcargs.clear()
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

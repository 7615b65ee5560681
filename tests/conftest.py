"""What all tests share: a quiet environment of their own, and golden files."""

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

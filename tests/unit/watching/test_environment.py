from pathlib import Path

import pytest

from fakes.watched_programs import needs_a_compiler, with_libraries
from isthmus.errors import Unavailable
from isthmus.watching import environment
from isthmus.watching.environment import exec_environment, library, watched_environment


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    with_libraries(tmp_path, monkeypatch)
    return str(library(environment.WATCH_LIBRARY))


@needs_a_compiler
def test_what_was_preloaded_stays_behind_the_library(ours: str) -> None:
    found = watched_environment({"LD_PRELOAD": "a.so b.so", "X": "1"}, Path("/f"))
    assert found["LD_PRELOAD"] == f"{ours}:a.so:b.so"
    assert (found["X"], found["ISTHMUS_WATCH_FOLDER"]) == ("1", "/f")
    assert "LD_AUDIT" not in found
    again = watched_environment(found, Path("/f"), events=9, python_sites=0, audit_library=True)
    assert again["LD_PRELOAD"] == f"{ours}:a.so:b.so"
    assert again["LD_AUDIT"] == ours
    assert (again["ISTHMUS_WATCH_EVENTS"], again["ISTHMUS_WATCH_SITES"]) == ("9", "0")


@needs_a_compiler
def test_address_sanitizer_accepts_the_library_before_it(ours: str) -> None:
    assert ours
    found = watched_environment({"ASAN_OPTIONS": "detect_leaks=0"}, Path("/f"))
    assert found["ASAN_OPTIONS"] == "detect_leaks=0:verify_asan_link_order=0"
    found = watched_environment({}, Path("/f"))
    assert found["ASAN_OPTIONS"] == "verify_asan_link_order=0"


@needs_a_compiler
def test_exec_tells_the_library_what_to_replace_unless_the_user_said_off(ours: str) -> None:
    found = exec_environment({}, "audit", up="7", only="a.py:1", pin="")
    assert found.pop("ISTHMUS_EXEC_LIBRARY").endswith("libisthmus_exec.so")
    assert found == {
        "ISTHMUS_EXEC": "audit",
        "ISTHMUS_EXEC_UP": "7",
        "ISTHMUS_EXEC_ONLY": "a.py:1",
    }
    assert exec_environment({"ISTHMUS_EXEC": "off"}, "on")["ISTHMUS_EXEC"] == "off"
    assert ours


def test_a_library_that_isnt_there_or_cant_be_named_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "package_folders", lambda: [tmp_path])
    with pytest.raises(Unavailable, match="isn't installed"):
        library("libisthmus_watch.so")
    spaced = tmp_path / "a b"
    spaced.mkdir()
    (spaced / "libisthmus_watch.so").touch()
    monkeypatch.setattr(environment, "package_folders", lambda: [spaced])
    with pytest.raises(Unavailable, match="a space or a colon"):
        library("libisthmus_watch.so")

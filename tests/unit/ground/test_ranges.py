"""NVTX ranges: on when they are asked for, and nothing otherwise."""

import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from isthmus.errors import IsthmusWarning
from isthmus.ground import ranges


@pytest.fixture(autouse=True)
def anew() -> Any:  # noqa: ANN401 - a generator
    """Ask for the setting again."""
    ranges._nvtx.cache_clear()
    yield
    ranges._nvtx.cache_clear()


class Nvtx(ModuleType):
    """The package nvtx, as far as it is used."""

    def __init__(self) -> None:
        super().__init__("nvtx")
        self.opened: list[tuple[str, str]] = []

    def annotate(self, message: str, *, domain: str) -> Any:  # noqa: ANN401 - both in one
        import contextlib

        @contextlib.contextmanager
        def opened() -> Any:  # noqa: ANN401
            self.opened.append((message, domain))
            yield

        return opened()


def twice(number: int) -> int:
    return 2 * number


@pytest.mark.parametrize("setting", ["", "0"])
def test_without_the_setting_nothing_changes(monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    monkeypatch.setenv("ISTHMUS_NVTX", setting)
    assert ranges.annotated(twice, "twice") is twice
    assert isinstance(ranges.part("x"), nullcontext)


def test_with_the_setting_blocks_and_calls_are_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    nvtx = Nvtx()
    monkeypatch.setitem(sys.modules, "nvtx", nvtx)
    monkeypatch.setenv("ISTHMUS_NVTX", "1")
    with ranges.part("write"):
        pass
    ranged = ranges.annotated(twice, "isthmus.twice")
    assert [ranged(2), ranged(3)] == [4, 6]
    assert nvtx.opened == [
        ("write", "isthmus"),
        ("isthmus.twice", "isthmus"),
        ("isthmus.twice", "isthmus"),
    ]


def test_a_missing_package_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nvtx", None)
    monkeypatch.setenv("ISTHMUS_NVTX", "1")
    with pytest.warns(IsthmusWarning, match="pip install nvtx"):
        assert ranges.annotated(twice, "twice") is twice
    assert ranges.annotated(twice, "twice") is twice


@pytest.mark.native
def test_a_program_whose_calls_are_ranges_works(tmp_path: Path) -> None:
    (tmp_path / "nvtx.py").write_text(
        "import contextlib\n"
        "@contextlib.contextmanager\n"
        "def annotate(message, *, domain):\n"
        "    print('begin', message); yield; print('end', message)\n"
    )
    script = (
        "import isthmus; isthmus.save_safetensors({'a': b'x'}, 'saved');"
        "isthmus.load_safetensors('saved', framework='dlpack')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"ISTHMUS_NVTX": "1", "ISTHMUS_DRIVER": "emulated", "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[:5] == [
        "begin isthmus.save_safetensors",
        "begin read arrays",
        "end read arrays",
        "begin wait for their work",
        "end wait for their work",
    ]
    assert "begin copy from the file" in done.stdout

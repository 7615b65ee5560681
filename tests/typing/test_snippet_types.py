"""
mypy and pyright find mistakes in a program that uses the package, and none in the documentation.

Needs the tools of `make style`; CI has them.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from documents.snippets import ROOT, snippets
from program import run_process

pytest.importorskip("mypy")
pytest.importorskip("basedpyright")

# Each line that has a mistake ends with this word.
_MARK = "# wrong"
_MISTAKES = f"""\
import isthmus
import numpy as np

array = np.zeros(4)
isthmus.copy(array, b"12345678")
isthmus.copy(array, array, stream=0)
isthmus.copy(isthmus.device_empty(4), array)
isthmus.copy(isthmus.DevicePointer(4096, 32), memoryview(bytearray(32)))
isthmus.coppy(array, array)  {_MARK}
isthmus.copy([1, 2], array)  {_MARK}
isthmus.copy(array, "text")  {_MARK}
isthmus.copy(array)  {_MARK}
isthmus.copy(array, array, strem=0)  {_MARK}
isthmus.copy(array, array, stream="0")  {_MARK}
isthmus.copy_async(array, array, source_order="never")  {_MARK}
isthmus.window("tensor")  {_MARK}
isthmus.window(isthmus.device_empty(4)).write("text")  {_MARK}
isthmus.device_empty("4")  {_MARK}
isthmus.device_empty(4, device="cuda:1")
isthmus.pinned.empty(4, device=None)  {_MARK}
isthmus.pinned.emty(4)  {_MARK}
isthmus.explain(array, array).pth  {_MARK}
isthmus.errors.UsageEror  {_MARK}
with isthmus.emulated(2):  {_MARK}
    pass
isthmus.load_safetensors("model.safetensors", stream="0")  {_MARK}
isthmus.load_pt("model.pt", stream="0")  {_MARK}
isthmus.copy_async(array, array).event.wait("0")  {_MARK}
"""
# What a program of another library needs its types for, which isn't installed here.
_FOREIGN = ("torch", "cupy", "jax", "numba", "pyarrow")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, set[int]]:
    """Write every block of Python, and the mistakes; give the lines that are wrong in each."""
    folder = tmp_path_factory.mktemp("types")
    written: dict[Path, set[int]] = {}
    for number, snippet in enumerate(snippets("python")):
        path = folder / f"snippet_{number}.py"
        path.write_text(f"{snippet.text}\n# {snippet}\n", "utf-8")
        written[path] = set()
    path = folder / "mistakes.py"
    path.write_text(_MISTAKES, "utf-8")
    written[path] = {
        number for number, line in enumerate(_MISTAKES.splitlines(), 1) if line.endswith(_MARK)
    }
    return written


def by_mypy(paths: list[Path]) -> dict[Path, dict[int, str]]:
    """Let mypy check files, as strictly as it can, and give what it says by line."""
    options = ["--strict", "--output=json", "--config-file=", "--hide-error-context"]
    command = [sys.executable, "-m", "mypy", *options, *map(str, paths)]
    done = run_process(command, {"MYPYPATH": str(ROOT / "python")}, max_seconds=300)
    said: dict[Path, dict[int, str]] = {path: {} for path in paths}
    # Its cache may name the folder of an earlier run.
    by_name = {path.name: path for path in paths}
    for line in done.out.splitlines():
        found = json.loads(line)
        path = by_name.get(Path(found["file"]).name)
        if found["severity"] == "error" and path is not None:
            said[path][found["line"]] = found["message"]
    return said


def by_pyright(paths: list[Path]) -> dict[Path, dict[int, str]]:
    """Let pyright's rules check files, by basedpyright: its wheel has all that it needs."""
    settings = paths[0].with_name("pyrightconfig.json")
    known = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT / "python")]}
    # Of pyright, not of basedpyright; and other libraries' types are other people's.
    off = dict.fromkeys(("reportMissingTypeStubs", "reportUnknownMemberType"), "none")
    settings.write_text(json.dumps(known | off), "utf-8")
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath"]
    command += [sys.executable, "--project", str(settings), *map(str, paths)]
    done = run_process(command, max_seconds=300)
    said: dict[Path, dict[int, str]] = {path: {} for path in paths}
    for found in json.loads(done.out)["generalDiagnostics"]:
        if found["severity"] == "error":
            line = found["range"]["start"]["line"] + 1
            said[Path(found["file"])][line] = found["message"]
    return said


@pytest.mark.parametrize("check", [by_mypy, by_pyright])
def test_only_what_is_wrong_is_found(
    check: Callable[[list[Path]], dict[Path, dict[int, str]]], files: dict[Path, set[int]]
) -> None:
    said = check([*files])
    for path, wrong in files.items():
        text = path.read_text("utf-8")
        if any(f"import {name}" in text for name in _FOREIGN):
            continue
        place = text.splitlines()[-1]
        assert set(said[path]) == wrong, f"{place}: {said[path]}"

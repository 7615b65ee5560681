"""Every Python block in the documentation runs as it is pasted, on the emulated device."""

import json
import sys
from pathlib import Path

import pytest

from documents.snippets import Snippet, snippets
from fakes.safetensors_files import write_file
from program import EMULATED, Outcome, run_process

pytestmark = pytest.mark.native

_QUIET = EMULATED | {"ISTHMUS_PROFILE": "off"}
# What a program says whose library isn't installed here, or can't use a GPU.
_NOT_INSTALLED = ("ModuleNotFoundError: No module named '", "Unavailable: loading into ")
# Libraries of arrays that the tests don't require.
_OPTIONAL = ("torch", "cupy", "jax", "numba")


def run(snippet: Snippet, folder: Path) -> Outcome:
    """Run a block as a program of its own, beside the files that the documentation names."""
    make_models(folder)
    (folder / "snippet.py").write_text(snippet.text, "utf-8")
    return run_process([sys.executable, "snippet.py"], _QUIET, cwd=folder, max_seconds=120)


def make_models(folder: Path) -> None:
    weights = {"weight": ("F32", [2, 2], bytes(range(16)))}
    bias = {"bias": ("F32", [2], bytes(8))}
    write_file(folder / "model.safetensors", weights)
    (folder / "model").mkdir()
    places: dict[str, str] = {}
    for file, tensors in (("first", weights), ("second", bias)):
        write_file(folder / f"{file}.safetensors", tensors)
        write_file(folder / "model" / f"{file}.safetensors", tensors)
        places |= dict.fromkeys(tensors, f"{file}.safetensors")
    index = json.dumps({"metadata": {}, "weight_map": places})
    (folder / "model.safetensors.index.json").write_text(index, "utf-8")


def missing_library(outcome: Outcome) -> str:
    """Name the optional library without which a program ended; "" if that isn't why."""
    lines = [
        line for line in outcome.err.splitlines() if any(word in line for word in _NOT_INSTALLED)
    ]
    return next((name for name in _OPTIONAL if any(name in line.lower() for line in lines)), "")


@pytest.mark.parametrize("snippet", snippets("python"), ids=str)
def test_a_block_of_python_runs_as_it_is(snippet: Snippet, tmp_path: Path) -> None:
    done = run(snippet, tmp_path)
    if name := missing_library(done):
        pytest.skip(f"{name} isn't installed, or has no GPU")
    assert done.code == 0, f"{snippet}:\n{done.err}"


def test_a_block_that_fails_is_noticed(tmp_path: Path) -> None:
    done = run(Snippet("page.md", 1, "python", "import isthmus\nisthmus.coppy\n"), tmp_path)
    assert done.code == 1
    assert "has no attribute 'coppy'" in done.err
    assert not missing_library(done)

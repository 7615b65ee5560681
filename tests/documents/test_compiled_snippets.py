"""Every block of C and C++ in the documentation compiles as it is, without a warning."""

import os
from pathlib import Path

import pytest

from documents.snippets import ROOT, Snippet, snippets
from program import Outcome, run_process

_WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
_COMPILERS = {
    "c": [os.environ.get("CC", "cc"), "-std=c11"],
    "cpp": [os.environ.get("CXX", "c++"), "-std=c++20"],
}


def compiled(snippet: Snippet, folder: Path) -> Outcome:
    """Compile a block as a file of its own, which links with nothing."""
    source = folder / f"snippet.{snippet.language}"
    source.write_text(snippet.text, "utf-8")
    include = ["-I", str(ROOT / "cpp" / "include")]
    command = [*_COMPILERS[snippet.language], *_WARNINGS, *include, "-fsyntax-only", str(source)]
    return run_process(command)


@pytest.mark.parametrize("snippet", snippets("c", "cpp"), ids=str)
def test_a_block_of_c_or_cpp_compiles_as_it_is(snippet: Snippet, tmp_path: Path) -> None:
    done = compiled(snippet, tmp_path)
    assert done.code == 0, f"{snippet}:\n{done.err}"


def test_a_block_that_uses_an_unknown_name_is_noticed(tmp_path: Path) -> None:
    assert compiled(Snippet("page.md", 1, "c", "int f(void) { return no; }\n"), tmp_path).code != 0

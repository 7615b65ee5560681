"""Every block of code in the documentation is fenced, names its language, and isn't indented."""

import ast
import textwrap
from pathlib import Path

import pytest

from documents.snippets import ROOT, Snippet, documents, indented_blocks, snippets, snippets_of

_LANGUAGES = {"python", "sh", "c", "cpp", "cuda", "cmake", "json", "toml", "text"}


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", documents(), ids=named)
def test_every_block_is_fenced_and_names_its_language(page: Path) -> None:
    text = page.read_text("utf-8")
    assert indented_blocks(text) == [], "fence these lines with ```LANGUAGE"
    assert {snippet.language for snippet in snippets_of(text)} <= _LANGUAGES
    assert sum(line.startswith("```") for line in text.splitlines()) == 2 * len(snippets_of(text))


@pytest.mark.parametrize("snippet", snippets("python", "sh", "c", "cpp", "cmake"), ids=str)
def test_code_begins_at_the_margin(snippet: Snippet) -> None:
    assert snippet.text == textwrap.dedent(snippet.text)


@pytest.mark.parametrize("snippet", snippets("python"), ids=str)
def test_python_is_a_program_that_imports_what_it_uses(snippet: Snippet) -> None:
    tree = ast.parse(snippet.text)
    assert any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree))


def test_the_documentation_has_code_in_every_language() -> None:
    assert {snippet.language for snippet in snippets(*_LANGUAGES)} >= {"python", "sh", "c", "cpp"}


def test_a_block_without_a_fence_is_found() -> None:
    assert indented_blocks("one\n\n    code\n\n- item\n\n    of the item\n\nend\n\n    code\n") == [
        3,
        11,
    ]
    assert indented_blocks("```text\nx\n\n    inside\n```\n") == []


def test_a_snippet_knows_its_place() -> None:
    (snippet,) = snippets_of("title\n\n```python\nimport this\n```\n", "page.md")
    assert (str(snippet), snippet.text) == ("page.md:4", "import this\n")

"""Every `Source:` can be looked up, and every path that a text mentions exists."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
CODE = (".cpp", ".hpp", ".h", ".c", ".inc", ".cuh", ".cu")
PROSE = (".md",)
SCRIPTS = (".sh", ".cmake", ".toml")
# Only here do paths mean files of this repository.
FOLDERS = "benchmarks|bindings|cmake|cpp|docs|examples|kernels|python|tests"
_PATH = re.compile(rf"(?<![\w./~$-])(?:{FOLDERS})/[\w./*+-]*[\w*]")
# These words stand for any name, as in `benchmarks/NAME/README.md`.
_PLACEHOLDER = re.compile(r"(?<![A-Za-z])(?:NAME|FOLDER|FILE)(?![A-Za-z])")
_MARKER = re.compile(r"\bSources?:(?:\s+|$)|^\s*Source\s{2,}")
_SOURCE = re.compile("Source")
_URL = re.compile(r"https?://|\bdoi 10\.|\bgithub\.com/")
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@cache
def files() -> tuple[Path, ...]:
    """List the files of the repository's folders, and the documents beside them."""
    folders = [path for name in FOLDERS.split("|") for path in (ROOT / name).rglob("*")]
    return tuple(sorted(path for path in [*folders, *ROOT.glob("*.md")] if path.is_file()))


def with_suffix(*suffixes: str) -> list[Path]:
    return [path for path in files() if path.suffix in suffixes]


def python_prose(text: str) -> Iterator[tuple[int, str]]:
    """Give line numbers and lines of comments and docstrings."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#")
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, kinds) and ast.get_docstring(node) is not None:
            constant = node.body[0]
            lines = text.splitlines()[constant.lineno - 1 : constant.end_lineno]
            yield from enumerate((line.strip('"') for line in lines), constant.lineno)


def code_prose(text: str) -> Iterator[tuple[int, str]]:
    """Give line numbers and lines of comments in C++ and C."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if inside:
            inside = "*/" not in line
            yield number, line.strip().lstrip("*")
        elif found := re.search(r"(?<![:\"])//+<?(.*)", line):
            yield number, found[1]
        elif found := re.search(r"/\*(.*)", line):
            inside = "*/" not in line
            yield number, found[1]


def files_with(pattern: re.Pattern[str]) -> list[Path]:
    """List the files with a text, wherever it stands in them: others needn't be taken apart."""
    found = with_suffix(".py", *CODE, *PROSE, *SCRIPTS)
    return [path for path in found if pattern.search(path.read_text("utf-8"))]


@cache
def prose_of(path: Path) -> dict[int, str]:
    """Give the lines that people read in a file, by their number."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        return dict(sorted(python_prose(text)))
    if path.suffix in CODE:
        return dict(code_prose(text))
    if path.suffix in SCRIPTS:
        commented = (
            (number, line.partition("#")[2]) for number, line in enumerate(text.splitlines(), 1)
        )
        return {number: line for number, line in commented if line}
    return dict(enumerate(text.splitlines(), 1))


def sources_of(path: Path) -> Iterator[tuple[int, str]]:
    """Give the place and the text of every `Source:`, up to the end of its paragraph."""
    lines = prose_of(path)
    for number, line in lines.items():
        if not (marker := _MARKER.search(line)):
            continue
        parts = [line[marker.end() :]]
        while (following := lines.get(number + len(parts), "").strip()) and not re.match(
            r"[A-Z]\w*\s{2,}", following
        ):
            parts.append(following)
        yield number, " ".join(parts).strip()


@cache
def documents() -> dict[str, str]:
    """Give the documents in docs/sources.md by their names, of which one row may have several."""
    text = (ROOT / "docs/sources.md").read_text("utf-8")
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", text, re.MULTILINE)
    found = {name: document for names, document in rows for name in names.split(", ")}
    del found["name"]
    return found


def missing_paths(text: str, folder: Path = ROOT) -> list[str]:
    """List the paths in a text that aren't there, neither from the root nor from its folder."""
    found = [(path, _PLACEHOLDER.sub("*", path)) for path in _PATH.findall(text)]
    return [
        path
        for path, pattern in found
        if not any(ROOT.glob(pattern)) and not any(folder.glob(pattern))
    ]


def test_every_source_names_a_path_a_url_or_a_document_that_is_cited_in_full() -> None:
    unknown = [
        f"{path.relative_to(ROOT)}:{number}: {source}"
        for path in files_with(_SOURCE)
        if path.name not in ("test_sources.py", "sources.md", "CONTRIBUTING.md")
        for number, source in sources_of(path)
        if not _URL.search(source)
        and not _PATH.search(source)
        and not any(document in source for document in documents())
    ]
    assert not unknown, "add these to docs/sources.md, or name a path:\n" + "\n".join(unknown)


def test_sources_are_found_in_every_language() -> None:
    found = {path.suffix for path in files_with(_SOURCE) if any(sources_of(path))}
    assert found >= {".py", ".cpp", ".hpp", ".inc"}


def test_every_document_in_the_list_has_an_author_a_title_and_a_year_or_version() -> None:
    cited = re.compile(r".+[:,] .+\d|the paper, cited in ")
    assert not [name for name, document in documents().items() if not cited.match(document)]


def test_every_path_in_a_text_exists() -> None:
    missing = [
        f"{path.relative_to(ROOT)}:{number}: {name}"
        for path in files_with(_PATH)
        if path.name != "test_sources.py"
        for number, line in prose_of(path).items()
        for name in missing_paths(line, path.parent)
    ]
    assert not missing, "no such files:\n" + "\n".join(missing)


def test_every_link_in_a_document_leads_to_a_file() -> None:
    dead = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in with_suffix(*PROSE)
        for target in _LINK.findall(path.read_text("utf-8"))
        if "://" not in target and not (path.parent / target).exists()
    ]
    assert not dead, "links to nothing:\n" + "\n".join(dead)


def test_a_path_that_is_not_there_is_found() -> None:
    assert missing_paths("see docs/no_such_page.md, and docs/bench.md.") == ["docs/no_such_page.md"]
    assert missing_paths("benchmarks/NAME/README.md, cpp/tests/*/README.md") == [
        "cpp/tests/*/README.md"
    ]

"""
What `make docs` adds to the pages of this folder, as hooks of MkDocs.

The first page is README.md. The reference is generated from the package's docstrings. Links to
files outside of this folder become names of files.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from reference_page import reference

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")


def first_page() -> str:
    """Give README.md as a page of this folder."""
    text = (ROOT / "README.md").read_text("utf-8")
    return text.replace("docs/pictures/", "pictures/").replace("](docs/", "](")


def without_links_outside(text: str, source: str) -> str:
    """Name a file that isn't on the site, in place of a link to it."""
    pages = ROOT / "docs"
    # README.md's other links begin at the root.
    folder = ROOT if source == "index.md" else (pages / source).parent

    def named(link: re.Match[str]) -> str:
        target = link[2].partition("#")[0]
        if "://" in target or not target or target == "reference.md":
            return link[0]
        if source == "index.md" and (pages / target).exists():
            return link[0]
        path = (folder / target).resolve()
        if path.is_relative_to(pages) and path.suffix in {".md", ".svg"}:
            return link[0]
        return f"{link[1]} (`{path.relative_to(ROOT)}`)"

    return _LINK.sub(named, text)


def on_files(files: Files, config: Any) -> Files:  # noqa: ANN401 - MkDocs' own
    """Add the first page and the reference."""
    files.append(File.generated(config, "index.md", content=first_page()))
    files.append(File.generated(config, "reference.md", content=reference()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:  # noqa: ANN401 - MkDocs' own
    """Keep the links that lead somewhere, and let users' pages be found before decisions."""
    if page.file.src_uri.startswith("adr/"):
        page.meta["search"] = {"boost": 1e-6}
    return without_links_outside(markdown, page.file.src_uri)

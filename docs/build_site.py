"""
What `make docs` adds to the pages of this folder, as hooks of MkDocs.

The first page is README.md. The reference is generated from the package's docstrings: every public
name of `isthmus.__all__` is in it. Links to files outside of this folder become names of files.
"""

import ast
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "isthmus" / "__init__.py"
# The topics of the reference. A public name that is in none of them comes last.
TOPICS = {
    "Copies": [
        *("copy", "copy_async", "explain", "stats", "trim"),
        *("CopyFuture", "CopyPlan", "CopyStats", "Transfers"),
    ],
    "Memory": [
        *("device_empty", "DeviceArray", "device_name", "emulated", "pinned"),
        *("DevicePointer", "HostPointer"),
    ],
    "Windows": ["window", "Window", "Windows"],
    "Models": ["load_safetensors"],
    "Results of measurements": ["Run", "Result", "Profile", "parse_sizes", "format_size"],
    "Simulation": ["simulate", "SimulationResult"],
    "Types for annotations": ["ArrayLike", "DeviceArrayLike", "StreamLike"],
}
# Where the docstring is, if not where the package imports it from.
ELSEWHERE = {"Window": "isthmus._native.Window", "errors": "isthmus.errors"}
# What has members in a class that the package doesn't offer.
DERIVED = {"PagedArray"}
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")


def public_names() -> list[str]:
    """List what the package offers, without importing it."""
    for node in ast.parse(PACKAGE.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return [name for name in names if name != "__version__"]
    raise ValueError(f"{PACKAGE} has no __all__")


def reference() -> str:
    """Write the page of the reference: a heading for each topic, a directive for each name."""
    placed = {name for names in TOPICS.values() for name in names}
    left = [name for name in public_names() if name not in placed]
    errors = [name for name in left if name[0].isupper() and name not in {"Run", "Result"}]
    rest = [name for name in left if name not in errors and name != "errors"]
    topics = TOPICS | {"Other": rest, "Errors": errors}
    lines = [
        "# Reference",
        "",
        "The Python package, by topic. [terms.md](terms.md) defines the words.",
    ]
    for topic, names in topics.items():
        if names:
            lines += ["", f"# {topic}"]
        for name in names:
            lines += ["", f"::: {ELSEWHERE.get(name, f'isthmus.{name}')}"]
            if name in DERIVED:
                lines += ["    options:", "      inherited_members: true"]
    return "\n".join(lines) + "\n"


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
    """Keep the links that lead somewhere."""
    return without_links_outside(markdown, page.file.src_uri)

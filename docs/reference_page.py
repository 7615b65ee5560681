"""
The page of the reference: directives that become the package's docstrings.

Every public name of `isthmus.__all__` is in it. The page is written without MkDocs and without
importing the package, so that the tests can read it too.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "isthmus" / "__init__.py"
# The topics of the reference. A public name that is in none of them comes last.
TOPICS = {
    "Copies": [
        *("copy", "copy_async", "explain", "stats", "trim"),
        *("CopyFuture", "CopyPlan", "CopyStats", "Transfers"),
    ],
    "Blocks": [
        *("copy_blocks", "plan_blocks", "check_blocks", "copy_many", "plan_many"),
        *("Blocks", "BlockWay", "PreparedCopy"),
    ],
    "Memory": [
        *("device_empty", "DeviceArray", "emulated", "pinned"),
        *("DevicePointer", "HostPointer"),
    ],
    "Windows": ["window", "Window", "Windows"],
    "Models": ["load_safetensors", "safetensors_metadata", "save_safetensors", "load_pt"],
    "Results of measurements": ["Run", "Result", "Profile"],
    "Simulation": ["simulate", "SimulationResult"],
    "Types for annotations": ["ArrayLike", "DeviceArrayLike", "StreamLike"],
}
# Where the docstring is, if not where the package imports it from.
ELSEWHERE = {
    "BlockWay": "isthmus._native.BlockWay",
    "Window": "isthmus._native.Window",
    "errors": "isthmus.errors",
}
# What has members in a class that the package doesn't offer.
DERIVED = {"PagedArray", "Transfers"}


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

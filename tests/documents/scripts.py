"""The scripts that make the documents, as modules."""

import importlib.util
from types import ModuleType

from documents.snippets import ROOT


def script(name: str) -> ModuleType:
    """Load one by its name, without its ending."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

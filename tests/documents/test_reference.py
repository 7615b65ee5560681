"""The page of the reference lists all members of what the package offers."""

import importlib.util
from inspect import isfunction
from pathlib import Path
from types import ModuleType

import pytest

import isthmus

pytestmark = pytest.mark.native

_SITE = Path(__file__).parents[2] / "docs" / "build_site.py"


def _builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_site", _SITE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _has_methods_of_a_base(kind: type) -> bool:
    """Only of the package's bases. Attributes are told by a class's own docstring."""
    bases = [base for base in kind.__mro__[1:] if base.__module__.startswith("isthmus.")]
    return any(
        isfunction(member) and not name.startswith("_")
        for base in bases
        for name, member in vars(base).items()
    )


def test_methods_of_a_base_that_the_package_does_not_offer_are_asked_for() -> None:
    builder = _builder()
    offered = {name: getattr(isthmus, name) for name in builder.public_names()}
    derived = {
        name
        for name, kind in offered.items()
        if isinstance(kind, type)
        and not issubclass(kind, Exception)
        and _has_methods_of_a_base(kind)
    }
    assert derived == builder.DERIVED
    assert "::: isthmus.PagedArray\n    options:\n      inherited_members: true" in (
        builder.reference()
    )

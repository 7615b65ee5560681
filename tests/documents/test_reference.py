"""The page of the reference lists all members of what the package offers."""

from inspect import isfunction

import pytest

import isthmus
from documents.scripts import script

pytestmark = pytest.mark.native


def _has_methods_of_a_base(kind: type) -> bool:
    """Only of the package's bases. Attributes are told by a class's own docstring."""
    bases = [base for base in kind.__mro__[1:] if base.__module__.startswith("isthmus.")]
    return any(
        isfunction(member) and not name.startswith("_")
        for base in bases
        for name, member in vars(base).items()
    )


def test_methods_of_a_base_that_the_package_does_not_offer_are_asked_for() -> None:
    page = script("reference_page")
    offered = {name: getattr(isthmus, name) for name in page.public_names()}
    derived = {
        name
        for name, kind in offered.items()
        if isinstance(kind, type)
        and not issubclass(kind, Exception)
        and _has_methods_of_a_base(kind)
    }
    assert derived == page.DERIVED
    assert "::: isthmus.PagedArray\n    options:\n      inherited_members: true" in (
        page.reference()
    )

"""Paged arrays in kernels of Numba, as far as no GPU and no Numba is needed."""

import sys
from functools import cache
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

import isthmus
from isthmus.move.numba import access, paged_access
from nvrtc import compile_for_gpu

pytestmark = pytest.mark.native


@pytest.mark.parametrize("kind", ["paged", "budgeted"])
@pytest.mark.parametrize("name", ["float32", "uint8", "int64"])
def test_the_functions_compile(kind: str, name: str) -> None:
    status, log = compile_for_gpu(access.code_of(kind, name).encode())
    assert (status, log) == (0, "")


def test_items_of_a_type_that_numba_does_not_have_are_refused() -> None:
    with (
        isthmus.emulated(),
        isthmus.PagedArray(np.zeros(8, np.complex64)) as array,
        pytest.raises(isthmus.UsageError, match="can't use a paged array of complex64") as refused,
    ):
        paged_access(array)
    assert "float32" in refused.value.hint


def test_two_arrays_of_one_kind_share_their_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = SimpleNamespace(
        CUSource=Mock(),
        declare_device=lambda name, signature, link: (name, signature, link),
    )
    # Others must not find the functions of this one.
    monkeypatch.setattr(access, "_declared", cache(access._declared.__wrapped__))
    monkeypatch.setitem(sys.modules, "numba.cuda", numba)
    with (
        isthmus.emulated(),
        isthmus.PagedArray(np.zeros(8, np.uint16)) as one,
        isthmus.PagedArray(np.zeros(9, np.uint16)) as other,
    ):
        assert paged_access(one) is paged_access(other)
    assert numba.CUSource.call_count == 1


def test_without_numba_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba.cuda", None)
    with (
        isthmus.emulated(),
        isthmus.PagedArray(np.zeros(8, np.float32)) as array,
        pytest.raises(isthmus.Unavailable, match="pip install numba-cuda"),
    ):
        paged_access(array)

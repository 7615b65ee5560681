"""Arrays of files, whose kernels run beside the host's side, on a GPU."""

# ruff: noqa: ANN401 - modules of libraries

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus import _native

pytestmark = pytest.mark.gpu

_KERNELS = Path(__file__).with_name("paged_stress.cu")
_UNIT_ITEMS, _NUM_UNITS = 64, 20_000


@pytest.fixture(scope="module")
def store_one(driver: _native.Driver) -> Any:
    del driver
    cupy = pytest.importorskip("cupy")
    code = isthmus.paged_header() + _KERNELS.read_text("utf-8")
    options = ("--std=c++17", "-DISTHMUS_TEST_BUDGETED")
    return cupy.RawModule(code=code, options=options).get_function("store_one")


@pytest.mark.parametrize(
    "options",
    [{"device_bytes": 1 << 20}, {"policy": "read_through"}],
    ids=["budget", "in place"],
)
def test_stores_beside_a_flush_of_other_ranges_reach_the_file_by_the_next_one(
    store_one: Any, tmp_path: Path, options: dict[str, Any]
) -> None:
    path = tmp_path / "items"
    np.zeros(_UNIT_ITEMS * _NUM_UNITS, np.uint32).tofile(path)
    with isthmus.PagedArray(np.memmap(path, np.uint32, "r+"), "256B", **options) as array:
        argument = array.argument()

        def store_to_each_unit() -> None:
            for unit in range(1, _NUM_UNITS):
                index = np.uint64(unit * _UNIT_ITEMS)
                store_one((1,), (32,), (argument, index, np.uint32(unit)))

        storing = threading.Thread(target=store_to_each_unit)
        storing.start()
        num_flushes = 0
        try:
            while storing.is_alive():
                array.flush(ranges=[(0, 1)])
                num_flushes += 1
        finally:
            storing.join()
        array.flush()
        assert num_flushes > 1
        found = np.fromfile(path, np.uint32)[::_UNIT_ITEMS]
        assert np.flatnonzero(found != np.arange(_NUM_UNITS)).tolist() == []

"""Copies of blocks, with indices on the host and on the device, in streams and in order."""

import numpy as np
import pytest
from numpy.typing import NDArray

import isthmus

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("default_driver")]


def device_array(array: NDArray[np.generic], transfers: isthmus.Transfers) -> isthmus.DeviceArray:
    made = isthmus.device_empty(array.shape, array.dtype)
    transfers.copy(made, array)
    return made


@pytest.mark.parametrize("block_bytes", [4, 100, 512, 4096, 16_384, 70_000])
@pytest.mark.parametrize("kind", ["i4", "i8"])
@pytest.mark.parametrize("on_device", [False, True])
def test_blocks_of_many_layers_arrive_both_ways(
    transfers: isthmus.Transfers, block_bytes: int, kind: str, on_device: bool
) -> None:
    random = np.random.default_rng(block_bytes)
    count, number, layers = 300, 150, 3
    hosts = [isthmus.pinned.empty((count, block_bytes), np.uint8) for _ in range(layers)]
    for host in hosts:
        host[:] = random.integers(0, 256, host.shape)
    devices = [device_array(np.zeros((count, block_bytes), np.uint8), transfers) for _ in hosts]
    to, of = (random.permutation(count)[:number].astype(kind) for _ in range(2))
    indices = [device_array(index, transfers) for index in (to, of)] if on_device else [to, of]
    transfers.copy_blocks(devices, hosts, *indices).result(60)
    back = [isthmus.pinned.zeros((count, block_bytes), np.uint8) for _ in range(layers)]
    plan = transfers.plan_blocks(back, devices, indices[1], indices[0])
    plan().result(60)
    transfers.check_blocks()
    for host, found in zip(hosts, back, strict=True):
        np.testing.assert_array_equal(found[of], host[of])
        assert not np.delete(found, of, axis=0).any()


def test_wrong_indices_on_the_device_write_nothing_and_are_told(
    transfers: isthmus.Transfers,
) -> None:
    host = isthmus.pinned.zeros((64, 4096), np.uint8)
    host[:] = 9
    device = device_array(np.zeros((64, 4096), np.uint8), transfers)
    to = np.arange(64)
    to[[5, 40]] = 64, -3
    indices = device_array(to, transfers), device_array(np.arange(64), transfers)
    with pytest.raises(isthmus.UsageError, match=r"target_index\[5\] of this copy"):
        transfers.copy_blocks(device, host, *indices).result(60)
    transfers.check_blocks()
    found = np.empty((64, 4096), np.uint8)
    transfers.copy(found, device)
    assert (found[np.delete(np.arange(64), [5, 40])] == 9).all()
    assert not found[[5, 40]].any()


def test_a_hundred_thousand_pieces_arrive(transfers: isthmus.Transfers) -> None:
    number, size = 100_000, 64
    host = isthmus.pinned.empty(number * size, np.uint8)
    host[:] = np.random.default_rng(1).integers(0, 256, host.shape)
    device = device_array(np.zeros(number * size, np.uint8), transfers)
    at = np.random.default_rng(2).permutation(number) * size
    targets, sources = at + device.pointer, at + host.ctypes.data
    transfers.copy_many(targets, sources, np.full(number, size)).result(60)
    found = np.empty(number * size, np.uint8)
    transfers.copy(found, device)
    np.testing.assert_array_equal(found, host)

"""`isthmus.pinned.register`: memory that exists already, pinned during a block."""

import gc
import mmap
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.blocked_stream import BlockedStream
from isthmus import pinned
from program import EMULATED, run_code

pytestmark = pytest.mark.native

SIZE = 100_000


@pytest.fixture
def shared() -> Iterator[shared_memory.SharedMemory]:
    memory = shared_memory.SharedMemory(create=True, size=SIZE)
    yield memory
    memory.close()
    memory.unlink()


def kind_of(array: object) -> str:
    return isthmus.explain(isthmus.device_empty(SIZE, "u1"), memoryview(array)).source  # type: ignore[arg-type]


def require_pinned_in_block(array: Any) -> None:  # noqa: ANN401 - memory of any kind
    device = isthmus.device_empty(SIZE, "u1")
    with pinned.register(array) as same:
        assert same is array
        assert kind_of(array) == "pinned"
        future = isthmus.copy_async(device, memoryview(array), source_order="stream")
    assert future.done()
    assert kind_of(array) == "pageable"
    back = np.empty(SIZE, "u1")
    isthmus.copy(back, device)
    assert back.tobytes() == bytes(array)


def test_arrays_and_mapped_memory_are_pinned_in_the_block(tmp_path: Path) -> None:
    contents = (np.arange(SIZE) % 251).astype("u1")
    contents.tofile(tmp_path / "file")
    require_pinned_in_block(contents)
    require_pinned_in_block(np.memmap(tmp_path / "file", mode="r"))
    require_pinned_in_block(np.memmap(tmp_path / "file", mode="r+"))
    with mmap.mmap(-1, SIZE) as mapping:
        mapping[:] = contents.tobytes()
        require_pinned_in_block(mapping)


def test_shared_memory_is_pinned_and_can_not_be_closed_in_the_block(
    shared: shared_memory.SharedMemory,
) -> None:
    require_pinned_in_block(shared.buf)
    with pinned.register(shared.buf), pytest.raises(BufferError):
        shared.close()


def test_tensors_of_pytorch_are_pinned_and_keep_their_memory() -> None:
    torch = pytest.importorskip("torch", exc_type=ImportError)
    tensor = torch.arange(SIZE, dtype=torch.uint8).share_memory_()
    view = tensor.numpy()
    with pinned.register(tensor):
        assert kind_of(view) == "pinned"
        tensor.set_(torch.zeros(1, dtype=torch.uint8))  # other memory
        assert kind_of(view) == "pinned"
    assert kind_of(view) == "pageable"


def test_an_array_that_nobody_else_has_lives_until_the_end() -> None:
    array = np.ones(SIZE, "u1")
    alive = weakref.ref(array)
    with ExitStack() as stack:
        stack.enter_context(pinned.register(array))
        del array
        gc.collect()
        assert alive() is not None
        assert kind_of(alive()) == "pinned"
    del stack
    gc.collect()
    assert alive() is None


def test_the_end_waits_for_copies_under_way(blocked: BlockedStream) -> None:
    array, device = np.ones(SIZE, "u1"), isthmus.device_empty(SIZE, "u1")
    ending, futures, done_by_then = threading.Event(), [], []

    def use() -> None:
        with pinned.register(array):
            futures.append(
                isthmus.copy_async(device, array, stream=blocked.handle, source_order="stream")
            )
            ending.set()
        done_by_then.append(futures[0].done())

    thread = threading.Thread(target=use)
    thread.start()
    assert ending.wait(60)
    assert not futures[0].done()
    blocked.go_on()
    thread.join(60)
    assert done_by_then == [True]
    assert kind_of(array) == "pageable"


def test_exactly_the_bytes_of_an_array_are_pinned() -> None:
    array = np.ones(4 * SIZE, "u1")
    one, other = array[1 : SIZE + 1], array[SIZE + 1 : 2 * SIZE + 1]  # in one page, too
    with pinned.register(one):
        assert kind_of(array[SIZE + 1 :][:SIZE]) == "pageable"
        with pinned.register(other[::-1]), pinned.register(array[2 * SIZE + 1 :][::2]):
            assert kind_of(other) == kind_of(one) == "pinned"
        assert (kind_of(one), kind_of(other)) == ("pinned", "pageable")


def test_an_array_without_items_needs_nothing() -> None:
    with pinned.register(np.empty((0, 3))) as same:
        assert same.shape == (0, 3)


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: isthmus.device_empty(3), "is in a GPU's memory: only the host's is pinned"),
    (lambda: pinned.empty(SIZE, "u1"), "100000 bytes of host memory are pinned already"),
    (lambda: b"bytes", "copies take the memory of bytes for pageable"),
    (lambda: bytearray(5), "copies take the memory of bytearray for pageable"),
    (lambda: [np.ones(3)], "a 'list' has no memory"),
    (lambda: np.array([None]), "holds Python objects"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_what_can_not_be_pinned_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(isthmus.UsageError, match=message), pinned.register(make()):
        pytest.fail("it was pinned")


def test_memory_of_which_a_part_is_pinned_is_refused_and_the_part_stays_so() -> None:
    array = np.ones(SIZE, "u1")
    with pinned.register(array[: SIZE // 2]):
        for part in (array, array[: SIZE // 2], array[10:20]):
            with pytest.raises(isthmus.UsageError, match="pinned already"), pinned.register(part):
                pytest.fail("it was pinned")
        assert kind_of(array[: SIZE // 2].repeat(2)) == "pageable"
    require_pinned_in_block(array)


def test_memory_that_is_not_there_is_refused() -> None:
    pointer = isthmus.HostPointer(1 << 40, 100)
    with pytest.raises(isthmus.Unavailable, match="INVALID_VALUE"), pinned.register(pointer):
        pytest.fail("it was pinned")


def test_an_error_in_the_block_ends_it_and_is_raised() -> None:
    array = np.ones(SIZE, "u1")
    with pytest.raises(ZeroDivisionError), pinned.register(array):
        raise ZeroDivisionError
    require_pinned_in_block(array)


_FORKED = """
import os, warnings
import numpy as np
import isthmus

warnings.simplefilter("ignore")  # of a fork beside threads
array = np.ones(100_000, "u1")
device = isthmus.device_empty(100_000, "u1")
with isthmus.pinned.register(array):
    child = os.fork()
    array[:] += 1 + (child == 0)
if child == 0:
    os._exit(int(array[0]))
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(code, array[0], isthmus.explain(device, array).source)
"""


def test_a_forked_child_leaves_the_block_with_its_own_bytes() -> None:
    done = run_code(_FORKED, EMULATED)
    assert (done.code, done.out.split()) == (0, ["3", "2", "pageable"]), done.err

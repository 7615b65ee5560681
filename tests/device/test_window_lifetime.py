"""A window keeps its array, belongs to its process, and can't be used when it is closed."""

import gc
import sys
import threading
import weakref
from pathlib import Path

import pytest

import isthmus
from fakes.device_arrays import CudaArray, DlpackArray
from isthmus import _native
from program import run_code
from threads import run_in_threads

pytestmark = pytest.mark.native

SIZE = 8192
LONG = 1 << 20


def test_leaving_the_with_block_closes_the_window(
    windows: isthmus.Windows, array: CudaArray
) -> None:
    with windows.open(array) as window:
        assert windows.mapped_bytes() > 0
    assert not window.is_open
    assert not window.is_alive
    assert windows.mapped_bytes() == 0


def test_every_use_of_a_closed_window_is_refused(window: isthmus.Window) -> None:
    window.close()
    window.close()
    with pytest.raises(isthmus.UsageError, match="closed"):
        window.write(b"x")
    with pytest.raises(isthmus.UsageError, match="closed"):
        window.post(b"x")
    with pytest.raises(isthmus.UsageError, match="closed"):
        window.read(1)
    with pytest.raises(isthmus.UsageError, match="closed"):
        window.read_into(bytearray(1))
    assert "closed" in repr(window)


def test_a_window_says_what_it_is(
    window: isthmus.Window, memory: _native.DeviceMemory, backend: str
) -> None:
    assert window.nbytes == SIZE
    assert window.device_pointer == memory.pointer
    assert window.backend == backend
    assert window.instructions
    assert window.is_alive
    assert not window.read_only
    assert repr(window) == f"<isthmus.Window of {SIZE} bytes at {memory.pointer:#x}, {backend}>"


def test_an_array_lives_as_long_as_its_window(
    windows: isthmus.Windows, memory: _native.DeviceMemory
) -> None:
    array = CudaArray(memory.pointer, (SIZE,))
    gone = weakref.ref(array)
    window = windows.open(array)
    del array
    gc.collect()
    assert gone() is not None
    window.close()
    assert gone() is None


def test_a_dlpack_capsule_is_given_back_when_the_window_closes(
    windows: isthmus.Windows, memory: _native.DeviceMemory
) -> None:
    array = DlpackArray(memory.pointer, (SIZE,))
    with windows.open(array):
        assert array.num_released == 0
    assert array.num_released == 1


def test_an_array_that_holds_its_own_window_is_collected(
    windows: isthmus.Windows, memory: _native.DeviceMemory
) -> None:
    array = CudaArray(memory.pointer, (SIZE,))
    array.window = windows.open(array)  # type: ignore[attr-defined]
    gone = weakref.ref(array)
    del array
    gc.collect()
    assert gone() is None
    assert windows.mapped_bytes() == 0


def test_freed_memory_is_noticed_by_the_next_call(
    window: isthmus.Window, memory: _native.DeviceMemory
) -> None:
    memory.free()
    assert not window.is_alive
    with pytest.raises(isthmus.UsageError, match="freed"):
        window.write(b"x")
    with pytest.raises(isthmus.UsageError, match="freed"):
        window.read(1)


def test_what_is_allocated_where_memory_was_freed_has_a_window_of_its_own(
    window: isthmus.Window,
    windows: isthmus.Windows,
    memory: _native.DeviceMemory,
    context: _native.Context,
) -> None:
    window.write(b"the first")
    pointer = memory.pointer
    memory.free()
    following = _native.DeviceMemory(context, SIZE)
    following.write(b"the second")
    with windows.open(following.pointer, SIZE) as another:
        assert another.read(10) == b"the second"
        assert following.pointer != pointer or not window.is_alive


def test_opening_and_closing_leaves_no_descriptor_and_no_mapping(
    windows: isthmus.Windows, context: _native.Context
) -> None:
    def cycle() -> None:
        memory = _native.DeviceMemory(context, 65536)
        windows.open(memory.pointer, 65536).close()
        memory.free()

    cycle()
    descriptors = Path("/proc/self/fd")
    before = len(list(descriptors.iterdir()))
    for _ in range(300):
        cycle()
    assert len(list(descriptors.iterdir())) == before
    assert windows.mapped_bytes() == 0


def test_a_window_may_be_used_in_a_thread_that_never_used_cuda(
    windows: isthmus.Windows, array: CudaArray, memory: _native.DeviceMemory
) -> None:
    def use(_number: int) -> None:
        with windows.open(array) as window:
            window.write(b"from a thread")

    run_in_threads(use)
    assert memory.read(13) == b"from a thread"


def test_a_window_that_is_closed_during_a_long_copy_ends_the_next_one(
    windows: isthmus.Windows, context: _native.Context
) -> None:
    memory = _native.DeviceMemory(context, LONG)
    window = windows.open(CudaArray(memory.pointer, (LONG,)))
    begun = threading.Event()
    refusals: list[str] = []

    def copy_until_refused() -> None:
        data = bytes(LONG)
        try:
            while True:
                window.write(data)
                begun.set()
        except isthmus.UsageError as refusal:
            refusals.append(str(refusal))

    thread = threading.Thread(target=copy_until_refused)
    thread.start()
    begun.wait()
    window.close()
    thread.join()
    assert len(refusals) == 1
    assert "closed" in refusals[0]
    assert windows.mapped_bytes() == 0


def test_a_long_copy_lets_other_threads_run(
    windows: isthmus.Windows, context: _native.Context
) -> None:
    memory = _native.DeviceMemory(context, LONG)
    window = windows.open(CudaArray(memory.pointer, (LONG,)))
    waiting = threading.Lock()
    waiting.acquire()
    ran: list[str] = []

    def run_once() -> None:
        with waiting:
            ran.append("the other thread")

    thread = threading.Thread(target=run_once)
    thread.start()
    data = bytes(LONG)
    before = sys.getswitchinterval()
    # From here on only who gives up the GIL lets others run.
    sys.setswitchinterval(1000)
    try:
        waiting.release()
        for _ in range(100_000):
            window.write(data)
            if ran:
                break
    finally:
        sys.setswitchinterval(before)
        thread.join()
    assert ran
    window.close()


_IN_A_CHILD = """
import os, sys, warnings
import isthmus
from isthmus import _native
warnings.simplefilter("ignore")  # of a fork beside threads
memory = _native.DeviceMemory(_native.Context(_native.Driver.open(), 0), 4096)
window = isthmus.window(memory.pointer, 4096)
window.write(b"parent")
if os.fork() == 0:
    for use in (lambda: window.write(b"child!"), lambda: window.read(6), lambda: window.post(b"x")):
        try:
            use()
            os._exit(1)
        except isthmus.UsageError as refusal:
            if "forked" not in str(refusal):
                os._exit(2)
    window.close()
    os._exit(0)
code = os.waitstatus_to_exitcode(os.wait()[1])
print(code, window.read(6))
"""


@pytest.mark.usefixtures("backend")
def test_a_window_in_a_forked_child_is_refused_and_the_parents_stays(
    environment: dict[str, str],
) -> None:
    done = run_code(_IN_A_CHILD, environment)
    assert (done.out, done.err) == ("0 b'parent'\n", "")


@pytest.mark.usefixtures("backend")
def test_a_program_may_end_with_open_windows(environment: dict[str, str]) -> None:
    code = """
import isthmus
from isthmus import _native
memory = _native.DeviceMemory(_native.Context(_native.Driver.open(), 0), 4096)
window = isthmus.window(memory.pointer, 4096)
window.write(b"x")
"""
    done = run_code(code, environment)
    assert (done.code, done.err) == (0, "")

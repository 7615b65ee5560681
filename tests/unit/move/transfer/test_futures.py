"""Running copies: waiting for them, dropping them, threads, signals, forks, and exit."""

import asyncio
import gc
import signal
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import isthmus
from fakes.blocked_stream import BlockedStream
from fakes.cuda_calls import Cuda
from fakes.device_arrays import CudaArray
from isthmus import _native
from program import EMULATED, Outcome, run_process
from threads import run_in_threads

pytestmark = pytest.mark.native

OUT_OF_RANGE = 719  # CUDA_ERROR_LAUNCH_FAILED


class Kept:
    """Device memory that a test can destroy."""

    def __init__(self, memory: _native.DeviceMemory, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (memory.pointer, False),
            "version": 3,
        }


@pytest.fixture
def fail_call(driver: _native.Driver, cuda: Cuda) -> Iterator[object]:
    del driver

    def fail(symbol: str, nth: int = 1) -> None:
        cuda.library.isthmus_emulator_fail_call(symbol.encode(), nth, OUT_OF_RANGE)

    yield fail
    cuda.library.isthmus_emulator_reset()


def begin(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, stream: int
) -> tuple["np.ndarray[tuple[int], np.dtype[np.uint8]]", isthmus.CopyFuture]:
    """Begin a copy to the host that waits for a stream."""
    target = np.zeros(1000, np.uint8)
    return target, transfers.copy_async(target, Kept(memory, 1000), stream=stream)


def test_a_future_tells_when_its_copy_is_complete(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    target, future = begin(transfers, memory, blocked.handle)
    assert not future.done()
    with pytest.raises(TimeoutError, match=r"not complete after 0\.01 s"):
        future.result(0.01)
    with pytest.raises(TimeoutError):
        future.exception(timeout=0)
    blocked.go_on()
    future.result()
    assert future.done()
    assert future.exception() is None
    assert target.tobytes() == b"\xee" * 1000


def test_a_future_can_be_awaited_while_other_tasks_go_on(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    async def copy() -> bytes:
        target, future = begin(transfers, memory, blocked.handle)
        await future
        await future
        return target.tobytes()

    async def both() -> bytes:
        copying = asyncio.ensure_future(copy())
        await asyncio.sleep(0)  # the copy begins, and waits
        assert not copying.done()
        blocked.go_on()
        return await copying

    assert asyncio.run(both()) == b"\xee" * 1000


def test_a_future_keeps_its_arrays_until_the_copy_is_complete(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    source = Kept(memory, 1000)
    gone = weakref.ref(source)
    target = np.zeros(1000, np.uint8)
    future = transfers.copy_async(target, source, stream=blocked.handle)
    del source
    gc.collect()
    assert gone() is not None
    blocked.go_on()
    future.result()
    assert gone() is None


def test_the_thread_that_lets_go_of_arrays_has_one_python_state(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, cuda: Cuda
) -> None:
    """CPython before 3.11.10 forks children that hang, if a thread is just making its state."""
    of_this_state = threading.local()
    found: list[tuple[int, bool]] = []

    def note() -> None:
        found.append((threading.get_ident(), hasattr(of_this_state, "was_here")))
        of_this_state.was_here = True

    for _ in range(2):
        stream = BlockedStream(cuda)
        target = np.zeros(1000, np.uint8)
        gone = threading.Event()
        weakref.finalize(target, lambda gone=gone: (note(), gone.set()))  # type: ignore[misc,func-returns-value]
        transfers.copy_async(target, CudaArray(memory.pointer, (1000,)), stream=stream.handle)
        del target
        stream.go_on()
        assert gone.wait(60)
        stream.end()
    (first, _), (second, was_here_before) = found
    assert first == second != threading.get_ident()
    assert was_here_before


def test_a_dropped_future_keeps_its_arrays_too(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    source = Kept(memory, 1000)
    let_go = threading.Event()
    weakref.finalize(source, let_go.set)
    target = np.zeros(1000, np.uint8)
    transfers.copy_async(target, source, stream=blocked.handle)
    del source
    gc.collect()
    assert not let_go.is_set()
    blocked.go_on()
    assert let_go.wait(60), "nobody waited for the dropped copy"
    assert target.tobytes() == b"\xee" * 1000


@pytest.mark.parametrize("num_arrays", [1, 3])
@pytest.mark.parametrize("size_bytes", [60_000, 100_000, 1_000_000])
def test_the_source_may_change_after_the_call_and_the_call_does_not_wait_for_the_stream(
    transfers: isthmus.Transfers, blocked: BlockedStream, size_bytes: int, num_arrays: int
) -> None:
    context = _native.Context(transfers._driver, 0)
    memory = [_native.DeviceMemory(context, size_bytes) for _ in range(num_arrays)]
    sources = [np.full(size_bytes, index + 1, np.uint8) for index in range(num_arrays)]
    targets = [isthmus.DevicePointer(each.pointer, size_bytes) for each in memory]
    future = transfers.copy_async(targets, sources, stream=blocked.handle)
    for source in sources:
        source.fill(0)
    blocked.go_on()
    future.result()
    for index, each in enumerate(memory):
        assert each.read(size_bytes) == bytes([index + 1]) * size_bytes


@pytest.mark.parametrize("wrong", ["never", None, 3, b"call"])
def test_an_order_that_does_not_exist_is_refused(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, wrong: object
) -> None:
    device = isthmus.DevicePointer(memory.pointer, 4)
    for target, source in ((bytearray(4), device), ([bytearray(4)], [device])):
        with pytest.raises(isthmus.UsageError, match=r"source_order.*call"):
            transfers.copy_async(target, source, source_order=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("many", [False, True])
def test_a_copy_within_the_hosts_memory_waits_for_a_stream_in_a_thread_without_a_context(
    transfers: isthmus.Transfers, cuda: Cuda, many: bool
) -> None:
    blocked = BlockedStream(cuda)
    targets = [bytearray(4), bytearray(4)]
    sources = [b"1234", b"5678"]

    def copy() -> None:
        assert cuda.current_device() is None
        if many:
            transfers.copy(targets, sources, stream=blocked.handle)
        else:
            transfers.copy(targets[0], sources[0], stream=blocked.handle)
        assert cuda.current_device() is None

    thread = threading.Thread(target=copy)
    thread.start()
    assert targets[0] == bytearray(4)
    blocked.go_on()
    thread.join(60)
    assert targets == (
        [bytearray(b"1234"), bytearray(b"5678")] if many else [bytearray(b"1234"), bytearray(4)]
    )
    blocked.end()


def test_use_profile_takes_the_text_of_a_profile_alone(transfers: isthmus.Transfers) -> None:
    with pytest.raises(isthmus.UsageError, match="a profile must be the text of its file"):
        transfers.use_profile(Path("profile.json"))  # type: ignore[arg-type]


def test_only_windows_can_be_the_windows_of_copies() -> None:
    with pytest.raises(isthmus.UsageError, match=r"must be isthmus.Windows, not 3"):
        isthmus.Transfers(3)  # type: ignore[arg-type]


def test_a_task_that_awaits_a_copy_can_be_cancelled_and_the_copy_goes_on(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    target, future = begin(transfers, memory, blocked.handle)

    async def wait() -> None:
        await future

    async def cancel() -> None:
        waiting = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(cancel())  # would wait for a thread that waits for the copy
    blocked.go_on()
    future.result(60)
    assert target.tobytes() == b"\xee" * 1000


def test_other_threads_go_on_while_a_copy_waits(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    target = bytearray(100)
    begun = threading.Event()

    def copy() -> None:
        begun.set()
        transfers.copy(target, isthmus.DevicePointer(memory.pointer, 100), stream=blocked.handle)

    thread = threading.Thread(target=copy)
    thread.start()
    begun.wait()
    blocked.go_on()  # would never come if the copy kept the interpreter
    thread.join(60)
    assert target == b"\xee" * 100


def test_sixty_four_threads_copy_at_once(
    transfers: isthmus.Transfers, driver: _native.Driver
) -> None:
    context = _native.Context(driver, 0)
    memory = _native.DeviceMemory(context, 64 << 16)

    def copy(number: int) -> None:
        rng = np.random.default_rng(number)
        for size in rng.integers(1, 1 << 16, 12):
            device = CudaArray(memory.pointer + (number << 16), (int(size),))
            sent, back = rng.integers(0, 256, size, np.uint8), np.zeros(size, np.uint8)
            transfers.copy(device, sent)
            transfers.copy_async(back, device).result(120)
            assert np.array_equal(sent, back)

    run_in_threads(copy, 64)


def test_ctrl_c_ends_the_waiting_but_not_the_copy(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    target, future = begin(transfers, memory, blocked.handle)
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            future.result(60)
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert not future.done()
    blocked.go_on()
    future.result()
    assert target.tobytes() == b"\xee" * 1000


def test_what_a_copy_fails_with_is_raised_where_it_is_asked_for(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, fail_call: object
) -> None:
    device = isthmus.DevicePointer(memory.pointer, 1 << 20)
    host = isthmus.pinned.empty(1 << 20, np.uint8)
    assert callable(fail_call)
    transfers.copy(device, host)  # what is made at the first copy isn't what fails
    fail_call("cuMemcpyHtoD")
    with pytest.raises(isthmus.DriverError) as failure:
        transfers.copy_async(device, host).result(60)
    assert failure.value.code == OUT_OF_RANGE
    transfers.copy(device, host)


# --- processes of their own -----------------------------------------------------------------------

_PREPARED = """
import os, sys, ctypes, warnings
sys.path.insert(0, {tests!r})
import numpy as np
import isthmus
from isthmus import _native
from fakes.cuda_calls import Cuda
from fakes.blocked_stream import BlockedStream
warnings.simplefilter("ignore")
driver = _native.Driver.open()
cuda = Cuda(driver.path)
memory = _native.DeviceMemory(_native.Context(driver, 0), 1 << 20)
device = isthmus.DevicePointer(memory.pointer, 1 << 20)
target = np.zeros(1 << 20, np.uint8)
stream = BlockedStream(cuda)
"""


def run_prepared(code: str) -> Outcome:
    tests = str(Path(__file__).parents[3])
    whole = _PREPARED.format(tests=tests) + textwrap.dedent(code)
    done = run_process([sys.executable, *inherited(), "-c", whole], EMULATED)
    assert done.err == "", done.err
    return done


def inherited() -> list[str]:
    return ["-S"] if sys.flags.no_site else []


@pytest.mark.parametrize(
    "kept",
    [
        "future = copy()",
        pytest.param("copy()", marks=pytest.mark.long),
        pytest.param("isthmus.kept = copy()", marks=pytest.mark.long),
        pytest.param("sys.kept = [copy()]", marks=pytest.mark.long),
    ],
)
def test_the_interpreter_ends_in_peace_with_a_copy_under_way(kept: str) -> None:
    done = run_prepared(
        f"""
        def copy():
            return isthmus.copy_async(target, device, stream=stream.handle)
        {kept}
        import threading
        threading.Timer(0.2, stream.go_on).start()
        print("end")
        """
    )
    assert (done.code, done.out) == (0, "end\n")


@pytest.mark.parametrize(
    "target",
    ["target", pytest.param("isthmus.pinned.empty(1 << 20, 'u1')", marks=pytest.mark.long)],
)
def test_the_interpreter_ends_also_if_a_kept_copy_never_does(target: str) -> None:
    done = run_prepared(
        f"""
        import isthmus.move.transfer.future
        isthmus.move.transfer.future._TIMEOUT_SECONDS = 0.1
        future = isthmus.copy_async({target}, device, stream=stream.handle)
        assert not future.done()
        _native.keep_forever(memory)  # freeing it would wait for the copy
        print("end", flush=True)
        """
    )
    assert (done.code, done.out) == (0, "end\n")


def test_the_interpreter_ends_also_if_a_dropped_copy_never_does() -> None:
    done = run_prepared(
        """
        import isthmus.move.transfer.future
        isthmus.move.transfer.future._TIMEOUT_SECONDS = 0.1
        isthmus.copy_async(target, device, stream=stream.handle)
        isthmus.copy_async(isthmus.pinned.empty(1 << 20, "u1"), device, stream=stream.handle)
        _native.keep_forever(memory)  # freeing it would wait for the copy
        del target
        print("end", flush=True)
        """
    )
    assert (done.code, done.out) == (0, "end\n")


def test_a_dropped_copy_that_fails_is_reported_and_the_next_is_kept_with_warnings_as_errors() -> (
    None
):
    done = run_prepared(
        """
        import threading, weakref
        warnings.simplefilter("error")
        reported = []
        sys.unraisablehook = lambda args: reported.append(args.exc_value)
        for symbol in (b"cuMemcpyDtoHAsync", b"cuMemcpyDtoH"):
            for nth in range(1, 9):
                cuda.library.isthmus_emulator_fail_call(symbol, nth, 719)
        failed = threading.Event()
        weakref.finalize(target, failed.set)
        isthmus.copy_async(target, device, stream=stream.handle)
        del target
        stream.go_on()
        assert failed.wait(60)
        cuda.library.isthmus_emulator_reset()
        later, let_go = np.zeros(1 << 20, np.uint8), threading.Event()
        weakref.finalize(later, let_go.set)
        isthmus.copy_async(later, device)
        del later
        assert let_go.wait(60)
        [warning] = reported
        print(type(warning).__name__, "LAUNCH_FAILED" in str(warning))
        """
    )
    assert (done.code, done.out) == (0, "IsthmusWarning True\n")


def test_a_strided_copy_under_way_is_completed_before_the_end() -> None:
    done = run_prepared(
        """
        import atexit
        strided = np.zeros((1 << 19, 4), np.uint8)[:, ::2]
        atexit.register(lambda: print(strided.sum()))  # before the first copy, so called last
        memory.write(np.full(1 << 20, 7, np.uint8))
        shown = type("Shown", (), {"__cuda_array_interface__": {"shape": strided.shape,
            "typestr": "|u1", "data": (memory.pointer, False), "version": 3}})()
        future = isthmus.copy_async(strided, shown, stream=stream.handle)
        import threading
        threading.Timer(0.2, stream.go_on).start()
        """
    )
    assert done.out == f"{7 << 20}\n"


def test_a_forked_child_may_not_copy_and_leaves_the_parents_copies_alone() -> None:
    done = run_prepared(
        """
        future = isthmus.copy_async(target, device, stream=stream.handle)
        block = isthmus.pinned.zeros(100)
        if os.fork() == 0:
            refused = 0
            for call in (lambda: isthmus.copy(target, device), future.result, future.done,
                         lambda: isthmus.pinned.empty(10)):
                try:
                    call()
                except isthmus.UsageError:
                    refused += 1
            del future, block
            os._exit(refused)
        print(os.waitstatus_to_exitcode(os.wait()[1]))
        stream.go_on()
        future.result(60)
        print(int(block.sum()), isthmus.pinned.stats().used_bytes > 0)
        """
    )
    assert done.out == "4\n0 True\n"


def test_waiting_takes_no_longer_than_the_copy_by_much(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    """If sleeps grew with the wait, this would take minutes, not milliseconds."""
    began = time.monotonic()
    for _ in range(50):
        transfers.copy_async(
            np.zeros(1000, np.uint8), isthmus.DevicePointer(memory.pointer, 1000)
        ).result(60)
    assert time.monotonic() - began < 30

"""Copies as futures of concurrent.futures and asyncio, and their events."""

import asyncio
import concurrent.futures
import logging
import threading

import numpy as np
import pytest

import isthmus
from fakes.blocked_stream import BlockedStream
from fakes.cuda_calls import Cuda
from fakes.device_arrays import CudaArray
from isthmus import _native

pytestmark = pytest.mark.native

Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]


def begin(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, stream: int = 0
) -> tuple[Bytes, isthmus.CopyFuture]:
    """Begin a copy that a thread makes."""
    target = np.zeros(1000, np.uint8)
    return target, transfers.copy_async(target, CudaArray(memory.pointer, (1000,)), stream=stream)


def begin_in_order(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, stream: int
) -> tuple[Bytes, isthmus.CopyFuture]:
    """Begin a copy that its stream orders."""
    target: Bytes = isthmus.pinned.empty(1000, np.uint8)
    target.fill(0)
    return target, transfers.copy_async(target, CudaArray(memory.pointer, (1000,)), stream=stream)


def test_a_callback_is_called_when_the_copy_has_ended(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    target, future = begin(transfers, memory, blocked.handle)
    called = threading.Event()
    seen: list[object] = []

    def note(ended: isthmus.CopyFuture) -> None:
        seen.extend([ended, ended.done(), target.tobytes()])
        called.set()

    future.add_done_callback(note)
    assert not called.is_set()
    blocked.go_on()
    assert called.wait(60)
    assert seen == [future, True, b"\xee" * 1000]


def test_a_callback_of_a_copy_that_has_ended_is_called_at_once(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    _, future = begin(transfers, memory)
    future.result(60)
    seen: list[isthmus.CopyFuture] = []
    future.add_done_callback(seen.append)
    future.add_done_callback(seen.append)
    assert seen == [future, future]


def test_a_callback_that_raises_is_logged_and_the_others_are_called(
    transfers: isthmus.Transfers,
    memory: _native.DeviceMemory,
    blocked: BlockedStream,
    caplog: pytest.LogCaptureFixture,
) -> None:
    _, future = begin(transfers, memory, blocked.handle)
    called = threading.Event()

    def fail(_: object) -> None:
        raise ValueError("of the callback")

    future.add_done_callback(fail)
    future.add_done_callback(lambda _: called.set())
    with caplog.at_level(logging.ERROR, "concurrent.futures"):
        blocked.go_on()
        assert called.wait(60)
    assert "exception calling callback" in caplog.text
    assert "of the callback" in caplog.text
    future.result(0)


def test_wait_and_as_completed_take_copies(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    _, late = begin(transfers, memory, blocked.handle)
    _, early = begin(transfers, memory)
    done, pending = concurrent.futures.wait(
        [late, early], timeout=60, return_when=concurrent.futures.FIRST_COMPLETED
    )
    assert (done, pending) == ({early}, {late})
    completed = concurrent.futures.as_completed([late, early], timeout=60)
    assert next(completed) is early
    blocked.go_on()
    assert next(completed) is late


def test_a_failed_copy_is_a_failed_future(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, cuda: Cuda, blocked: BlockedStream
) -> None:
    target, future = begin(transfers, memory, blocked.handle)
    for symbol in (b"cuMemcpyDtoH", b"cuMemcpyDtoHAsync"):
        for nth in range(1, 5):
            cuda.library.isthmus_emulator_fail_call(symbol, nth, 719)
    blocked.go_on()
    done, _ = concurrent.futures.wait([future], timeout=60)
    cuda.library.isthmus_emulator_reset()
    assert done == {future}
    failure = future.exception()
    if failure is None:  # a window needs no driver
        assert target.tobytes() == b"\xee" * 1000
    else:
        assert isinstance(failure, isthmus.DriverError)


def test_a_copy_that_has_not_begun_can_be_cancelled(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    target, future = begin(transfers, memory, blocked.handle)
    called: list[isthmus.CopyFuture] = []
    future.add_done_callback(called.append)
    assert future.cancel()
    assert future.cancel()
    assert future.cancelled()
    assert future.done()
    assert not future.running()
    assert called == [future]
    with pytest.raises(concurrent.futures.CancelledError):
        future.result(60)
    with pytest.raises(concurrent.futures.CancelledError):
        future.exception(60)
    assert concurrent.futures.wait([future], timeout=60).done == {future}
    blocked.go_on()
    begin(transfers, memory, blocked.handle)[1].result(60)
    assert not target.any()


def test_whoever_cancels_a_copy_calls_its_callbacks(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    callers: list[int] = []
    copies = [begin(transfers, memory, blocked.handle)[1] for _ in range(100)]
    for copy in copies:
        copy.add_done_callback(lambda _: callers.append(threading.get_ident()))
    assert all(copy.cancel() and copy.cancelled() for copy in copies)
    assert callers == [threading.get_ident()] * len(copies)


def test_cancelling_a_copy_that_has_begun_is_refused_and_loses_nothing(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    target, future = begin_in_order(transfers, memory, blocked.handle)
    assert not future.cancel()
    assert not future.cancelled()
    assert future.running()
    blocked.go_on()
    future.result(60)
    assert not future.cancel()
    assert target.tobytes() == b"\xee" * 1000


def test_asyncio_wraps_copies(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    async def wrapped() -> bytes:
        target, future = begin(transfers, memory, blocked.handle)
        asyncio.get_running_loop().call_soon(blocked.go_on)
        await asyncio.wait_for(asyncio.wrap_future(future), 60)
        return target.tobytes()

    assert asyncio.run(wrapped()) == b"\xee" * 1000


def test_cancelling_what_wrap_future_gave_cancels_the_copy(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    async def cancel(future: isthmus.CopyFuture) -> None:
        waiting = asyncio.wrap_future(future)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    target, future = begin(transfers, memory, blocked.handle)
    asyncio.run(cancel(future))
    assert future.cancelled()
    blocked.go_on()
    assert not target.any()


def test_awaited_copies_use_no_thread_of_the_loop(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    async def wait_for_all() -> list[bytes]:
        begun = [begin(transfers, memory, blocked.handle) for _ in range(64)]
        waiting = [asyncio.ensure_future(await_one(future)) for _, future in begun]
        await asyncio.sleep(0)
        # Would never return if the copies had all of the loop's threads.
        assert await asyncio.to_thread(lambda: "unrelated") == "unrelated"
        assert not any(task.done() for task in waiting)
        blocked.go_on()
        await asyncio.gather(*waiting)
        return [target.tobytes() for target, _ in begun]

    async def await_one(future: isthmus.CopyFuture) -> None:
        await future

    assert asyncio.run(wait_for_all()) == [b"\xee" * 1000] * 64


def test_an_event_makes_another_stream_wait_for_the_copy(
    transfers: isthmus.Transfers,
    memory: _native.DeviceMemory,
    blocked: BlockedStream,
    driver: _native.Driver,
) -> None:
    context = _native.Context(driver, 0)
    other = _native.Stream(context)
    target, future = begin_in_order(transfers, memory, blocked.handle)
    event = future.event
    assert event.handle
    event.wait(other.handle)
    behind, second = begin_in_order(transfers, memory, other.handle)
    assert not second.done()
    blocked.go_on()
    second.result(60)
    assert future.done()
    assert target.tobytes() == behind.tobytes() == b"\xee" * 1000


def test_the_event_of_a_complete_copy_delays_nothing(transfers: isthmus.Transfers) -> None:
    future = transfers.copy_async(bytearray(4), b"1234")
    assert future.event.handle is None
    future.event.wait(0)
    with pytest.raises(isthmus.UsageError, match="a stream"):
        future.event.wait("none")  # type: ignore[arg-type]


def test_a_copy_that_a_thread_makes_has_no_event(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    _, future = begin(transfers, memory, blocked.handle)
    with pytest.raises(isthmus.Unavailable, match="a thread makes it"):
        _ = future.event
    blocked.go_on()
    future.result(60)
    assert future.event.handle is None


def test_asking_for_what_no_future_has_is_an_attribute_error(transfers: isthmus.Transfers) -> None:
    future = transfers.copy_async(bytearray(4), b"1234")
    with pytest.raises(AttributeError, match="no attribute 'results'"):
        _ = future.results  # type: ignore[attr-defined]
    assert "ended" in repr(future)


@pytest.mark.parametrize("timeout", [float("nan"), "x", [1], 1j, 10**400])
@pytest.mark.parametrize("ask", ["result", "exception"])
def test_a_timeout_that_is_no_number_is_refused(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, ask: str, timeout: object
) -> None:
    _, future = begin(transfers, memory)
    with pytest.raises(isthmus.UsageError, match="a timeout must be a number of seconds, not"):
        getattr(future, ask)(timeout)
    future.result(60)

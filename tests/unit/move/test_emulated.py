"""`isthmus.emulated()`: the emulated device for a while, in all of the process."""

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.move.windows import opening
from isthmus.move.windows.opening import Windows
from program import EMULATED, run_code

pytestmark = pytest.mark.native

_SMALL = "Isthmus Emulated GPU (small link)"
_FAULTS = Path(__file__).parents[3] / "build/release/bin/libisthmus_system_faults.so"


def _device_name(ordinal: int = 0) -> str:
    return opening.default_windows()._driver.device(ordinal).name


@pytest.fixture(autouse=True)
def _no_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ISTHMUS_DRIVER", str(tmp_path / "libcuda.so.1"))
    monkeypatch.setenv("ISTHMUS_PROFILE", "off")


def test_inside_the_block_everything_uses_the_emulated_device() -> None:
    with isthmus.emulated():
        assert _device_name() == _SMALL
        array = isthmus.device_empty(4, "uint8")
        sent = isthmus.pinned.empty(4, "uint8")
        sent[:] = 1, 2, 3, 4
        isthmus.copy(array, sent)
        with isthmus.window(array) as window:
            assert window.read() == bytes([1, 2, 3, 4])
        assert isthmus.explain(array, sent).source == "pinned"
        assert isthmus.stats().calls == 1


def test_after_the_block_there_is_no_device_again() -> None:
    isthmus.copy(bytearray(4), b"1234")
    with isthmus.emulated():
        isthmus.copy(isthmus.device_empty(4, "uint8"), b"1234")
        assert isthmus.stats().calls == 1
    assert isthmus.stats().calls == 0
    with pytest.raises(isthmus.Unavailable):
        isthmus.device_empty(1)


def test_a_block_that_raises_ends_too() -> None:
    with pytest.raises(ZeroDivisionError), isthmus.emulated():
        _ = 1 / 0
    with pytest.raises(isthmus.Unavailable):
        isthmus.device_empty(1)


def test_blocks_can_be_nested() -> None:
    with isthmus.emulated("two-gpus"):
        with isthmus.emulated():
            assert _device_name(1) == _SMALL
        assert _device_name(1) == _SMALL


def test_a_block_in_another_thread_lasts_as_long_as_it_needs() -> None:
    entered, go_on = threading.Event(), threading.Event()

    def other() -> None:
        with isthmus.emulated():
            entered.set()
            go_on.wait(60)

    thread = threading.Thread(target=other)
    with isthmus.emulated():
        thread.start()
        assert entered.wait(60)
    assert _device_name() == _SMALL
    go_on.set()
    thread.join(60)
    with pytest.raises(isthmus.Unavailable):
        isthmus.device_empty(1)


class NoticedLock:
    """A lock that says when another one has to wait for it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.waited_for = threading.Event()

    def __enter__(self) -> None:
        if not self.lock.acquire(blocking=False):
            self.waited_for.set()
            self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


@pytest.mark.parametrize(
    ("lock", "first_use"),
    [
        ("isthmus.move.transfer.copying.default_lock", lambda: isthmus.copy(bytearray(4), b"1234")),
        ("isthmus.pinned.pools_lock", lambda: isthmus.pinned.empty(4)),
    ],
)
def test_what_another_thread_opens_while_a_block_begins_is_gone_after_it(
    lock: str, first_use: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    noticed = NoticedLock()
    monkeypatch.setattr(lock, noticed)

    def use() -> None:
        first_use()
        noticed.waited_for.set()  # it didn't have to wait

    other = threading.Thread(target=use)
    exchange = opening.exchange_default

    def exchange_and_let_the_other_begin(windows: Windows | None) -> Windows | None:
        former = exchange(windows)
        if not other.ident:
            other.start()
            assert noticed.waited_for.wait(60)
        return former

    monkeypatch.setattr(opening, "exchange_default", exchange_and_let_the_other_begin)
    with isthmus.emulated():
        other.join(60)
        array = isthmus.device_empty(4, "uint8")
    for call in (lambda: isthmus.copy(array, b"1234"), lambda: isthmus.pinned.empty(4)):
        with pytest.raises(isthmus.Error):
            call()


def test_a_copy_that_was_begun_inside_ends_outside() -> None:
    sent, back = np.arange(1 << 20, dtype=np.float32), np.zeros(1 << 20, np.float32)
    with isthmus.emulated():
        array = isthmus.device_empty(1 << 20, np.float32)
        isthmus.copy(array, sent)
        future = isthmus.copy_async(back, array)
    future.result(60)
    assert np.array_equal(back, sent)


def test_another_profile_inside_is_refused() -> None:
    with (
        isthmus.emulated(),
        pytest.raises(isthmus.UsageError, match="profile 'small'"),
        isthmus.emulated("two-gpus"),
    ):
        pass


def test_an_unknown_profile_is_refused_with_the_known_ones() -> None:
    with pytest.raises(isthmus.UsageError, match="h100-pcie5"), isthmus.emulated("smal"):
        pass
    with isthmus.emulated():
        assert _device_name() == _SMALL


def test_the_environment_chooses_it_for_a_whole_process() -> None:
    code = (
        "from isthmus.move.windows.opening import default_windows\n"
        "print(default_windows()._driver.device(0).name)"
    )
    assert run_code(code, {"ISTHMUS_DRIVER": "emulated"}).out == f"{_SMALL}\n"


@pytest.mark.skipif(not _FAULTS.exists(), reason="what refuses calls is built by `make test-cpp`")
@pytest.mark.parametrize("nth", range(1, 7))
def test_a_thread_that_the_system_refuses_is_an_error_of_the_driver_and_nothing_else(
    nth: int,
) -> None:
    """In a process of its own: the device's threads live as long as it does."""
    code = f"""
import ctypes
import numpy as np
import isthmus
from isthmus import _native

cuda = ctypes.CDLL(_native.Driver.open("emulated").path)
system = ctypes.CDLL({str(_FAULTS)!r})
system.isthmus_system_faults_arm(b"thread", {nth}, b"isthmus_emulator")
host = np.arange(1000, dtype=np.float32)
streams = [ctypes.c_void_p() for _ in range(3)]
flag = ctypes.c_void_p()
results = []

def work():
    device = isthmus.device_empty(1000, np.float32)
    at = ctypes.c_uint64(device.pointer)
    values = ctypes.c_uint32.from_address(flag.value)
    target = ctypes.c_void_p(flag.value + 64)
    values.value = 0
    # What waits for the flag is started by the device's threads.
    for stream in streams:
        results.append(cuda.cuStreamWaitValue32_v2(stream, flag, 1, 0))
        results.append(cuda.cuMemsetD8Async(at, 7, 4000, stream))
        results.append(cuda.cuMemcpyDtoHAsync_v2(target, at, 4000, stream))
    values.value = 1
    for stream in streams:
        cuda.cuStreamSynchronize(stream)
    with isthmus.PagedArray(host) as array:
        assert array.reduce() == host.sum()

isthmus.device_empty(1)
context = ctypes.c_void_p()
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxPushCurrent_v2(context)
cuda.cuMemHostAlloc(ctypes.byref(flag), 8192, 0)
for stream in streams:
    cuda.cuStreamCreate(ctypes.byref(stream), 1)
try:
    work()
except isthmus.DriverError as error:
    results.append(error.code)
print(system.isthmus_system_faults_disarm() >= {nth}, sorted(set(results)))
del results[:]
work()
print(set(results))
"""
    done = run_code(code, EMULATED | {"LD_PRELOAD": str(_FAULTS)})
    refused, _, codes = done.out.partition("\n")[0].partition(" ")
    assert done.code == 0, done.err
    assert codes in ({"[0]", "[0, 304]"} if refused == "True" else {"[0]"})
    assert done.out.endswith("\n{0}\n")

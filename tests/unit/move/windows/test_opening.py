"""Settings, the default driver, pending work, and the warning that is given once."""

import ctypes
import threading
from types import SimpleNamespace

import pytest

import isthmus
from fakes.cuda_calls import Cuda
from fakes.device_arrays import CudaArray, DlpackArray
from isthmus import _native
from program import EMULATED, run_code

pytestmark = pytest.mark.native

SIZE = 8192


def calls_on_the_stream_of_a_fill(cuda: Cuda) -> list[str]:
    """Name the driver's functions that the stream of a logged fill was given to."""
    library = cuda.library
    text = ctypes.create_string_buffer(library.isthmus_emulator_call_log(None, 0))
    library.isthmus_emulator_call_log(text, len(text))
    library.isthmus_emulator_log_calls(0)
    lines = [line.split() for line in text.value.decode().splitlines()]
    (stream,) = {
        word
        for line in lines
        for word in line
        if line[0] == "cuMemsetD8Async" and word.startswith("stream=")
    }
    return [line[0] for line in lines if stream in line]


def fill(cuda: Cuda, pointer: int, value: int, stream: int) -> None:
    """Enqueue a fill, as a library's pending work, and log what is called from then on."""
    cuda.library.isthmus_emulator_log_calls(1)
    cuda.call(
        "cuMemsetD8Async",
        ctypes.c_uint64(pointer),
        ctypes.c_ubyte(value),
        ctypes.c_size_t(SIZE),
        ctypes.c_void_p(stream),
    )


def test_pending_work_of_a_dlpack_array_is_waited_for(
    windows: isthmus.Windows, memory: _native.DeviceMemory, cuda: Cuda
) -> None:
    array = DlpackArray(memory.pointer, (SIZE,))
    array.on_export = lambda stream: fill(cuda, memory.pointer, 7, stream)
    with windows.open(array) as window:
        assert window.read() == b"\7" * SIZE
    assert calls_on_the_stream_of_a_fill(cuda) == ["cuMemsetD8Async", "cuStreamSynchronize"]
    assert array.streams[0] is not None
    assert array.streams[0] > 2, "a stream of its own, none of the default ones"


def test_pending_work_of_a_cuda_array_is_waited_for(
    windows: isthmus.Windows, memory: _native.DeviceMemory, cuda: Cuda, context: _native.Context
) -> None:
    own = _native.Stream(context)
    for value, stream in {8: 1, 9: own.handle}.items():
        fill(cuda, memory.pointer, value, stream)
        with windows.open(CudaArray(memory.pointer, (SIZE,), stream=stream)) as window:
            assert window.read() == bytes([value]) * SIZE
        assert calls_on_the_stream_of_a_fill(cuda) == ["cuMemsetD8Async", "cuStreamSynchronize"]


def test_pending_work_is_waited_for_in_a_thread_that_never_used_cuda(
    windows: isthmus.Windows, memory: _native.DeviceMemory
) -> None:
    # No such stream: waiting for it fails, and that is how one sees that it is waited for.
    with pytest.raises(isthmus.UsageError, match="0x3039 is not the handle of a stream"):
        windows.open(CudaArray(memory.pointer, (SIZE,), stream=12345))


@pytest.mark.parametrize("sync", [True, False])
def test_an_array_is_asked_for_its_memory_while_its_device_is_current(
    windows: isthmus.Windows,
    memory: _native.DeviceMemory,
    cuda: Cuda,
    sync: bool,
) -> None:
    """PyTorch exports nothing else. Another thread has no device current before, and none after."""
    array = DlpackArray(memory.pointer, (SIZE,))
    seen: list[int | None] = []
    array.on_export = lambda _stream: seen.append(cuda.current_device())

    def open_and_look() -> None:
        windows.open(array, sync=sync).close()
        seen.append(cuda.current_device())

    thread = threading.Thread(target=open_and_look)
    thread.start()
    thread.join()
    assert seen == [0, None]


def test_without_sync_no_stream_is_told_or_waited_for(
    windows: isthmus.Windows, memory: _native.DeviceMemory
) -> None:
    array = DlpackArray(memory.pointer, (SIZE,))
    windows.open(array, sync=False).close()
    assert array.streams == [-1]
    # No such stream: waiting for it would fail.
    windows.open(CudaArray(memory.pointer, (SIZE,), stream=12345), sync=False).close()


def test_windows_that_are_off_say_so(array: CudaArray) -> None:
    with pytest.raises(isthmus.Unavailable, match="off"):
        isthmus.Windows("emulated", backend="off").open(array)


def test_the_environment_chooses_the_backend_where_the_program_does_not(
    array: CudaArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISTHMUS_WINDOW", "off")
    with pytest.raises(isthmus.Unavailable, match="off"):
        isthmus.Windows("emulated").open(array)
    with isthmus.Windows("emulated", backend="dmabuf").open(array) as window:
        assert window.backend == "dmabuf"


def test_a_backend_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(isthmus.UsageError, match="telepathy"):
        isthmus.Windows("emulated", backend="telepathy")
    monkeypatch.setenv("ISTHMUS_WINDOW", "telepathy")
    with pytest.raises(isthmus.UsageError, match="ISTHMUS_WINDOW"):
        isthmus.Windows("emulated")


def test_each_mapping_adds_its_steps_to_the_costs_of_all_windows(
    windows: isthmus.Windows, array: CudaArray
) -> None:
    assert windows.backends()[0].usable
    assert counts(windows) == [0, 0, 0, 0], "the self-test is no window"
    with windows.open(array):
        assert counts(windows) == [1, 1, 0, 0]
        windows.open(array).close()
        assert counts(windows) == [1, 1, 0, 0], "it shared the mapping"
    # dmabuf's mapping is the last that holds the memory: there is nothing to unpin.
    assert counts(windows) == [1, 1, 1, 0]
    costs = windows.costs()
    assert min(costs.pin.seconds, costs.map.seconds, costs.unmap.seconds) > 0
    assert costs.unpin.seconds == 0
    windows.open(array).close()
    assert counts(windows) == [2, 2, 2, 0]
    assert windows.costs().map.seconds > costs.map.seconds
    with pytest.raises(AttributeError):
        costs.map.seconds = 0.0  # type: ignore[misc]


def counts(windows: isthmus.Windows) -> list[int]:
    costs = windows.costs()
    return [step.count for step in (costs.pin, costs.map, costs.unmap, costs.unpin)]


def test_bar1_is_a_budget(context: _native.Context) -> None:
    windows = isthmus.Windows("emulated", bar1_limit_bytes=SIZE)
    assert windows.bar1_limit_bytes() == SIZE
    memory = _native.DeviceMemory(context, 1 << 20)
    with windows.open(memory.pointer, 4096):
        assert 0 < windows.mapped_bytes() <= SIZE
    with pytest.raises(isthmus.Unavailable, match="BAR1"):
        windows.open(memory.pointer, 1 << 20)
    assert windows.mapped_bytes() == 0


def test_every_backend_says_whether_it_works_and_why_not(windows: isthmus.Windows) -> None:
    reports = {report.backend: report for report in windows.backends()}
    assert list(reports) == ["dmabuf", "gdrdrv", "rm"]
    assert reports["dmabuf"].usable
    assert not reports["rm"].usable
    assert all(report.reason for report in reports.values())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"driver_source": 3}, "a driver's source must be text, not 3"),
        ({"backend": 3}, "the backend of windows must be text, not 3"),
        ({"bar1_limit_bytes": "1G"}, "a limit of BAR1 in bytes must be an integer"),
        ({"bar1_limit_bytes": -1}, "a limit of BAR1 in bytes must be an integer"),
    ],
)
def test_a_setting_of_another_type_is_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(isthmus.UsageError, match=said):
        isthmus.Windows(**({"driver_source": "emulated"} | settings))  # type: ignore[arg-type]


@pytest.mark.parametrize("ask", ["backends", "mapped_bytes", "bar1_limit_bytes"])
def test_a_device_may_have_a_name_and_nothing_else(windows: isthmus.Windows, ask: str) -> None:
    getattr(windows, ask)("cuda:0")
    with pytest.raises(isthmus.UsageError, match="give the GPU's ordinal, or 'cuda:ORDINAL'"):
        getattr(windows, ask)(None)


def test_a_device_that_is_not_there_is_refused(windows: isthmus.Windows) -> None:
    with pytest.raises(isthmus.UsageError, match="99"):
        windows.backends(99)


def test_what_a_user_should_know_is_a_warning_in_the_users_own_line(
    windows: isthmus.Windows, array: CudaArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = windows._native
    notices = ["rm: driver 999.1 was never tested"]

    def take_notices() -> list[str]:
        taken, notices[:] = list(notices), []
        return taken

    told = SimpleNamespace(open=real.open, take_notices=take_notices)
    monkeypatch.setattr(windows, "_native", told)
    with pytest.warns(isthmus.IsthmusWarning, match=r"999\.1") as warned:
        windows.open(array).close()
    assert warned[0].filename == __file__
    windows.open(array).close()


def test_window_uses_the_driver_that_the_environment_names() -> None:
    code = """
import isthmus
from isthmus import _native
memory = _native.DeviceMemory(_native.Context(_native.Driver.open(), 0), 4096)
with isthmus.window(memory.pointer, 4096) as w, isthmus.window(memory.pointer, 8) as same:
    w.write(b"hello")
    print(same.read(5), isinstance(w, isthmus.Window))
"""
    done = run_code(code, EMULATED)
    assert (done.out, done.err) == ("b'hello' True\n", "")


def test_without_a_driver_a_window_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISTHMUS_DRIVER", "/nowhere/libcuda.so.1")
    with pytest.raises(isthmus.Unavailable, match="driver"):
        isthmus.Windows()

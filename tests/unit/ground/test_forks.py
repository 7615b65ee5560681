"""A child of fork(): CUDA stays with the parent; copies within the host's memory need none."""

from pathlib import Path

import pytest

from program import EMULATED, run_code

pytestmark = pytest.mark.native

_PROGRAM = """
import os, sys, warnings
import numpy as np
import isthmus

warnings.simplefilter("ignore")  # of a fork beside threads
host = np.arange(100, dtype=np.uint8)
{before}

def emulate():
    with isthmus.emulated():
        pass

calls = {{
    "copy": lambda: isthmus.copy(array, host),
    "copy of a list": lambda: isthmus.copy([host, host[:0]], [array, host[:0]]),
    "copy_async": lambda: isthmus.copy_async(host, array),
    "casting copy": lambda: isthmus.copy(array, host.astype(float), casting="unsafe"),
    "copy in a stream": lambda: isthmus.copy(np.empty_like(host), host, stream=5),
    "explain": lambda: isthmus.explain(array, host),
    "device_empty": lambda: isthmus.device_empty(3),
    "emulated": emulate,
    "save_safetensors": lambda: isthmus.save_safetensors({{"a": array}}, "unused"),
    "load_safetensors": lambda: isthmus.load_safetensors({file!r}, framework="dlpack"),
    "pinned.empty": lambda: isthmus.pinned.empty(3),
    "pinned.zeros": lambda: isthmus.pinned.zeros(3),
    "pinned.empty_like": lambda: isthmus.pinned.empty_like(host),
    "pinned.stats": isthmus.pinned.stats,
    "pinned.register": lambda: isthmus.pinned.register(host).__enter__(),
    "window": lambda: isthmus.window(array),
    "Windows": isthmus.Windows,
    "Transfers": lambda: isthmus.Transfers().copy(array, host),
}}
child = os.fork()
if child == 0:
    for name, call in calls.items():
        try:
            call()
        except isthmus.UsageError as refusal:
            if "start processes by spawn" not in str(refusal):
                print(name, "says", refusal)
        except BaseException as failure:
            print(name, "raises", repr(failure))
        else:
            print(name, "is not refused")
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
isthmus.copy(array, host)
isthmus.copy(host, array)
print(int(host.sum()))
"""
_BEFORE = """
array = isthmus.device_empty(100, np.uint8)
isthmus.save_safetensors({"a": host}, file)
"""


@pytest.mark.parametrize(
    "used", ["isthmus.copy(array, host)", "isthmus.pinned.empty(3)", "isthmus.device_empty(0)"]
)
def test_every_call_that_needs_the_driver_is_refused_and_the_parent_goes_on(
    used: str, tmp_path: Path
) -> None:
    file = str(tmp_path / "a.safetensors")
    before = f"file = {file!r}{_BEFORE}{used}"
    done = run_code(_PROGRAM.format(before=before, file=file), EMULATED)
    assert (done.out, done.err) == ("4950\n", "")


# Copies in every way, of arrays of the host alone.
_HOST_COPIES = """
import os, sys, warnings
import numpy as np
import isthmus

warnings.simplefilter("ignore")  # of a fork beside threads

def copied():
    ones, large = np.ones((10, 10)), np.ones(1 << 20)
    made = [np.zeros((10, 10)) for _ in range(5)] + [np.zeros(1 << 20), np.zeros((10, 10), "f4")]
    isthmus.copy(made[0], ones)
    isthmus.copy(made[1].T, ones)
    isthmus.copy({"a": [made[2]]}, {"a": [ones]})
    isthmus.copy_async(made[3], ones).result(60)
    isthmus.copy_async([made[4], made[5]], [ones, large]).result(60)
    isthmus.copy(made[6], ones, casting="same_kind")
    isthmus.explain(made[0], ones), isthmus.stats(), isthmus.trim()
    return [int(array.mean()) for array in made] == [1] * 7

def in_child(action):
    child = os.fork()
    if child == 0:
        try:
            print(action(), flush=True)
        except BaseException as failure:
            print(repr(failure), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.mark.parametrize(
    ("driver", "before"),
    [
        ("/no/such/driver.so", ""),
        ("/no/such/driver.so", "copied()"),
        ("emulated", ""),
        ("emulated", "copied()"),
        ("emulated", "isthmus.copy(isthmus.device_empty(3), np.zeros(3)); copied()"),
        ("emulated", "opened = isthmus.Windows()"),
        ("emulated", "isthmus.emulated().__enter__(); isthmus.device_empty(3)"),
    ],
)
def test_a_child_and_its_child_copy_within_the_hosts_memory(driver: str, before: str) -> None:
    code = f"{_HOST_COPIES}\n{before}\nin_child(lambda: (copied(), in_child(copied)))"
    done = run_code(code, {"ISTHMUS_DRIVER": driver})
    assert (done.out, done.err) == ("True\n(True, None)\n", "")


def test_copies_of_the_parents_own_transfers_go_on_within_the_hosts_memory_too() -> None:
    code = f"""{_HOST_COPIES}
transfers = isthmus.Transfers(isthmus.Windows())
device = isthmus.device_empty(3)

def ask():
    target = np.zeros(3)
    transfers.copy(target, np.ones(3))
    transfers.copy_async(target[:2], np.ones(2)).result(60)
    try:
        transfers.copy(target, device)
    except isthmus.UsageError as refusal:
        return int(target.sum()), "start processes by spawn" in str(refusal)

in_child(ask)
"""
    assert run_code(code, EMULATED).out == "(3, True)\n"


def test_a_child_copies_whatever_the_parents_threads_were_doing() -> None:
    code = f"""{_HOST_COPIES}
import threading
from isthmus import pinned
from isthmus.move import emulation
from isthmus.move.transfer import copying
from isthmus.move.windows import opening

opened = isthmus.Windows()
held, forked = threading.Event(), threading.Event()

def hold():
    with copying.default_lock, opening._default_lock, pinned.pools_lock:
        held.set()
        forked.wait(60)

def work():
    while not forked.is_set():
        busy.copy(np.zeros(1 << 16), np.ones(1 << 16))
        busy.copy_async([np.zeros(100)], [np.ones(100)]).result(60)

busy = isthmus.Transfers(opened)
threads = [threading.Thread(target=target) for target in (hold, work, work)]
for thread in threads:
    thread.start()
held.wait(60)
for _ in range(20):
    in_child(lambda: (copied(), busy.copy(np.zeros(3), np.ones(3))))
in_child(lambda: pinned.empty(3))
forked.set()
"""
    done = run_code(code, EMULATED)
    copied, refused = done.out.splitlines()[:-1], done.out.splitlines()[-1]
    assert (copied, "start processes by spawn" in refused) == (["(True, None)"] * 20, True)
    assert done.err == ""


def test_the_workers_of_a_loader_copy() -> None:
    pytest.importorskip("torch")
    code = """
import warnings
import numpy as np, torch
import isthmus

warnings.simplefilter("ignore")
isthmus.copy(isthmus.device_empty(3), np.zeros(3))

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        row = torch.zeros(3)
        isthmus.copy(row, np.full(3, index, "f4"))
        return row

loader = torch.utils.data.DataLoader(Rows(), 2, num_workers=2, multiprocessing_context="fork")
print([batch.sum().item() for batch in loader])
"""
    done = run_code(code, EMULATED)
    assert (done.out, done.code) == ("[3.0, 15.0]\n", 0)


def test_a_child_may_save_arrays_of_the_host(tmp_path: Path) -> None:
    file = str(tmp_path / "a.safetensors")
    code = f"""
import os, warnings
import numpy as np
import isthmus
warnings.simplefilter("ignore")
isthmus.device_empty(3)
child = os.fork()
if child == 0:
    isthmus.save_safetensors({{"a": np.arange(3)}}, {file!r})
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), os.path.exists({file!r}))
"""
    done = run_code(code, EMULATED)
    assert (done.out, done.err) == ("0 True\n", "")


def test_a_child_may_use_a_driver_that_its_parent_did_not_open() -> None:
    code = """
import os
import isthmus
child = os.fork()
if child == 0:
    print(isthmus.device_empty(3).device, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""
    done = run_code(code, EMULATED)
    assert (done.out, done.err) == ("0\n", "")


# A thread of the parent stands still in a call of the driver, with every lock that it has taken.
_HELD = """
import ctypes, os, signal, sys, threading, warnings
import numpy as np
import isthmus
from isthmus import _native

warnings.simplefilter("ignore")  # of a fork beside threads
{before}
inside, forked = threading.Event(), threading.Event()

@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def stand_still(argument):
    inside.set()
    forked.wait()

driver = ctypes.CDLL(os.path.join(os.path.dirname(_native.__file__), "libisthmus_emulator.so"))
driver.isthmus_emulator_before_call({symbol!r}, 1, stand_still, None)
thread = threading.Thread(target=lambda: {work})
thread.start()
inside.wait()
calls = {calls}
for text in calls:
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends a child that waits for ever
        try:
            exec(text)
        except isthmus.UsageError as refusal:
            if "start processes by spawn" not in str(refusal):
                print(text, "says", refusal)
        except BaseException as failure:
            print(text, "raises", repr(failure))
        else:
            print(text, "returns")
        sys.stdout.flush()
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        print(text, "doesn't return")
forked.set()
thread.join()
{after}
"""
_PAGED = """
host = np.arange(1000, dtype=np.float32)
array = isthmus.PagedArray(host)
array.scatter([5], [7])
"""
_PAGED_CALLS = [
    "array.stats()",
    "array.gather([1])",
    "array.scatter([1], [2])",
    "array.write([1])",
    "array.reduce()",
    "array.flush()",
    "array.flush(stream=0)",
    "array.prefetch()",
    "array.will_overwrite([(0, 9)])",
    "array.refresh()",
    "array.invalidate()",
    "array.argument()",
]


@pytest.mark.parametrize(
    "work", ["array.stats()", "array.flush()", "array.invalidate([(900, 901)])"]
)
def test_no_call_of_a_paged_array_waits_in_a_child_for_a_thread_of_the_parent(work: str) -> None:
    done = run_code(
        _HELD.format(
            before=_PAGED, symbol=b"cuCtxSynchronize", work=work, calls=_PAGED_CALLS, after=""
        ),
        EMULATED,
    )
    assert (done.out, done.err) == ("", "")


def test_a_paged_array_ends_in_a_child_and_leaves_the_parents_data_as_they_are() -> None:
    calls = ["array.close(); array.close(); assert host[5] == 5", "del array", "with array: pass"]
    after = "array.close(); print(int(host[5]))"
    done = run_code(
        _HELD.format(
            before=_PAGED,
            symbol=b"cuCtxSynchronize",
            work="array.stats()",
            calls=calls,
            after=after,
        ),
        EMULATED,
    )
    returned = "".join(f"{call} returns\n" for call in calls)
    assert (done.out, done.err) == (returned + "7\n", "")


def test_a_paged_array_of_a_file_writes_nothing_in_a_child(tmp_path: Path) -> None:
    file = tmp_path / "items"
    file.write_bytes(bytes(4000))
    before = f"""
array = isthmus.PagedArray(np.memmap({str(file)!r}, np.float32, "r+"))
array.scatter([5], [7])
read = lambda: np.fromfile({str(file)!r}, np.float32)[5]
"""
    calls = ["array.close(); assert read() == 0", "array.flush()"]
    done = run_code(
        _HELD.format(
            before=before,
            symbol=b"cuCtxSynchronize",
            work="array.stats()",
            calls=calls,
            after="array.close(); print(int(read()))",
        ),
        EMULATED,
    )
    assert (done.out, done.err) == (f"{calls[0]} returns\n7\n", "")


@pytest.mark.parametrize(
    "work", ["isthmus.device_empty(3)", "isthmus.pinned.empty(3)", "isthmus.emulated().__enter__()"]
)
def test_no_call_waits_in_a_child_for_a_thread_that_opens_the_driver(work: str) -> None:
    calls = [
        "isthmus.device_empty(3)",
        "isthmus.pinned.empty(3)",
        "isthmus.PagedArray(np.zeros(3))",
        "isthmus.emulated().__enter__()",
    ]
    done = run_code(
        _HELD.format(before="", symbol=b"cuInit", work=work, calls=calls, after=""), EMULATED
    )
    assert (done.out, done.err) == ("", "")

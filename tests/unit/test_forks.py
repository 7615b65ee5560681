"""A child of fork(): CUDA stays with the parent, and every call that needs it says so."""

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
    "copy": lambda: isthmus.copy(np.empty_like(host), host),
    "copy_async": lambda: isthmus.copy_async(np.empty_like(host), host),
    "explain": lambda: isthmus.explain(np.empty_like(host), host),
    "stats": isthmus.stats,
    "trim": isthmus.trim,
    "device_empty": lambda: isthmus.device_empty(3),
    "device_name": isthmus.device_name,
    "emulated": emulate,
    "save_safetensors": lambda: isthmus.save_safetensors({{"a": array}}, "unused"),
    "load_safetensors": lambda: isthmus.load_safetensors({file!r}, framework="dlpack"),
    "pinned.empty": lambda: isthmus.pinned.empty(3),
    "pinned.zeros": lambda: isthmus.pinned.zeros(3),
    "pinned.empty_like": lambda: isthmus.pinned.empty_like(host),
    "pinned.stats": isthmus.pinned.stats,
    "window": lambda: isthmus.window(array),
    "Windows": isthmus.Windows,
    "Transfers": lambda: isthmus.Transfers().stats(),
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
    "used", ["isthmus.copy(array, host)", "isthmus.pinned.empty(3)", "isthmus.device_name()"]
)
def test_every_call_that_needs_the_driver_is_refused_and_the_parent_goes_on(
    used: str, tmp_path: Path
) -> None:
    file = str(tmp_path / "a.safetensors")
    before = f"file = {file!r}{_BEFORE}{used}"
    done = run_code(_PROGRAM.format(before=before, file=file), EMULATED)
    assert (done.out, done.err) == ("4950\n", "")


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
    print(isthmus.device_name(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""
    done = run_code(code, EMULATED)
    assert (done.out, done.err) == ("Isthmus Emulated GPU (small link)\n", "")

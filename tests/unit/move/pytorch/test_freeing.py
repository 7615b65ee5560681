"""Tensors that are taken over to be freed: once, and while other threads run."""

import ctypes
import mmap
import signal
import threading

import numpy as np
import pytest

from isthmus import _native

_LIBC = ctypes.CDLL(None)
_NEW_CAPSULE = ctypes.pythonapi.PyCapsule_New
_NEW_CAPSULE.restype = ctypes.py_object
_NEW_CAPSULE.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
# A capsule keeps the pointer of its name.
_NAME = b"dltensor"
# If other threads can run, the wait is over at once.
_SECONDS_UNTIL_IT_IS_INTERRUPTED = 10


class _WaitingTensor(ctypes.Structure):
    """DLPack's struct of a tensor whose deleter waits for the semaphore that lies in it."""

    _fields_ = (
        ("semaphore", ctypes.c_byte * 56),
        ("deleter", ctypes.c_void_p),
    )

    def __init__(self) -> None:
        super().__init__()
        self.deleter = ctypes.cast(_LIBC.sem_wait, ctypes.c_void_p).value
        _LIBC.sem_init(ctypes.byref(self), 0, 0)

    def end_the_wait(self) -> None:
        _LIBC.sem_post(ctypes.byref(self))

    def exported(self) -> object:
        capsule: object = _NEW_CAPSULE(ctypes.addressof(self), _NAME, None)
        return capsule


def test_other_threads_run_while_a_tensor_is_freed() -> None:
    tensor = _WaitingTensor()
    begun = threading.Event()
    interrupted: list[int] = []

    def other() -> None:
        begun.wait()
        tensor.end_the_wait()

    thread = threading.Thread(target=other)
    thread.start()
    before = signal.signal(signal.SIGALRM, lambda number, _: interrupted.append(number))
    signal.alarm(_SECONDS_UNTIL_IT_IS_INTERRUPTED)
    begun.set()
    _native.free_tensor(tensor.exported())
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    thread.join()
    assert not interrupted


def test_a_tensor_is_taken_once() -> None:
    exported = np.zeros(3).__dlpack__()
    _native.free_tensor(exported)
    with pytest.raises(ValueError, match="PyCapsule_GetPointer"):
        _native.free_tensor(exported)


def test_what_is_no_tensor_is_refused() -> None:
    with pytest.raises(TypeError):
        _native.free_tensor(3)


def test_shared_memory_that_somebody_else_holds_keeps_its_bytes() -> None:
    shared = np.frombuffer(mmap.mmap(-1, 8 << 20), np.uint8)
    shared[:] = 5
    _native.free_tensor(shared.__dlpack__())
    _native.free_tensor(shared[::-1].__dlpack__())
    _native.free_tensor(shared[3::2].__dlpack__())
    _native.free_tensor(shared[:0].__dlpack__())
    assert (shared == 5).all()

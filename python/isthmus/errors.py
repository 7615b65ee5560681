"""
The exceptions of Isthmus: one base class, combined with a standard exception where one fits.

The native module raises these same classes, so `except isthmus.DriverError` catches both.
`hint` is one line of advice; the CLI prints it under the error.
"""


class Error(Exception):
    """Base of everything that Isthmus raises on purpose."""

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        """Keep the message and the advice; tracebacks show both."""
        super().__init__(message)
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")


class UsageError(Error, ValueError):
    """The caller's request is impossible; nothing was changed. The message says what is wrong."""


# After these the context is dead and every further call returns the same error. cuda.h says for
# each "leaves the process in an inconsistent state", "destroyed" or "must be destroyed";
# uncorrectable memory and link errors have the same effect.
CODES_THAT_END_A_CONTEXT = frozenset(
    {4, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911}
)


class DriverError(Error, RuntimeError):
    """
    The CUDA driver or NVRTC returned an error code.

    Attributes:
        code: The CUresult (or nvrtcResult) as an integer.
        code_name: Its name, such as "CUDA_ERROR_INVALID_VALUE".
        symbol: The function that returned it, such as "cuMemAlloc".
        memory_in_use: A copy has failed, and the driver can't say whether it has ended. Both arrays
            are kept until the process ends.
    """

    def __init__(
        self,
        message: str,
        *,
        code: int,
        code_name: str,
        symbol: str,
        memory_in_use: bool = False,
        hint: str = "",
    ) -> None:
        """Keep the code, its name, and the function that returned it."""
        super().__init__(message, hint=hint)
        self.code = code
        self.code_name = code_name
        self.symbol = symbol
        self.memory_in_use = memory_in_use


class OutOfDeviceMemory(DriverError, MemoryError):
    """The device, or the host memory that can be pinned, is exhausted."""


class Unavailable(Error, RuntimeError):
    """
    A capability is absent on this machine.

    Attributes:
        capability: What is absent, as a noun: "CUDA driver".
        reason: Why it is absent here.
        needs: What would provide it: "an NVIDIA driver for CUDA 12.2 or later".
    """

    def __init__(
        self, message: str = "", *, capability: str, reason: str, needs: str, hint: str = ""
    ) -> None:
        """Build the message from the parts, unless one is given."""
        text = message or f"{capability} unavailable: {reason} (needs {needs})"
        super().__init__(text, hint=hint)
        self.capability = capability
        self.reason = reason
        self.needs = needs


class CorruptTransfer(Error, RuntimeError):
    """Bytes arrived that were not sent: a copy's target differs from its source."""


class TimedOut(Error, RuntimeError):
    """A stream was held, or a kernel's answer was awaited, past its timeout; nothing waits now."""


class ImpossibleTime(Error, RuntimeError):
    """A measured time is impossible: clocks contradict each other, or a unit is wrong."""


class Deadlock(Error, RuntimeError):
    """A simulated program deadlocks; the message says which parts wait for each other."""


class WriteError(Error, OSError):
    """Something could not be written. A file that existed before still exists."""


class NoDevice(Unavailable):
    """The requested device doesn't exist, or there is no driver to ask."""

    def __init__(self, reason: str, *, needs: str = "a CUDA device", hint: str = "") -> None:
        """Say which device, and why it doesn't exist."""
        super().__init__(reason, capability="CUDA device", reason=reason, needs=needs, hint=hint)


class IsthmusWarning(UserWarning):
    """A fact that a user should see once, without a failure: an untested driver, for instance."""

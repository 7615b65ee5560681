"""
Reads facts from NVIDIA's management library, one at a time.

A fact that isn't available is None, with a note that says why; nothing here raises.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

_ADVICE_NOTE = "no link and clock facts: {}"


class Nvml:
    """One GPU as NVML sees it, during a `with` block."""

    def __init__(self, pci_address: str, library: Any = None) -> None:  # noqa: ANN401 - a module
        """Choose the GPU by its address, such as "0000:01:00.0"."""
        self.notes: list[str] = []
        self._pci_address = pci_address
        self._library = library
        self._handle: Any = None
        self._open = False

    def __enter__(self) -> Self:
        """Open the library and find the GPU."""
        try:
            if self._library is None:
                import pynvml

                self._library = pynvml
            self._library.nvmlInit()
            self._open = True
            self._handle = self._library.nvmlDeviceGetHandleByPciBusId(self._pci_address.encode())
        except Exception as error:  # noqa: BLE001 - whatever it is, it costs facts, not the run
            self.notes.append(_ADVICE_NOTE.format(_text(error)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the library."""
        if self._open:
            self.quietly(lambda nvml: nvml.nvmlShutdown())

    def ask(self, what: str, question: Callable[[Any, Any], Any]) -> Any:  # noqa: ANN401 - NVML's
        """Read one fact about the GPU, by the library and its handle, or note why it is missing."""
        if self._handle is None:
            return None
        try:
            return question(self._library, self._handle)
        except Exception as error:  # noqa: BLE001 - as above
            self.notes.append(f"no {what}: {_text(error)}")
            return None

    def quietly(self, question: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - NVML's
        """Ask the library itself, without a note if it has no answer."""
        try:
            return question(self._library)
        except Exception:  # noqa: BLE001 - as above
            return None


def _text(error: Exception) -> str:
    return str(error) or type(error).__name__

"""As much of PyTorch's streams and events as prefetching takes, with a record of what was done."""

from collections.abc import Callable
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np


class Device:
    """A torch.device."""

    def __init__(self, kind: object, index: int | None = None) -> None:
        if not isinstance(kind, str):
            raise TypeError("no device")
        kind, _, number = kind.partition(":")
        if kind not in {"cuda", "cpu", "mps"}:
            raise RuntimeError(f"no device {kind}")
        self.type = kind
        self.index = int(number) if number else index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


class Tensor:
    """A tensor with a name."""

    def __init__(
        self,
        name: str,
        device: Device,
        *,
        requires_grad: bool = False,
        array: Any = None,  # noqa: ANN401 - of NumPy
    ) -> None:
        self.name = name
        self.device = device
        self.layout = "strided"
        self.is_quantized = False
        self.requires_grad = requires_grad
        self.used_in: list[str] = []
        self.array = np.zeros(1) if array is None else array

    def untyped_storage(self) -> SimpleNamespace:
        return SimpleNamespace(nbytes=lambda: self.array.nbytes)

    def requires_grad_(self) -> "Tensor":
        self.requires_grad = True
        return self

    def record_stream(self, stream: "Stream") -> None:
        self.used_in.append(stream.name)

    def to(self, device: Device, *, copy: bool = False) -> "Tensor":
        assert device == self.device, "only what is there already"
        return Tensor(f"copy of {self.name}", device) if copy else self


class Stream:
    """A stream that writes down what it waits for."""

    def __init__(self, name: str, done: list[str]) -> None:
        self.name = name
        self.cuda_stream = 7
        self._done = done

    def record_event(self) -> "Event":
        return Event(self.name, self._done)

    def wait_event(self, event: "Event") -> None:
        self._done.append(f"{self.name} waits for event of {event.name}")


class Event:
    """An event that writes down who waits for it."""

    def __init__(self, name: str, done: list[str]) -> None:
        self.name = name
        self._done = done

    def synchronize(self) -> None:
        self._done.append(f"the host waits for event of {self.name}")


class Mode:
    """A TorchDispatchMode that sees nothing."""

    def __init__(self, *_: object) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def default_collate(items: Any) -> Any:  # noqa: ANN401
    return items


class DataLoader:
    """One that gives the batches that it was made of."""

    def __init__(
        self,
        batches: Any,  # noqa: ANN401
        num_workers: int = 0,
        collate_fn: Any = default_collate,  # noqa: ANN401
    ) -> None:
        self.batches = batches
        self.num_workers = num_workers
        self.collate_fn = collate_fn

    def __iter__(self) -> Any:  # noqa: ANN401
        return iter(self.batches)

    def __len__(self) -> int:
        return len(self.batches)


class Torch:
    """
    PyTorch.

    Attributes:
        done: What streams did, in order.
        current: The stream in which the consumer works.
        interruptions: What waiting for copies raises first.
        before_copies: Is called before copies are made.
    """

    strided = "strided"
    utils = SimpleNamespace(
        dlpack=SimpleNamespace(to_dlpack=lambda tensor: tensor.array.__dlpack__()),
        data=SimpleNamespace(DataLoader=DataLoader, default_collate=default_collate),
        _python_dispatch=SimpleNamespace(TorchDispatchMode=Mode),
    )
    device = Device
    Tensor = Tensor
    nn = SimpleNamespace(Parameter=type("Parameter", (), {}), Module=type("Module", (), {}))
    optim = SimpleNamespace(Optimizer=type("Optimizer", (), {}))

    def __init__(self, num_devices: int = 2) -> None:
        self.done: list[str] = []
        self.interruptions: list[BaseException] = []
        self.before_copies: Callable[[], object] = lambda: None
        self.current = "consumer"
        self.cuda = SimpleNamespace(
            device_count=lambda: num_devices,
            current_device=lambda: 0,
            current_stream=lambda _device: Stream(self.current, self.done),
            Stream=lambda _device: Stream("uploads", self.done),
            device=self._scope,
            stream=self._scope,
        )

    @contextmanager
    def _scope(self, _what: Any) -> Any:  # noqa: ANN401
        yield

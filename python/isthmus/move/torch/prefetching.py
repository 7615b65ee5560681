"""Uploads the batches of a loader ahead of their use: `isthmus.torch.prefetch`."""

import functools
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from isthmus.errors import UsageError
from isthmus.move.arrays.loaded import loaded_type
from isthmus.move.torch.library import device_of
from isthmus.move.torch.moving import to
from isthmus.move.torch.uploading import Uploads

Batch = TypeVar("Batch")

# Of threads.
_NAME = "isthmus-prefetch"


def prefetch(
    loader: Iterable[Batch], device: object = "cuda", *, depth: int = 2
) -> "Prefetch[Batch]":
    """
    Yield a loader's batches on a GPU, uploaded while earlier batches are in use.

        for images, labels in isthmus.torch.prefetch(loader, device=0):
            ...

    A thread takes the batches from the loader, and frees their host memory without the GIL. The
    copies run in a stream of their own, through reused pinned buffers; `pin_memory=True` isn't
    needed. A batch is yielded when its copies are complete. Its memory is reused after the work
    that the consumer's stream held when the batch was dropped.

    The loader may reuse its buffers: each batch is requested once the previous one is copied, or,
    if that holds objects that aren't copied, such as NumPy's arrays, when the consumer asks for it.
    Batches of a DataLoader with workers, or with PyTorch's collate function, own their memory: the
    next one is requested while a batch is copied.

    Args:
        loader: A DataLoader, or any iterable of batches: tensors in structures as `to` takes them.
            Objects with a method `to` move themselves. Everything else in a batch stays as it is.
            Each iteration restarts the loader.
        device: A GPU's ordinal, "cuda", "cuda:1", or a torch.device. On "cpu" each batch is read
            on request, as `to` returns it.
        depth: How many batches may be on the device or on their way, besides the one in use.

    Returns:
        An iterable, with `len()` if the loader has it. An error of the loader is raised after the
        batches before it. Leaving the loop ends the thread and closes the loader's iterator.
        Several threads may share an iteration: each batch goes to one of them.

    Raises:
        UsageError: There is no such device, or the depth isn't 1 or more. In a loop: `to`
            refuses a batch, or this process was forked from the one that began the loop.
        Unavailable: There is no PyTorch, or no driver.
    """
    _require_depth(depth)
    _require_iterable(loader)
    return Prefetch(loader, device_of(device), depth)


def _require_depth(depth: object) -> None:
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
        raise UsageError(f"depth must be an integer from 1 on, not {depth!r}")


def _require_iterable(loader: object) -> None:
    if not isinstance(loader, Iterable) and not hasattr(loader, "__getitem__"):
        raise UsageError(f"a loader must be iterable, and this {type(loader).__name__} isn't")


class Prefetch(Generic[Batch]):
    """The batches of a loader, on a device. Each `for` begins anew."""

    def __init__(self, loader: Iterable[Batch], device: Any, depth: int) -> None:  # noqa: ANN401
        """Read nothing yet; the arguments are those of `prefetch`."""
        self._loader = loader
        self._device = device
        self._depth = depth

    def __iter__(self) -> "Batches[Batch]":
        """Begin an iteration of the loader."""
        batches = iter(self._loader)
        if self._device.type == "cpu":
            moved = map(functools.partial(to, device="cpu"), batches)
            return Batches(moved, getattr(batches, "close", None))
        fresh = _gives_fresh_batches(self._loader)
        uploads = Uploads(batches, self._device, self._depth, _NAME, fresh=fresh)
        return Batches(uploads, uploads.close)

    def __len__(self) -> int:
        """Give the loader's length."""
        return len(self._loader)  # type: ignore[arg-type] # or the loader's own TypeError


def _gives_fresh_batches(loader: object) -> bool:
    """Tell whether a loader is known to fill no memory again that a batch is in."""
    data = loaded_type("torch", "utils.data")
    return (
        data is not None
        and isinstance(loader, data.DataLoader)
        and type(loader).__iter__ is data.DataLoader.__iter__
        and (loader.num_workers > 0 or loader.collate_fn is data.default_collate)
    )


class Batches(Generic[Batch]):
    """One iteration of a loader."""

    def __init__(self, batches: Any, close: Callable[[], None] | None) -> None:  # noqa: ANN401
        """Take what moves the batches, and what closes their source."""
        self._batches = batches
        self._close = close
        self._process = os.getpid()
        self._using = threading.RLock()

    def __iter__(self) -> "Batches[Batch]":
        """Give itself: it is an iterator."""
        return self

    def __next__(self) -> Batch:
        """Give the next batch; work in the current stream comes after its copies."""
        if os.getpid() != self._process:
            raise UsageError(
                "this loop over prefetch() belongs to the process that this one was forked from",
                hint="begin a loop of its own in each process",
            )
        with self._using:
            batch: Batch = next(self._batches)
            return batch

    def close(self) -> None:
        """End the iteration; the batches that are ready are dropped."""
        if os.getpid() == self._process:
            with self._using:
                self._batches, close, self._close = iter(()), self._close, None
                if close is not None:
                    close()

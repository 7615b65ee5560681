"""Uploads the batches of a loader ahead of their use: `isthmus.torch.prefetch`."""

from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from isthmus.errors import UsageError
from isthmus.torch.ahead import Ahead
from isthmus.torch.library import device_of
from isthmus.torch.uploading import Uploads

Batch = TypeVar("Batch")

# Of threads.
_NAME = "isthmus-prefetch"


def prefetch(
    loader: Iterable[Batch], device: object = "cuda", *, depth: int = 2
) -> "Prefetch[Batch]":
    """
    Give a loader's batches on a GPU, uploaded while the batches before them are in use.

        for images, labels in isthmus.torch.prefetch(loader, device=0):
            ...

    A thread takes the batches from the loader, one ahead, and frees their host memory without the
    GIL. Asking for a batch begins the copies of those that come after it, in a stream of their own
    and through pinned buffers that are reused; `pin_memory=True` isn't needed. A batch is given
    when its copies are complete. Its memory is reused when the work that was in the consumer's
    stream when the batch was dropped is complete.

    Args:
        loader: A DataLoader, or any iterable of batches: tensors in mappings, lists, tuples, named
            tuples and dataclasses, nested in any way. Everything else in a batch stays as it is.
            Each iteration begins one of the loader's.
        device: A GPU's ordinal, "cuda", "cuda:1", or a torch.device. On "cpu" the batches are read
            ahead, and not copied.
        depth: How many batches may be on the device or on their way there, besides the one in use.

    Returns:
        An iterable, with `len()` if the loader has it. An error of the loader is raised after the
        batches before it. Leaving the loop ends the thread, and closes the loader's iterator.

    Raises:
        UsageError: There is no such device, or the depth isn't 1 or more.
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
        """
        Read nothing yet.

        Args:
            loader: As for `prefetch`.
            device: A torch.device.
            depth: As for `prefetch`.
        """
        self._loader = loader
        self._device = device
        self._depth = depth

    def __iter__(self) -> "Batches[Batch]":
        """Begin an iteration of the loader."""
        return Batches(iter(self._loader), self._device, self._depth)

    def __len__(self) -> int:
        """Give the loader's length."""
        return len(self._loader)  # type: ignore[arg-type] # or the loader's own TypeError


class Batches(Generic[Batch]):
    """One iteration of a loader, some batches ahead."""

    def __init__(self, batches: Iterator[Batch], device: Any, depth: int) -> None:  # noqa: ANN401
        """Begin to read."""
        self._batches = (
            Ahead(batches, _as_it_is, depth=depth, name=_NAME)
            if device.type == "cpu"
            else Uploads(batches, device, depth, _NAME)
        )

    def __iter__(self) -> "Batches[Batch]":
        """Give itself: it is an iterator."""
        return self

    def __next__(self) -> Batch:
        """Give the next batch; work in the current stream comes after its copies."""
        batch: Batch = next(self._batches)
        return batch

    def close(self) -> None:
        """End the iteration; the batches that are ready are dropped."""
        self._batches.close()


def _as_it_is(batch: Batch) -> Batch:
    return batch

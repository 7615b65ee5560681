"""Uploads the batches of a loader ahead of their use: `isthmus.torch.prefetch`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from isthmus.errors import UsageError
from isthmus.ranges import part
from isthmus.torch.ahead import Ahead
from isthmus.torch.freeing import UsedTensors
from isthmus.torch.library import device_of, torch_module
from isthmus.torch.moving import Twin, is_plain, twin_of
from isthmus.torch.nesting import changed
from isthmus.transfer.copying import default_transfers

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

    A thread takes the batches from the loader, and copies their tensors in a stream of its own,
    through pinned buffers that are reused; `pin_memory=True` isn't needed. It frees their host
    memory without the GIL. A batch is given when its copies are complete. Its memory is reused when
    the work that was in the consumer's stream when the batch was dropped is complete.

    Args:
        loader: A DataLoader, or any iterable of batches: tensors in mappings, lists, tuples, named
            tuples and dataclasses, nested in any way. Everything else in a batch stays as it is.
            Each iteration begins one of the loader's.
        device: A GPU's ordinal, "cuda", "cuda:1", or a torch.device. On "cpu" the batches are read
            ahead, and not copied.
        depth: How many batches may be ready or under way, besides the one in use. Device memory is
            needed for each.

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


@dataclass(frozen=True, slots=True)
class _Uploaded:
    """
    A batch on its device.

    Attributes:
        batch: What the consumer gets.
        tensors: Those of it that are on the device.
        events: After these what the loader made on a device is there; none if it made nothing.
    """

    batch: Any
    tensors: list[Any]
    events: list[Any]


class Batches(Generic[Batch]):
    """One iteration of a loader, some batches ahead."""

    def __init__(self, batches: Iterator[Batch], device: Any, depth: int) -> None:  # noqa: ANN401
        """Begin to read and to upload."""
        self._device = device
        if device.type == "cpu":
            self._ahead = Ahead(batches, _as_it_is, depth=depth, name=_NAME)
        else:
            uploader = _Uploader(device)
            clear = uploader.used.free
            self._ahead = Ahead(batches, uploader.upload, depth=depth, name=_NAME, clear=clear)

    def __iter__(self) -> "Batches[Batch]":
        """Give itself: it is an iterator."""
        return self

    def __next__(self) -> Batch:
        """Give the next batch; work in the current stream comes after its copies."""
        with part("prefetch: wait for a batch"):
            uploaded = next(self._ahead)
        if uploaded.tensors:
            stream = torch_module().cuda.current_stream(self._device)
            for event in uploaded.events:
                stream.wait_event(event)
            for tensor in uploaded.tensors:
                # The allocator knows only the stream of the copies.
                tensor.record_stream(stream)
        batch: Batch = uploaded.batch
        return batch

    def close(self) -> None:
        """End the iteration; the batches that are ready are dropped."""
        self._ahead.close()


def _as_it_is(batch: Any) -> _Uploaded:  # noqa: ANN401
    return _Uploaded(batch, [], [])


class _Uploader:
    """
    Copies batches to a device, in a stream of its own. Used by one thread.

    Attributes:
        used: The tensors on the host that were copied.
    """

    def __init__(self, device: Any) -> None:  # noqa: ANN401 - a torch.device
        self._cuda = torch_module().cuda
        self._device = device
        self._stream = self._cuda.Stream(device)
        self._transfers = default_transfers()
        self._tensors: list[Any] = []
        # What is to be copied, and whether it requires gradients then.
        self._twins: list[tuple[Twin, bool]] = []
        self._is_theirs = False
        self.used = UsedTensors()

    def upload(self, batch: Any) -> _Uploaded:  # noqa: ANN401
        """Copy a batch's tensors; complete on return."""
        self._tensors, self._twins = [], []
        self._is_theirs = False
        loaders_stream = self._cuda.current_stream(self._device)
        with (
            part("prefetch: upload"),
            self._cuda.device(self._device),
            self._cuda.stream(self._stream),
        ):
            uploaded = changed(batch, self._add_tensor, "batch")
            self._copy()
        # The consumer alone decides how long the batch lives.
        tensors, self._tensors = self._tensors, []
        streams = [loaders_stream, self._stream] if self._is_theirs else []
        return _Uploaded(uploaded, tensors, [stream.record_event() for stream in streams])

    def _copy(self) -> None:
        twins, self._twins = self._twins, []
        if twins:
            self._transfers.copy(
                [twin.target for twin, _ in twins],
                [twin.source for twin, _ in twins],
                stream=self._stream.cuda_stream,
            )
        for twin, requires_grad in twins:
            self.used.add(twin.source)
            if requires_grad:
                twin.tensor.requires_grad_()

    def _add_tensor(self, tensor: Any, path: str) -> Any:  # noqa: ANN401
        if not is_plain(tensor):
            raise UsageError(
                f"{path} is a {type(tensor).__name__} of layout {tensor.layout} on "
                f"{tensor.device}: only tensors with strides can be uploaded",
                hint="let the loader convert it, or wrap it in an object of another type and "
                "move it yourself",
            )
        if tensor.device.type == "cpu":
            twin = twin_of(tensor, self._device)
            self._twins.append((twin, tensor.requires_grad))
            found = twin.tensor
        else:
            # The loader made it on a device, in its own stream.
            self._is_theirs = True
            found = tensor.to(self._device)
        self._tensors.append(found)
        return found

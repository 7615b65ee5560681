"""Uploads what an iterator gives, some batches ahead of their use."""

import contextlib
import operator
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from isthmus.errors import UsageError
from isthmus.ground.ranges import part
from isthmus.move.torch.ahead import END, Ahead, Failure, NothingYet
from isthmus.move.torch.freeing import UsedTensors, export
from isthmus.move.torch.library import torch_module
from isthmus.move.torch.moving import Twin, is_plain, sent, twin_of
from isthmus.move.torch.nesting import Path, changed, has_method, recording
from isthmus.move.transfer.copying import default_transfers
from isthmus.move.transfer.future import CopyFuture


class _Read(NamedTuple):
    """A batch that the loader gave, and the stream that its work on a device is in."""

    batch: Any
    stream: Any
    is_lent: bool = False


class _Upload:
    """A batch on its way to its device."""

    def __init__(self, future: CopyFuture | None, twins: list[tuple[Twin, bool]]) -> None:
        """Hold what is being copied, and whether it requires gradients then."""
        self._future = future
        self._twins = twins
        self.batch: Any = None
        """What the consumer gets."""
        self.tensors: list[Any] = []
        """Those of it that are on the device, and objects that have some."""
        self.events: list[Any] = []
        """After these what the loader made on a device is there; none if it made nothing."""
        self.is_lent = False
        """Whether it holds objects that the loader may change when it is asked for the next."""

    def wait(self, used: UsedTensors) -> None:
        """Wait for the copies; what they copied is used then."""
        if self._future is not None:
            self._future.result()
        self._future = None
        for tensor in [twin.tensor for twin, requires_grad in self._twins if requires_grad]:
            tensor.requires_grad_()
        exported = [export(twin.source) for twin, _ in self._twins]
        # Whoever lets go last frees the memory. Let that be the thread that reads.
        self._twins.clear()
        for each in exported:
            if each is not None:
                used.add(each)


class Uploads:
    """
    The batches of an iterator, on a device. A thread reads them. If they are fresh, it reads one
    ahead, and the consumer's begins the copies: a thread that does both takes the GIL some ten
    times more for each batch, and each time the consumer, which launches kernels, sleeps until it
    has it back. Else the one does both.
    """

    def __init__(
        self,
        batches: Iterator[Any],
        device: Any,  # noqa: ANN401
        depth: int,
        name: str,
        *,
        fresh: bool,
    ) -> None:
        """
        Begin to read; `depth` batches may be on the GPU, or on their way there. The iterator is the
        thread's alone; if it is fresh, it never fills memory again that it has given.
        """
        self._device = device
        self._depth = depth if fresh else 0
        self._begun: deque[Any] = deque()  # uploads, and in the place of some Failure or END
        self._taken: Any = None  # read, and not among the begun ones: Ctrl-C came between
        self._used = UsedTensors()
        self._uploader = _Uploader(device, self._used, keeps=fresh)
        self._read = Ahead(
            batches,
            self._uploader.note if fresh else self._uploader.complete,
            depth=1 if fresh else depth,
            name=name,
            clear=self._used.free,
            is_lent=operator.attrgetter("is_lent"),
        )

    def __next__(self) -> Any:  # noqa: ANN401
        """Give the next batch; work in the current stream comes after its copies."""
        self._begin_those_read()
        with part("prefetch: wait for a batch"):
            if not self._begun:
                self._begin(wait=True)
            upload = self._first()
        # While the consumer uses this one, those that come after it are copied.
        self._begin_those_read()
        self._hand_over(upload)
        return upload.batch

    def close(self) -> None:
        """Stop reading; copies under way keep what they need until they end."""
        self._read.close()
        self._begun.clear()

    def _first(self) -> _Upload:
        """Take what was begun first. Ctrl-C leaves it here."""
        first = self._begun[0]
        if isinstance(first, _Upload):
            try:
                first.wait(self._used)
            except Exception:
                self._begun.popleft()
                raise
        self._begun.popleft()
        if first is END:
            raise StopIteration
        if isinstance(first, Failure):
            try:
                raise first.error
            finally:
                # Else the error would hold itself, and by its frames the consumer's tensors, until
                # the garbage is collected: a process forked by then aborts, as it has no CUDA.
                del first
        upload: _Upload = first
        return upload

    def _begin_those_read(self) -> None:
        while len(self._begun) < self._depth and self._begin(wait=False):
            pass

    def _begin(self, *, wait: bool) -> bool:
        """Begin the upload of the next batch. False if there was none, or in its place an error."""
        if self._taken is None:
            try:
                taken = self._read.take(wait=wait)
            except NothingYet:
                return False
            if taken is END or isinstance(taken, Failure):
                self._begun.append(taken)
                return False
            self._taken = taken
        try:
            taken = self._taken
            self._begun.append(taken if isinstance(taken, _Upload) else self._uploader.begin(taken))
        except Exception as error:  # noqa: BLE001 - raised in its batch's place
            # Its frames hold this, which holds it.
            self._begun.append(Failure(error.with_traceback(None)))
        self._taken = None
        return isinstance(self._begun[-1], _Upload)

    def _hand_over(self, upload: _Upload) -> None:
        if not upload.tensors:
            return
        stream = torch_module().cuda.current_stream(self._device)
        for event in upload.events:
            stream.wait_event(event)
        for tensor in upload.tensors:
            # The allocator knows only the stream of the copies.
            with contextlib.suppress(NotImplementedError):  # an object with sparse tensors
                tensor.record_stream(stream)


class _Uploader:
    """Copies batches to a device, in a stream of its own; used by one thread."""

    def __init__(self, device: Any, used: UsedTensors, *, keeps: bool) -> None:  # noqa: ANN401
        """Make the stream; with `keeps`, what is on the device already needs no copy."""
        self._cuda = torch_module().cuda
        self._device = device
        self._used = used
        self._keeps = keeps
        self._stream = self._cuda.Stream(device)
        self._transfers = default_transfers()
        self._tensors: list[Any] = []
        self._twins: list[tuple[Twin, bool]] = []
        self._is_theirs = False

    def note(self, batch: Any) -> _Read:  # noqa: ANN401
        """Say in which stream the thread that reads works."""
        return _Read(batch, self._cuda.current_stream(self._device))

    def complete(self, batch: Any) -> _Upload:  # noqa: ANN401
        """Copy a batch, and wait until that is done."""
        upload = self.begin(self.note(batch))
        upload.wait(self._used)
        for event in upload.events:
            event.synchronize()
        return upload

    def begin(self, read: _Read) -> _Upload:
        """Begin to copy a batch's tensors."""
        self._tensors, self._twins = [], []
        self._is_theirs = False
        self._theirs = read.stream
        with (
            part("prefetch: begin an upload"),
            self._cuda.device(self._device),
            self._cuda.stream(self._stream),
        ):
            batch, is_new = changed(read.batch, self._add_tensor, self._add_movable, "batch")
            upload = self._copying()
        upload.batch, upload.is_lent = batch, not is_new
        # The consumer alone decides how long the batch lives.
        upload.tensors, self._tensors = self._tensors, []
        streams = [read.stream, self._stream] if self._is_theirs else []
        upload.events = [stream.record_event() for stream in streams]
        return upload

    def _copying(self) -> _Upload:
        twins, self._twins = self._twins, []
        if not twins:
            return _Upload(None, twins)
        future = self._transfers.copy_async(
            [twin.target for twin, _ in twins],
            [twin.source for twin, _ in twins],
            stream=self._stream.cuda_stream,
            source_order="stream",
        )
        return _Upload(future, twins)

    def _add_tensor(self, tensor: Any, path: Path) -> Any:  # noqa: ANN401
        if not is_plain(tensor):
            raise UsageError(
                f"{path()} is a {type(tensor).__name__} of layout {tensor.layout} on "
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
            if not self._keeps:
                self._stream.wait_event(self._theirs.record_event())
            found = tensor.to(self._device, copy=not self._keeps)
        self._tensors.append(found)
        return found

    def _add_movable(self, value: Any, _path: Path) -> Any:  # noqa: ANN401
        self._is_theirs = True
        with recording(self._tensors, self._device):
            found = sent(value, self._device, non_blocking=True)
        if has_method(found, "record_stream"):
            self._tensors.append(found)
        return found

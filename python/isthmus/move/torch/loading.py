"""Loads the files of `torch.save` by PyTorch's own loader: `load_pt`."""

import os
import pickle
import zipfile
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.errors import Error, UsageError
from isthmus.files.regular import AnyPath, open_regular, path_of
from isthmus.ground.spelling import shortened
from isthmus.move.arrays.streams import stream_handle
from isthmus.move.safetensors.frameworks import Block
from isthmus.move.safetensors.layout import Stretch, fill
from isthmus.move.safetensors.mistaken import LONGEST_SIGN, refuse_other_formats
from isthmus.move.torch.bounds import require_bounded
from isthmus.move.torch.library import device_of, torch_module
from isthmus.move.transfer.copying import default_transfers

if TYPE_CHECKING:
    from isthmus.move.arrays.accepted import StreamLike

_ZIP_MAGIC = b"PK\x03\x04"
# A file of before PyTorch 1.6 begins with as many pickles.
_LEGACY_PICKLES = 5
_MOST_LEGACY_BYTES = 64 << 20
# Entries of more bytes than this many times the file's are compressed, or lie over each other.
_MOST_GROWTH = 16
# Storages of up to so many bytes are read at once, with what lies between them: their headers.
_MOST_GROUP_BYTES = 512 << 20
_MOST_GAP_BYTES = 4096


def load_pt(
    path: AnyPath,
    device: object = 0,
    *,
    framework: str = "torch",
    stream: "StreamLike | None" = None,
) -> Any:  # noqa: ANN401 - whatever was saved
    """
    Load a file of `torch.save` onto a device: as `torch.load(weights_only=True)`, but faster.

    PyTorch reads the pickle and decides what is allowed, also through
    `torch.serialization.safe_globals`. Isthmus copies only the storages' bytes, at the speed of the
    page cache or the disk, each storage once; meanwhile up to 512 MiB more of the GPU's memory are
    in use. All bytes have arrived when this returns.

    Args:
        path: The file.
        device: The GPU's ordinal, "cuda", "cuda:1", "cpu", or a torch.device, regardless of where
            the tensors were saved.
        framework: "torch" alone. Other libraries take the tensors through DLPack.
        stream: The copies begin after the work in this stream; None is PyTorch's current stream, in
            whose order it allocated the memory.

    Returns:
        The object of `torch.load(path, map_location=device, weights_only=True)`.

    Raises:
        UsageError: The file doesn't exist, PyTorch refuses it, or reading it would take far more
            work than its bytes. The message names the file and gives PyTorch's reason.
        DriverError: A copy failed.
        Unavailable: There is no PyTorch.
    """
    if framework != "torch":
        raise UsageError(
            f"framework {framework!r}: load_pt gives PyTorch's objects alone",
            hint="other libraries take their tensors by DLPack: cupy.from_dlpack(tensor)",
        )
    torch, where, file = torch_module(), device_of(device), path_of(path)
    order = None if stream is None else stream_handle(stream)
    try:
        with open_regular(file) as opened:
            return _loaded(torch, opened, file, where, order)
    except (Error, torch.cuda.OutOfMemoryError):
        raise
    except OSError as error:
        raise UsageError(f"{file}: can't be opened: {error.strerror or error}") from None
    except Exception as error:  # noqa: BLE001 - a damaged file can raise anything
        reason = shortened(_said(error), most=400)
        raise UsageError(f"{file}: PyTorch can't load it: {reason}") from None


def _said(error: Exception) -> str:
    """Give the line that says why, of PyTorch's advice around it and the C++ frames below it."""
    told = str(error).partition("\n\nCheck the documentation")[0]
    told = told.rsplit("WeightsUnpickler error: ", 1)[-1].rsplit("\n\n", 1)[-1]
    return next(iter(told.strip().splitlines()), type(error).__name__)


def _loaded(torch: Any, opened: FileIO, file: Path, where: Any, stream: int | None) -> Any:  # noqa: ANN401
    plain = {"map_location": where, "weights_only": True}
    same = f"/proc/self/fd/{opened.fileno()}"  # another file may get the name meanwhile
    start = os.pread(opened.fileno(), LONGEST_SIGN, 0)
    if not start.startswith((_ZIP_MAGIC, pickle.PROTO)):
        refuse_other_formats(start, str(file), "a file of torch.save")
        raise UsageError(f"{file}: not a file of torch.save{'' if start else ': it is empty'}")
    if not start.startswith(_ZIP_MAGIC):
        contents = opened.read(_MOST_LEGACY_BYTES)
        are_whole = require_bounded(contents, str(file), pickles=_LEGACY_PICKLES)
        if not are_whole and len(contents) == _MOST_LEGACY_BYTES:
            raise UsageError(
                f"{file}: neither a zip archive nor pickles of less than {_MOST_LEGACY_BYTES} bytes"
            )
        return torch.load(same, **plain)
    archive = torch._C.PyTorchFileReader(same)
    records = _records(archive, opened, file)
    require_bounded(archive.get_record("data.pkl"), str(file))
    skips = getattr(torch.serialization._serialization_tls, "skip_data", False)
    if records is None or skips or _is_swapped(torch, archive):
        return torch.load(same, **plain)
    mover = _Mover(torch, where, opened, file, records, stream)
    try:
        found = torch.load(same, mmap=True, map_location=mover, weights_only=True)
    except RuntimeError as error:
        # Tensors whose device isn't their storage's are made for a map_location by name alone.
        if "allable map_location" not in str(error):
            raise
        return torch.load(same, **plain)
    mover.require_unchanged()
    return found


def _records(archive: Any, opened: FileIO, file: Path) -> dict[int, int] | None:  # noqa: ANN401
    """Give the storages' sizes by their offsets, or None if any isn't stored as it is."""
    with zipfile.ZipFile(opened) as listed:
        entries = listed.infolist()
    if sum(entry.file_size for entry in entries) > _MOST_GROWTH * os.fstat(opened.fileno()).st_size:
        raise UsageError(f"{file}: its entries have {_MOST_GROWTH} times as many bytes as the file")
    found: dict[int, int] = {}
    for entry in entries:
        name = entry.filename.partition("/")[2]
        if not name.startswith("data/"):
            continue
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            return None
        if os.pread(opened.fileno(), len(_ZIP_MAGIC), entry.header_offset) != _ZIP_MAGIC:
            raise UsageError(f"{file}: entry '{shortened(name)}' has no header: it is damaged")
        found[archive.get_record_offset(name)] = entry.file_size
    return found


def _is_swapped(torch: Any, archive: Any) -> bool:  # noqa: ANN401
    """Tell whether PyTorch changes the bytes' order after reading."""
    if archive.has_record("byteorder"):
        return bool(archive.get_record("byteorder") != b"little")
    loading = torch.serialization
    return bool(loading.get_default_load_endianness() is loading.LoadEndianness.BIG)


def groups_of(records: Mapping[int, int]) -> list[list[tuple[int, int]]]:
    """Part offsets and sizes into groups, whose bytes lie side by side and are read at once."""
    groups: list[list[tuple[int, int]]] = []
    end = 0
    for offset, size_bytes in sorted(records.items()):
        if not size_bytes:
            continue
        is_near = groups and 0 <= offset - end <= _MOST_GAP_BYTES
        end = offset + size_bytes
        if is_near and end - groups[-1][0][0] <= _MOST_GROUP_BYTES:
            groups[-1].append((offset, size_bytes))
        else:
            groups.append([(offset, size_bytes)])
    return groups


class _Mover:
    """Gives `torch.load` a storage of the device for each one of the mapped file."""

    def __init__(
        self,
        torch: Any,  # noqa: ANN401
        where: Any,  # noqa: ANN401
        opened: FileIO,
        file: Path,
        records: dict[int, int],
        stream: int | None,
    ) -> None:
        self._torch = torch
        self._where = where
        self._descriptor = opened.fileno()
        self._file = file
        self._records = records
        self._stream = stream
        self._allocated_in = 0
        if where.type == "cuda":
            self._allocated_in = torch.cuda.current_stream(where).cuda_stream
        self._transfers = default_transfers()
        self._mapping = range(0)
        self._first_offset = 0
        self._on_gpu: dict[int, Any] = {}
        self._given: list[tuple[Any, int]] = []

    def __call__(self, storage: Any, _location: str) -> Any:  # noqa: ANN401
        """Give the storage; at the first call, bring all of them to a GPU."""
        size_bytes, offset = storage.nbytes(), self._offset(storage.data_ptr())
        if self._records.get(offset) != size_bytes:
            raise UsageError(
                f"{self._file}: the storage at byte {offset} has {self._records.get(offset)} "
                f"bytes, and not the {size_bytes} that the pickle says: the file is damaged"
            )
        if self._where.type == "cpu":
            given = self._on_host(storage)
        elif size_bytes:
            if not self._on_gpu:
                self._bring_all()
            given = self._on_gpu[offset]
        else:
            given = self._empty(0).untyped_storage()
        self._given.append((given, size_bytes))
        return given

    def require_unchanged(self) -> None:
        """Refuse a tensor beyond its storage: PyTorch has made the storage longer for it."""
        for given, size_bytes in self._given:
            if given.nbytes() != size_bytes:
                raise UsageError(
                    f"{self._file}: a tensor has items outside of its storage of {size_bytes} bytes"
                )

    def _on_host(self, storage: Any) -> Any:  # noqa: ANN401
        target = self._empty(storage.nbytes())
        try:
            self._transfers.copy(target, self._torch.empty_like(target[:0]).set_(storage))
        except UsageError as error:
            raise UsageError(f"{self._file}: {error}") from None
        return target.untyped_storage()

    def _bring_all(self) -> None:
        """Read each group at once, and part it on the GPU: to begin a copy takes far longer."""
        for group in groups_of(self._records):
            targets = [self._empty(size_bytes) for _, size_bytes in group]
            first, end = group[0][0], sum(group[-1])
            if len(group) == 1:
                self._read(targets[0], first)
            else:
                whole = self._empty(end - first)
                self._read(whole, first)
                parts = [whole[offset - first : offset - first + size] for offset, size in group]
                self._transfers.copy(targets, parts)
            for (offset, _), target in zip(group, targets, strict=True):
                self._on_gpu[offset] = target.untyped_storage()

    def _empty(self, size_bytes: int) -> Any:  # noqa: ANN401
        return self._torch.empty(size_bytes, dtype=self._torch.uint8, device=self._where)

    def _read(self, target: Any, first: int) -> None:  # noqa: ANN401
        fill(
            Block(target, target.data_ptr(), self._allocated_in),
            [Stretch(target=0, first=first, size_bytes=target.nbytes)],
            self._descriptor,
            self._file,
            self._transfers,
            device=self._where.index,
            stream=self._stream,
        )

    def _offset(self, address: int) -> int:
        """Find the offset in the file of an address in PyTorch's mapping of it."""
        if address not in self._mapping:
            for line in Path("/proc/self/maps").read_text("utf-8", "replace").splitlines():
                place, _, offset, *_ = line.split(maxsplit=3)
                first, end = (int(text, 16) for text in place.split("-"))
                if first <= address < end:
                    self._mapping, self._first_offset = range(first, end), int(offset, 16)
                    break
        return address - self._mapping.start + self._first_offset

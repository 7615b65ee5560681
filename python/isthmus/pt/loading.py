"""Loads the files of `torch.save`: `load_pt`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.arrays.ordinals import ordinal_of
from isthmus.arrays.streams import stream_handle
from isthmus.errors import UsageError
from isthmus.files.regular import AnyPath, open_regular, path_of
from isthmus.pt.archive import Archive, read_archive
from isthmus.pt.making import Checker, TensorMaker
from isthmus.pt.pickles import read_pickle
from isthmus.pt.storages import lay_out
from isthmus.safetensors.blocks import fill
from isthmus.safetensors.frameworks import framework_of
from isthmus.transfer.copying import default_transfers

if TYPE_CHECKING:
    from isthmus.arrays.accepted import StreamLike


def load_pt(
    path: AnyPath,
    device: int | str = 0,
    *,
    framework: str = "torch",
    stream: "StreamLike | None" = None,
) -> Any:  # noqa: ANN401 - whatever was saved
    """
    Load a file of `torch.save` into GPU memory, at the speed of the page cache or of the disk.

    The file is checked before memory is allocated, and nothing in it is run: only tensors,
    parameters and plain containers are loaded, as by `torch.load(weights_only=True)`. All tensors
    are views of one block of the framework's own memory, which lives as long as any of them;
    tensors that shared memory share it again. All bytes have arrived when this returns.

    Args:
        path: The file: a zip archive, as PyTorch writes since version 1.6.
        device: The GPU's ordinal, or "cuda:ORDINAL", wherever the tensors were saved.
        framework: "torch", "cupy", or "dlpack": objects with `__dlpack__`, in memory of the
            driver. Without PyTorch, parameters are tensors, and a dtype is its name.
        stream: The copies begin after the work in this stream; None is the framework's current
            stream, in whose order it allocated the memory.

    Returns:
        What was saved, with its tensors on the device: a state dict, for instance.

    Raises:
        UsageError: The file doesn't exist, isn't one of `torch.save`, is damaged, has something
            else than tensors and containers, or a type that the framework doesn't have. The message
            names the file, and what was found.
        Unavailable: The framework isn't installed, or there is no driver.
    """
    file = path_of(path)
    transfers = default_transfers()
    ordinal = ordinal_of(device, transfers.driver)
    order = None if stream is None else stream_handle(stream)
    target = framework_of(framework, ordinal, transfers.driver)
    try:
        opened = open_regular(file)
    except OSError as error:
        raise UsageError(f"{file}: can't be opened: {error.strerror}") from None
    with opened:
        archive = _archive(opened, file)
        checker = Checker(target, str(file))
        read_pickle(archive.pickle, archive.storages, str(file), checker)
        layout = lay_out(checker.storages.items())
        block = target.allocate(layout.size_bytes)
        fill(block, layout.runs, opened.fileno(), file, transfers, device=ordinal, stream=order)
        maker = TensorMaker(target, block, layout.places)
        return read_pickle(archive.pickle, archive.storages, str(file), maker, checked=True)


def _archive(opened: Any, file: Path) -> Archive:  # noqa: ANN401 - a FileIO
    try:
        return read_archive(opened, str(file))
    except OSError as error:
        raise UsageError(f"{file}: can't be read: {error.strerror}") from None

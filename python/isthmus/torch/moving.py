"""Moves tensors and modules between the host and GPUs: `isthmus.torch.to`."""

from typing import Any, NamedTuple

from isthmus.torch.library import device_of, torch_module
from isthmus.torch.nesting import changed
from isthmus.transfer.copying import default_transfers


def to(value: Any, device: object = "cuda") -> Any:  # noqa: ANN401 - a module or a structure
    """
    Move a module, a tensor, or the tensors of a nested structure to a device.

    Copies between the host and a GPU are made by `isthmus.copy`: from pageable memory several times
    as fast as by PyTorch. All other moves are PyTorch's. Complete when this returns; the copies
    begin after the work in PyTorch's current stream. Layouts without gaps are kept (channels_last).

    Args:
        value: A `torch.nn.Module`: its parameters and buffers are moved in place, as by
            `Module.to`. A tensor, or a structure of mappings, lists, tuples and dataclasses (a
            state dict, for instance): a new one is made. Tensors that are there already stay.
        device: A GPU's ordinal, "cuda", "cuda:1", "cpu", or a torch.device.

    Returns:
        The module, or what was made.

    Raises:
        UsageError: There is no such device.
        DriverError: A copy failed.
        Unavailable: There is no PyTorch, or no driver.
    """
    torch = torch_module()
    where = device_of(device)
    if isinstance(value, torch.nn.Module):
        # Module.to() does the same: this visits buffers, gradients and what modules cache of them.
        return value._apply(lambda tensor: moved(tensor, where))  # noqa: SLF001
    return changed(value, lambda tensor, _path: moved(tensor, where), "value")


def moved(tensor: Any, device: Any) -> Any:  # noqa: ANN401 - of PyTorch
    """Give a tensor on a device: itself if it is there, or a copy."""
    if tensor.device == device:
        return tensor
    crosses = tensor.device.type != device.type
    if not crosses or not is_plain(tensor) or is_recorded(tensor):
        return tensor.to(device)
    twin = twin_of(tensor, device)
    default_transfers().copy(twin.target, twin.source)
    return twin.tensor


class Twin(NamedTuple):
    """
    A tensor that has yet to be filled.

    Attributes:
        tensor: The new one.
        target: What is to be filled: the new one, or its bytes.
        source: What fills it.
    """

    tensor: Any
    target: Any
    source: Any


def twin_of(tensor: Any, device: Any) -> Twin:  # noqa: ANN401 - of PyTorch
    """
    Allocate a tensor like a plain one on another device.

    Each operation of PyTorch releases the GIL, and a thread that wants it back stops another one:
    so only what a tensor needs is called.

    Args:
        tensor: `is_plain`; on the host if the device is a GPU, on a GPU if it is the host.
        device: A torch.device.
    """
    torch = torch_module()
    source = tensor.detach() if tensor.requires_grad else tensor
    if source.dtype.is_complex:
        source = source.resolve_conj()
    if source.is_neg():
        source = source.resolve_neg()
    target = torch.empty_like(source, device=device)
    if target.stride() != source.stride():  # the source has gaps
        source = source.contiguous()
        target = torch.empty(source.shape, dtype=source.dtype, device=device)
    if source.dtype.is_floating_point and source.dtype.itemsize == 1:
        # Not every version of PyTorch exports these by DLPack.
        return Twin(target, target.view(torch.uint8), source.view(torch.uint8))
    return Twin(target, target, source)


def is_plain(tensor: Any) -> bool:  # noqa: ANN401 - of PyTorch
    """Tell whether a tensor is one block of bytes to PyTorch, and not wrapped by another type."""
    torch = torch_module()
    kinds = {torch.Tensor, torch.nn.Parameter, getattr(torch.nn, "Buffer", torch.Tensor)}
    return (
        type(tensor) in kinds
        and tensor.layout == torch.strided
        and tensor.device.type in {"cpu", "cuda"}
        and not tensor.is_quantized
    )


def is_recorded(tensor: Any) -> bool:  # noqa: ANN401 - of PyTorch
    """Tell whether autograd would record a copy of a tensor."""
    return bool(tensor.requires_grad) and torch_module().is_grad_enabled()

"""Moves tensors and modules between the host and GPUs: `isthmus.torch.to`."""

import contextlib
from typing import Any, NamedTuple

from isthmus.move.torch.library import device_of, torch_module
from isthmus.move.torch.nesting import changed
from isthmus.move.transfer.copying import default_transfers


def to(value: Any, device: object = "cuda") -> Any:  # noqa: ANN401 - a module or a structure
    """
    Move a module, an optimizer, a tensor, or the tensors of a nested structure to a device.

    `isthmus.copy` copies between the host and a GPU, from pageable memory several times as fast as
    PyTorch. PyTorch makes all other moves. Complete on return; the copies begin after the work in
    PyTorch's current stream. Layouts without gaps are kept (channels_last).

    Args:
        value: A `torch.nn.Module`: its parameters and buffers are moved in place, as with
            `Module.to`. A `torch.optim.Optimizer`: its state is moved in place. Another object with
            a method `to`: the result is that of `to(device)`. A tensor, or a structure of all
            these (a state dict, for instance): a new one is made. Python's containers, their
            subclasses, dataclasses, classes of attrs and what `torch.utils._pytree` knows are
            followed. Tensors that are there already stay, and all other objects.
        device: A GPU's ordinal, "cuda", "cuda:1", "cpu", or a torch.device.

    Returns:
        The module, the optimizer or the new structure. What occurs twice in a structure is one
        object in the result, too; views of one tensor become separate tensors.

    Raises:
        UsageError: There is no such device; the structure holds objects and no tensor, or itself,
            or a container that can't be made anew: the message says where.
        DriverError: A copy failed.
        Unavailable: There is no PyTorch, or no driver.
    """
    return _changed(value, device_of(device))


def _changed(value: Any, device: Any) -> Any:  # noqa: ANN401 - of PyTorch
    return changed(
        value,
        lambda tensor, _: moved(tensor, device),
        lambda movable, _: sent(movable, device),
        "value",
    ).value


def sent(value: Any, device: Any, *, non_blocking: bool = False) -> Any:  # noqa: ANN401
    """Move what moves its own tensors, as PyTorch does, and give what it became."""
    torch = torch_module()
    if isinstance(value, torch.optim.Optimizer):
        _move_state(value, device)
        return value
    if isinstance(value, torch.nn.Module):
        # As Module.to() does: this visits buffers, gradients and what modules cache of them.
        value._apply(lambda tensor: moved(tensor, device))
    if non_blocking:
        with contextlib.suppress(TypeError):  # not every type's method takes it
            return value.to(device, non_blocking=True)
    return value.to(device)


def _move_state(optimizer: Any, device: Any) -> None:  # noqa: ANN401 - of PyTorch
    """Move an optimizer's state; counts of steps stay on the host if no kernel reads them."""
    read_by_kernels = {
        id(parameter)
        for group in optimizer.param_groups
        for parameter in group["params"]
        if group.get("capturable") or group.get("fused")
    }
    former = dict(optimizer.state)
    for parameter, new in zip(former, _changed(list(former.values()), device), strict=True):
        state = former[parameter]
        if isinstance(state, dict) and "step" in state and id(parameter) not in read_by_kernels:
            new["step"] = state["step"]
        optimizer.state[parameter] = new


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
        target: What is to be filled: the new one, or its bytes.
    """

    tensor: Any
    target: Any
    source: Any


def twin_of(tensor: Any, device: Any) -> Twin:  # noqa: ANN401 - of PyTorch
    """
    Allocate a tensor like a plain one on another device, the GPU or the host. Each operation of
    PyTorch releases the GIL, and a thread that wants it back stops another one: so only what a
    tensor needs is called.
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

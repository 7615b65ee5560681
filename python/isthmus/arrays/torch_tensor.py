"""What PyTorch's tensors are beside their memory: gradients, and signs yet to be turned."""

from typing import Any

from isthmus.arrays.asking import asking
from isthmus.errors import UsageError


def plain_tensor(tensor: Any, *, as_target: bool) -> Any:  # noqa: ANN401 - torch.Tensor
    """
    Give a tensor whose memory holds what it means.

    Raises:
        UsageError: Its memory holds something else, or writing it would get around autograd.
    """
    with asking(tensor):
        pending = "resolve_conj" if tensor.is_conj() else "resolve_neg" if tensor.is_neg() else None
        needs_gradient = tensor.requires_grad
    if pending is not None:
        raise UsageError(
            "this Tensor's memory isn't what it means: its conjugation or its sign is pending",
            hint=f"pass tensor.{pending}()",
        )
    if not needs_gradient:
        return tensor
    if as_target:
        raise UsageError(
            "this Tensor needs a gradient, and autograd would not see that it was written",
            hint="pass tensor.detach()",
        )
    with asking(tensor):
        return tensor.detach()

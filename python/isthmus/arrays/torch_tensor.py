"""What PyTorch's tensors are beside their memory: gradients, and signs yet to be turned."""

from typing import Any

from isthmus.errors import UsageError


def plain_tensor(tensor: Any, *, as_target: bool) -> Any:  # noqa: ANN401 - torch.Tensor
    """
    Give a tensor whose memory holds what it means.

    Raises:
        UsageError: Its memory holds something else, or writing it would get around autograd.
    """
    for is_pending, resolve in ((tensor.is_conj, "resolve_conj"), (tensor.is_neg, "resolve_neg")):
        if is_pending():
            raise UsageError(
                "this Tensor's memory isn't what it means: its conjugation or its sign is pending",
                hint=f"pass tensor.{resolve}()",
            )
    if not tensor.requires_grad:
        return tensor
    if as_target:
        raise UsageError(
            "this Tensor needs a gradient, and autograd would not see that it was written",
            hint="pass tensor.detach()",
        )
    return tensor.detach()

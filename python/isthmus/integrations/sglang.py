"""
The copies of SGLang's hierarchical cache (HiCache), made by Isthmus.

It stands in for the three functions of `sgl_kernel.kvcacheio` that `--hicache-io-backend direct`
calls, with the host layouts `layer_first` and `page_first_direct`. Tried with SGLang 0.5.23 and
sglang-kernel 0.4.10.
"""

from collections.abc import Callable, Sequence
from typing import Any

import isthmus
from isthmus.integrations.engine_functions import replace, settle

# They have imported the functions by name.
_POOLS = "sglang.srt.mem_cache."
_MODULES = ("pool_host.mha", "pool_host.mla", "pool_host.dsa", "memory_pool_host")


def transfer_kv_direct(
    src_layers: Sequence[Any],
    dst_layers: Sequence[Any],
    src_indices: Any,
    dst_indices: Any,
    page_size: int,
) -> None:
    """
    Copy tokens between layers, in place of SGLang's function of that name.

    Args:
        src_layers: Tensors of tokens along axis 0, one for each layer, or each layer's K and V.
        dst_layers: The same, as many.
        src_indices: int64, one dimension: token `src_indices[i]` of each source is copied to token
            `dst_indices[i]` of its target. On a GPU they are waited for.
        dst_indices: The same.
        page_size: Not used: any tokens are copied.

    Raises:
        UsageError: As for `isthmus.copy_blocks`, such as a token outside its tensor.
    """
    del page_size
    settle(isthmus.copy_blocks(dst_layers, src_layers, dst_indices.cpu(), src_indices.cpu()))


def transfer_kv_per_layer_direct_pf_lf(
    src_ptrs: Sequence[Any],
    dst_ptrs: Sequence[Any],
    src_indices: Any,
    dst_indices: Any,
    layer_id: int,
    page_size: int,
) -> None:
    """
    Load pages of one layer from a page-first host cache, in place of SGLang's function.

    Args:
        src_ptrs: Host tensors (pages, layers, page_size, ...): K and V, or one.
        dst_ptrs: GPU tensors (tokens, ...): for each source those of its layers from `layer_id` on.
        src_indices: int64, one dimension: the tokens. A page's tokens follow each other.
        dst_indices: The same.
        layer_id: The first layer of the sources.
        page_size: Tokens of a page.

    Raises:
        UsageError: Pages aren't whole, or as for `isthmus.copy_blocks`.
    """
    sources = _layers_of_pages(src_ptrs, layer_id, len(dst_ptrs))
    pools = _layers_of(dst_ptrs, page_size), sources
    _copy_pages(pools, (dst_indices, src_indices), page_size)


def transfer_kv_all_layer_direct_lf_pf(
    src_ptrs: Sequence[Any],
    dst_ptrs: Sequence[Any],
    src_indices: Any,
    dst_indices: Any,
    page_size: int,
) -> None:
    """
    Back up pages of all layers to a page-first host cache, in place of SGLang's function.

    Args:
        src_ptrs: GPU tensors (tokens, ...): all layers' K, then all layers' V; or one a layer.
        dst_ptrs: Host tensors (pages, layers, page_size, ...): K and V, or one.
        src_indices: As for `transfer_kv_per_layer_direct_pf_lf`.
        dst_indices: The same.
        page_size: The same.

    Raises:
        UsageError: The same.
    """
    targets = _layers_of_pages(dst_ptrs, 0, len(src_ptrs))
    pools = targets, _layers_of(src_ptrs, page_size)
    _copy_pages(pools, (dst_indices, src_indices), page_size)


def install() -> Callable[[], None]:
    """
    Replace the functions in the modules of SGLang's host pools, in this process.

    SGLang calls it in its schedulers if it is an entry point of the group `sglang.srt.plugins`.

    Returns:
        A function that puts back SGLang's own.

    Raises:
        IsthmusWarning: Only a warning: SGLang can't be imported, sees no CUDA device, or lacks one
            of the functions. Nothing is replaced.
    """
    ours = (
        transfer_kv_direct,
        transfer_kv_per_layer_direct_pf_lf,
        transfer_kv_all_layer_direct_lf_pf,
    )
    return replace(
        {(_POOLS + module, each.__name__): each for module in _MODULES for each in ours},
        tried="SGLang 0.5.23 with sglang-kernel 0.4.10, on a machine with a GPU",
    )


def _layers_of(tensors: Sequence[Any], page_size: int) -> list[Any]:
    """Give the whole pages of tensors of tokens."""
    whole = (each[: each.shape[0] // page_size * page_size] for each in tensors)
    return [each.view(-1, page_size, *each.shape[1:]) for each in whole]


def _layers_of_pages(tensors: Sequence[Any], first: int, num_layers: int) -> list[Any]:
    """Give the layers of page-first tensors, as many as there are at the other end."""
    return [each[:, first + i] for each in tensors for i in range(num_layers // len(tensors))]


def _copy_pages(
    pools: tuple[list[Any], list[Any]], tokens: tuple[Any, Any], page_size: int
) -> None:
    """Copy pages from the second pools to the first, which begin at these tokens."""
    firsts = [each.cpu()[::page_size] for each in tokens]
    if any(each.shape[0] % page_size for each in tokens) or any(
        (each % page_size).any() for each in firsts
    ):
        raise isthmus.UsageError(
            f"the tokens aren't whole pages of {page_size} tokens",
            hint="use --hicache-mem-layout layer_first, or SGLang's own function",
        )
    settle(isthmus.copy_blocks(*pools, *(each // page_size for each in firsts)))

"""
vLLM's copies of blocks between GPU and host, made by Isthmus.

Its offloading connector (`vllm/v1/kv_offload/cpu/gpu_worker.py`) hands arrays of addresses to
`swap_blocks_batch`; other connectors use `swap_blocks`. Tried with vLLM 0.33.0.
"""

import importlib
from collections.abc import Callable
from typing import Any

import isthmus
from isthmus.integrations.engine_functions import replace, settle

_OPS = "vllm._custom_ops"
# Loads of small blocks don't go through _OPS, but through a kernel of Triton under this name.
_WORKER = "vllm.v1.kv_offload.cpu.gpu_worker"


def swap_blocks(src: Any, dst: Any, block_size_in_bytes: int, block_mapping: Any) -> None:
    """
    Copy blocks by index, in place of `vllm._custom_ops.swap_blocks`.

    Args:
        src: A tensor of blocks that follow each other; at least one of the two is on a GPU.
        dst: The same.
        block_size_in_bytes: The size of a block.
        block_mapping: int64 of shape (blocks, 2) on the host: block [i, 0] of `src` is copied to
            block [i, 1] of `dst`. It may be changed on return.

    Raises:
        UsageError: As for `isthmus.copy_blocks`, such as a block outside its tensor.
    """
    of, to = block_mapping.numpy().T.copy()
    settle(isthmus.copy_blocks(dst, src, to, of, block_bytes=block_size_in_bytes))


def swap_blocks_batch(
    src_ptrs: Any,
    dst_ptrs: Any,
    sizes: Any,
    is_src_access_order_any: bool = False,
    *,
    bytes_per_chunk: int | None = None,
) -> None:
    """
    Copy pieces between addresses, in place of `vllm._custom_ops.swap_blocks_batch`.

    The copies are put into PyTorch's current stream: one launch if the host's memory is pinned.

    Args:
        src_ptrs: int64 or uint64 on the host, one dimension: addresses.
        dst_ptrs: The same. No target overlaps another piece.
        sizes: The same: bytes.
        is_src_access_order_any: Not used: sources are read in the order of the stream.
        bytes_per_chunk: Not used: it is for vLLM's kernel.

    Raises:
        UsageError: As for `isthmus.copy_many`: memory was freed, or is shorter than its piece.
    """
    del is_src_access_order_any, bytes_per_chunk
    stream = importlib.import_module("torch").cuda.current_stream(None)
    settle(isthmus.copy_many(dst_ptrs, src_ptrs, sizes, stream=stream))


def install() -> Callable[[], None]:
    """
    Replace vLLM's functions in this process, before its workers begin.

    vLLM calls it in all its processes if it is an entry point of the group `vllm.general_plugins`.

    Returns:
        A function that puts back vLLM's own; workers that exist keep what they have.

    Raises:
        IsthmusWarning: Only a warning, since an exception would end vLLM: vLLM can't be
            imported, or lacks one of the functions. Nothing is replaced.
    """
    return replace(
        {
            (_OPS, "swap_blocks"): swap_blocks,
            (_OPS, "swap_blocks_batch"): swap_blocks_batch,
            (_WORKER, "swap_blocks_batch"): swap_blocks_batch,
        },
        tried="vLLM 0.33.0",
    )

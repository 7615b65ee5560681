"""
LMCache's connector to vLLM's KV cache on the GPU, made by Isthmus.

It takes the place of `VLLMPagedMemGPUConnectorV2`, LMCache's default for vLLM without layerwise
copies. Tried with LMCache 0.5.6.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any

import isthmus
from isthmus.integrations.engine_functions import leave, replace

_CONNECTORS = "lmcache.v1.gpu_connector.gpu_connectors"


class BlockCopies:
    """
    The methods of LMCache's `GPUConnectorInterface`; `connector()` joins the two.

    When a method returns or raises, its copies are complete. Keyword arguments are LMCache's own:
        kvcaches: vLLM's tensors, one a layer, in memory (blocks, tokens, heads, K and V), (blocks,
            tokens, items) for MLA, or (2, blocks, tokens, heads, items).
        slot_mapping: int64 on their GPU, one dimension: where each token of the sequence is.
        vllm_cached_tokens: The first tokens of the sequence, which `to_gpu` leaves alone.
    """

    initialize_kvcaches_ptr: Callable[..., None]  # LMCache's: views in the order of memory

    def __init__(self, metadata: Any, layout_hints: Mapping[str, Any] | None) -> None:
        """Keep what the cache is like; raises `Unavailable` if its tokens aren't rows."""
        layout = (layout_hints or {}).get("kv_layout") or "NHD"
        if layout != "NHD":
            raise isthmus.Unavailable(
                capability=f"copies of tokens in the layout {layout}",
                reason="its tokens aren't rows at equal distances",
                needs="VLLM_KV_CACHE_LAYOUT=NHD, or LMCache's own connector",
            )
        self.use_mla = metadata.use_mla
        self.num_layers, _, _, heads, items = metadata.kv_shape
        self.hidden_dim_size = heads * items
        self.kvcaches: Sequence[Any] = ()

    @classmethod
    def from_metadata(
        cls,
        metadata: Any,
        use_gpu: bool = False,
        device: Any = None,
        layout_hints: Mapping[str, Any] | None = None,
    ) -> "BlockCopies":
        """Make one as LMCache's factory does; an intermediate GPU buffer isn't needed."""
        del use_gpu, device
        return cls(metadata, layout_hints)

    def get_shape(self, num_tokens: int) -> Any:
        """Give the shape of a memory object: (K and V, layers, tokens, items)."""
        shape = (1 if self.use_mla else 2, self.num_layers, num_tokens, self.hidden_dim_size)
        return importlib.import_module("torch").Size(shape)

    def to_gpu(self, memory_obj: Any, start: int, end: int, **kwargs: Any) -> None:
        """Copy tokens `start` to `end` of the sequence from a memory object to the GPU."""
        self.batched_to_gpu([memory_obj], [start], [end], **kwargs)

    def from_gpu(self, memory_obj: Any, start: int, end: int, **kwargs: Any) -> None:
        """Copy tokens `start` to `end` of the sequence from the GPU to a memory object."""
        self.batched_from_gpu([memory_obj], [start], [end], **kwargs)

    def batched_to_gpu(
        self, memory_objs: Sequence[Any], starts: Sequence[int], ends: Sequence[int], **kwargs: Any
    ) -> None:
        """Do what `to_gpu` does for many memory objects: start all copies, then wait."""
        cached = kwargs.get("vllm_cached_tokens", 0)
        with ExitStack() as waits:
            for caches, rows, slots, tokens in self._ends(
                memory_objs, starts, ends, cached, kwargs
            ):
                waits.callback(isthmus.copy_blocks(caches, rows, slots, tokens).result)

    def batched_from_gpu(
        self, memory_objs: Sequence[Any], starts: Sequence[int], ends: Sequence[int], **kwargs: Any
    ) -> None:
        """Do what `from_gpu` does for many memory objects: start all copies, then wait."""
        with ExitStack() as waits:
            for caches, rows, slots, tokens in self._ends(memory_objs, starts, ends, 0, kwargs):
                waits.callback(isthmus.copy_blocks(rows, caches, tokens, slots).result)
        if self.use_mla:
            formats = importlib.import_module("lmcache.v1.memory_management").MemoryFormat
            for memory in memory_objs:
                memory.metadata.fmt = formats.KV_MLA_FMT

    def _ends(
        self,
        memory_objs: Sequence[Any],
        starts: Sequence[int],
        ends: Sequence[int],
        cached: int,
        kwargs: Mapping[str, Any],
    ) -> Iterator[tuple[list[Any], list[Any], Any, Any]]:
        """Give both pools of each copy, and the index into each."""
        self.initialize_kvcaches_ptr(**kwargs)
        arange, slots = importlib.import_module("torch").arange, kwargs["slot_mapping"]
        for memory, start, end in zip(memory_objs, starts, ends, strict=True):
            first = min(max(start, cached), end)
            tokens = arange(first - start, end - start, dtype=slots.dtype, device=slots.device)
            yield *self._pools(memory.tensor), slots[first:end], tokens

    def _pools(self, memory: Any) -> tuple[list[Any], list[Any]]:
        """Give a row for each token: in the cache and in a memory object, plane by plane."""
        shape, planes = tuple(self.kvcaches[0].shape), [self.kvcaches]
        if len(shape) == 5 and shape[0] == 2:  # noqa: PLR2004 - K and V
            planes = [[cache[i] for cache in self.kvcaches] for i in range(2)]
        elif len(shape) not in {3, 4}:
            planes = []
        if not planes or not all(cache.is_contiguous() for cache in self.kvcaches):
            raise isthmus.UsageError(
                f"KV caches of shape {shape} don't have one row after another for tokens",
                hint="use LMCache's own connector for this model and layout",
            )
        layers = [cache for plane in planes for cache in plane]
        caches = [cache.view(cache.shape[0] * cache.shape[1], -1) for cache in layers]
        rows = memory.view(len(layers), memory.shape[2], -1)
        return caches, [rows[i] for i in range(len(layers))]


def connector() -> type:
    """
    Make the class of connectors, for programs that hand one to LMCache themselves.

    Returns:
        A subclass of `BlockCopies` and of LMCache's `GPUConnectorInterface`.

    Raises:
        Unavailable: LMCache can't be imported, or has no such interface.
    """
    try:
        return _connector_on(importlib.import_module(_CONNECTORS).GPUConnectorInterface)
    except Exception as error:
        raise isthmus.Unavailable(
            capability="LMCache's connectors", reason=str(error), needs="LMCache 0.5.6"
        ) from error


@cache
def _connector_on(base: type) -> type:
    """Make one class, so that `install()` finds its own."""
    return type("IsthmusGPUConnector", (BlockCopies, base), {"__doc__": __doc__})


def install() -> Callable[[], None]:
    """
    Let LMCache make Isthmus' connectors instead of its own, in this process.

    Returns:
        A function that puts back LMCache's own; connectors that exist remain.

    Raises:
        IsthmusWarning: Only a warning, since an exception would end vLLM: LMCache can't be
            imported, or has no such class. Nothing is replaced.
    """
    try:
        ours = connector()
    except isthmus.Unavailable as reason:
        return leave(reason)
    return replace({(_CONNECTORS, "VLLMPagedMemGPUConnectorV2"): ours}, tried="LMCache 0.5.6")

"""For PyTorch programs: what `isthmus.move.torch` offers."""

from typing import TYPE_CHECKING, Any

from isthmus.move.torch import prefetch, to

if TYPE_CHECKING:
    from isthmus.move.torch.cached import CachedEmbedding, CachedExperts

__all__ = ["CachedEmbedding", "CachedExperts", "prefetch", "to"]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Give a module class, which needs PyTorch to exist."""
    if name in {"CachedEmbedding", "CachedExperts"}:
        from isthmus.move.torch import cached

        return getattr(cached, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Modules whose weights are a table in host memory, of which the GPU holds the rows in use."""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal, Self

from isthmus.errors import UsageError
from isthmus.move.paged.row_cache import RowCache
from isthmus.move.torch.library import torch_module

torch: Any = torch_module()


def _is_one_of(given: object, words: set[str]) -> bool:
    return given is None or (isinstance(given, str) and given in words)


class CachedRows(torch.nn.Module):  # type: ignore[misc]
    """What both modules have: the cache, and its rows as a tensor."""

    def __init__(
        self,
        table: Any,  # noqa: ANN401 - a tensor or an array
        rows: int,
        *,
        write_back: bool,
        policy: Literal["lru", "clock"],
        device: int | None,
    ) -> None:
        """Make the cache."""
        super().__init__()
        self.cache = RowCache(table, rows, policy=policy, write_back=write_back, device=device)
        rows = self.cache.rows
        # A version of its own: a prefetch before backward() leaves the rows in use as they are.
        self.weight = rows.data if isinstance(rows, torch.Tensor) else torch.from_dlpack(rows)

    def prefetch(self, keys: Any, stream: Any = None) -> None:  # noqa: ANN401
        """Fetch rows that the next call will need, as `isthmus.RowCache.prefetch`."""
        self.cache.prefetch(keys, stream)

    def _slots(self, keys: Any) -> Any:  # noqa: ANN401
        """
        Give slots as PyTorch indexes. A key without a slot gets slot 0: -1 would end the context.
        The next call reports it.
        """
        return self.cache.ensure(keys).long().clamp_min_(0)

    def close(self) -> None:
        """Write back what was trained, and end the cache."""
        self.cache.close()

    def __enter__(self) -> Self:
        """Give the module itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close, as `isthmus.RowCache` does."""
        self.cache.__exit__(kind, error, traceback)

    def extra_repr(self) -> str:
        """Name the cache."""
        return repr(self.cache)


class CachedEmbedding(CachedRows):
    """
    `torch.nn.EmbeddingBag` or `torch.nn.Embedding` with its table in host memory.

    The forward pass takes the rows of its keys from `isthmus.RowCache`, and is PyTorch's own
    function on them. In training each forward pass with gradients is followed by `backward()` and
    `step()`, which changes the rows that have a gradient; the cache writes them back to the table.
    The weights are no parameters of the module, and no optimizer of PyTorch's changes them. With
    SGD all rows become what a resident table's would, bit for bit, where PyTorch's functions are
    deterministic.

    A key beyond the table, or one that finds no room, gets another row; the next call raises
    UsageError for it, and `cache.check()`.

    Attributes:
        cache: The isthmus.RowCache.
        weight: The rows that the GPU holds, indexed by slots.
        state: With "rowwise_adagrad", a sum for each row of the table, on the GPU.
    """

    def __init__(  # noqa: PLR0913 - as PyTorch's
        self,
        table: Any,  # noqa: ANN401 - a tensor or an array
        rows: int,
        *,
        mode: Literal["sum", "mean"] | None = "sum",
        include_last_offset: bool = False,
        optimizer: Literal["sgd", "rowwise_adagrad"] | None = "sgd",
        eps: float = 1e-10,
        policy: Literal["lru", "clock"] = "lru",
        device: int | None = None,
    ) -> None:
        """
        Make the cache.

        Args:
            table: [rows of the table, dimension], a tensor or an array in host memory; as for
                `isthmus.RowCache`. Training changes it.
            rows: How many of them the GPU holds: at least the distinct keys of one forward pass.
            mode: As of `torch.nn.EmbeddingBag`; None: `torch.nn.Embedding`.
            include_last_offset: As of `torch.nn.EmbeddingBag`.
            optimizer: What `step` does; None: no training.
            eps: Of "rowwise_adagrad".
            policy: As for `isthmus.RowCache`.
            device: The GPU's ordinal.

        Raises:
            UsageError: As for `isthmus.RowCache`, or there is no such mode or optimizer.
        """
        if not _is_one_of(mode, {"sum", "mean"}):
            raise UsageError(f"mode {mode!r}: there are sum, mean and None, for nn.Embedding")
        if not _is_one_of(optimizer, {"sgd", "rowwise_adagrad"}):
            raise UsageError(f"optimizer {optimizer!r}: there are sgd, rowwise_adagrad and None")
        super().__init__(
            table, rows, write_back=optimizer is not None, policy=policy, device=device
        )
        self.mode = mode
        self.include_last_offset = include_last_offset
        self.optimizer = optimizer
        self.eps = eps
        self.weight.requires_grad_(optimizer is not None)
        if optimizer == "rowwise_adagrad":
            self.state = torch.zeros(len(table), device=self.weight.device)
        self._keys = torch.from_dlpack(self.cache.keys)
        self._trains = False

    def forward(
        self,
        keys: Any,  # noqa: ANN401 - a tensor
        offsets: Any = None,  # noqa: ANN401
        per_sample_weights: Any = None,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """
        Compute what `torch.nn.EmbeddingBag` does, or with mode=None `torch.nn.Embedding`.

        Raises:
            UsageError: The last forward pass with gradients wasn't followed by `step()`; or as for
                `isthmus.RowCache.ensure`.
        """
        if self._trains:
            raise UsageError(
                "the last forward pass had gradients, and its rows may lose their slots now: call "
                "backward() and step() first",
                hint="without training: torch.no_grad(), eval(), or optimizer=None",
            )
        slots = self._slots(keys)
        self._trains = self.training and self.weight.requires_grad and torch.is_grad_enabled()
        weight = self.weight if self._trains else self.weight.detach()
        functional = torch.nn.functional
        if self.mode is None:
            return functional.embedding(slots, weight, sparse=self._trains)
        return functional.embedding_bag(
            slots,
            weight,
            None if offsets is None else offsets.long(),
            mode=self.mode,
            sparse=self._trains,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
        )

    def step(self, lr: float) -> None:
        """
        Change the rows that have a gradient: `row -= lr * gradient`; with "rowwise_adagrad" divided
        by the root of the sum, over all steps, of the mean square of the row's gradient, plus eps.

        Call it once after each `backward()`, also if there is no gradient.
        """
        self._trains = False
        if self.weight.grad is None:
            return
        gradient = self.weight.grad.coalesce()
        self.weight.grad = None
        slots = gradient.indices()[0]
        with torch.no_grad():
            if self.optimizer == "sgd":
                self.weight.add_(gradient, alpha=-lr)
            else:
                values = gradient.values()
                keys = self._keys[slots].long()
                sums = self.state[keys] + values.float().square().mean(dim=1)
                self.state[keys] = sums
                scaled = values / (sums.sqrt() + self.eps).unsqueeze(1).to(values.dtype)
                self.weight.index_add_(0, slots, scaled, alpha=-lr)
        self.cache.mark_dirty(slots)


class CachedExperts(CachedRows):
    """
    Weights of experts in host memory, of which the GPU holds those that a router asks for.

    Attributes:
        cache: The isthmus.RowCache.
        weight: The experts that the GPU holds, indexed by slots.
    """

    def __init__(
        self,
        table: Any,  # noqa: ANN401 - a tensor or an array
        experts: int,
        *,
        policy: Literal["lru", "clock"] = "lru",
        device: int | None = None,
    ) -> None:
        """
        Make the cache.

        Args:
            table: [all experts, ...], a tensor or an array in host memory; as for
                `isthmus.RowCache`: up to 256 MiB an expert.
            experts: How many of them the GPU holds: at least as many as one call asks for.
            policy: As for `isthmus.RowCache`.
            device: The GPU's ordinal.
        """
        super().__init__(table, experts, write_back=False, policy=policy, device=device)

    def forward(
        self,
        experts: Any,  # noqa: ANN401 - a tensor
        function: Callable[..., Any],
        *arguments: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """
        Call `function(weight, slots, *arguments)`, where `weight[slots]` are the experts' weights.

        Args:
            experts: Their numbers on the GPU, int32 or int64, of any shape; they may repeat.
            function: Works in PyTorch's current stream, as a kernel of grouped products does.
            arguments: Passed on.
        """
        return function(self.weight, self._slots(experts), *arguments)

"""Random objects for torch.save, and the comparison of what two loaders give."""

import importlib
import random
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

# As everywhere, whether PyTorch is installed or not.
torch: Any = importlib.import_module("torch")

DTYPES = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.complex32,
    torch.complex64,
    torch.complex128,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.bool,
]


class Stranger:
    """A class that torch.load doesn't know, unless it is told to."""

    def __init__(self, held: object) -> None:
        self.held = held


class Trees:
    """Makes random objects; the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - the same trees each time
        self._made: list[Any] = []
        self._leaves: list[Callable[[], Any]] = [
            *[self._tensor] * 6,
            *[self._view] * 4,
            self._parameter,
            self._tied,
            self._special,
            self._plain,
            self._plain,
            self._named,
        ]

    def tree(self, depth: int = 4) -> Any:  # noqa: ANN401
        """Make a nest of containers."""
        if depth == 0 or self._random.random() < 0.25:
            made = self._random.choice(self._leaves)()
        else:
            items = [self.tree(depth - 1) for _ in range(self._random.randrange(5))]
            made = self._container(items)
        self._made.append(made)
        return made

    def _container(self, items: list[Any]) -> Any:  # noqa: ANN401
        names = [self._random.choice(["weight", 7, (1, "k"), f"n{i}"]) for i in range(len(items))]
        state = OrderedDict(zip(names, items, strict=True))
        kind = self._random.randrange(12)
        if kind == 0:
            items.append(items)  # a list that has itself
        if kind == 1:
            vars(state)["_metadata"] = {"version": items}  # as state dicts have
        if kind == 2 and self._random.random() < 0.2:
            return self._random.choice([Stranger, deque, frozenset, Fraction])  # refused
        if kind == 3 and self._random.random() < 0.2:
            return torch.nn.Linear(2, 2)  # refused
        return [items, state, tuple(items), dict(state)][kind % 4]

    def _tensor(self) -> Any:  # noqa: ANN401
        shape = [self._random.randrange(4) for _ in range(self._random.randrange(4))]
        dtype = self._random.choice(DTYPES)
        count = max(1, torch.Size(shape).numel()) * dtype.itemsize
        raw = torch.frombuffer(bytearray(self._random.randbytes(count)), dtype=torch.uint8)
        if dtype == torch.bool:
            raw &= 1
        made = torch.empty(shape, dtype=dtype)
        made.untyped_storage().copy_(raw.untyped_storage()[: made.untyped_storage().nbytes()])
        if dtype.is_floating_point and dtype.itemsize > 1 and self._random.random() < 0.3:
            made.requires_grad_()
        return made

    def _view(self) -> Any:  # noqa: ANN401
        base = self._random.choice([each for each in self._tensors() if each.dim()] or [None])
        if base is None:
            return self._tensor()
        base = base.detach()
        changes: list[Callable[[], Any]] = [
            lambda: base.transpose(0, -1),
            lambda: base[1:],
            lambda: base[::2],
            lambda: base.flatten()[:0],
            lambda: base.unsqueeze(0).expand(3, *base.shape),
            lambda: base.conj() if base.dtype.is_complex else base[..., 1:],
            lambda: torch._neg_view(base) if base.dtype.is_floating_point else base,
        ]
        return self._random.choice(changes)()

    def _tied(self) -> Any:  # noqa: ANN401
        return self._random.choice(self._made or [None])

    def _parameter(self) -> Any:  # noqa: ANN401
        made = torch.nn.Parameter(
            torch.rand(self._random.randrange(4)), self._random.random() < 0.5
        )
        if self._random.random() < 0.5:
            vars(made).update(tensor_model_parallel=True, more=self._tied())
        return made

    def _special(self) -> Any:  # noqa: ANN401
        rows = torch.tensor([[1.0, 0, 2], [0, 0, 3]])
        changes: list[Callable[[], Any]] = [
            rows.to_sparse,
            rows.to_sparse_csr,
            lambda: torch.quantize_per_tensor(rows, 0.1, 3, torch.qint8),
            lambda: torch.empty(2, 3, device="meta"),
            rows.untyped_storage,
            rows[1:].untyped_storage,
            lambda: torch.nn.Buffer(rows),
            lambda: rows.to(memory_format=torch.preserve_format),
        ]
        return self._random.choice(changes)()

    def _plain(self) -> Any:  # noqa: ANN401
        return self._random.choice(
            [
                None,
                True,
                3,
                -(2**70),
                2**40,
                0.5,
                2j,
                "ä\n",
                "x" * 300,
                b"\x00\xff",
                bytearray(b"a"),
            ]
        )

    def _named(self) -> Any:  # noqa: ANN401
        changes: list[Callable[[], Any]] = [
            lambda: torch.Size([2, 3]),
            lambda: torch.device("cuda", 1),
            lambda: torch.device("cpu"),
            lambda: torch.float16,
            lambda: torch.sparse_coo,
            lambda: torch.strided,
            lambda: {1, "b", (2, 3)},
            lambda: Counter("hello"),
            lambda: torch.Size,
            lambda: set,
        ]
        return self._random.choice(changes)()

    def _tensors(self) -> list[Any]:
        return [
            each
            for each in self._made
            if isinstance(each, torch.Tensor)
            and each.layout == torch.strided
            and each.device.type == "cpu"
            and not each.is_quantized
        ]


class Same:
    """Holds two objects to be the same in every way that a program can see, but for identity."""

    def __init__(self) -> None:
        self._twins: dict[int, tuple[Any, Any]] = {}
        self._storages: dict[int, int] = {}

    def require(self, found: Any, wanted: Any, where: str = "object") -> None:  # noqa: ANN401
        """Raise AssertionError where they differ."""
        assert type(found) is type(wanted), where
        if isinstance(wanted, (type, str, int, float, complex, bytes, type(None))):
            assert repr(found) == repr(wanted), where
            return
        if id(wanted) in self._twins:
            assert self._twins[id(wanted)][1] is found, f"{where} isn't the one that it was"
            return
        self._twins[id(wanted)] = wanted, found  # both live, so that identities stay unique
        if isinstance(wanted, torch.Tensor):
            self._require_tensor(found, wanted, where)
        elif isinstance(wanted, (torch.UntypedStorage, torch.storage.TypedStorage)):
            self._require_storage(found, wanted, where)
        elif isinstance(wanted, Mapping):
            self.require(list(found), list(wanted), f"{where}'s keys")
            self.require(list(found.values()), list(wanted.values()), f"{where}'s values")
        elif isinstance(wanted, (list, tuple)):
            assert len(found) == len(wanted), where
            for i, (one, other) in enumerate(zip(found, wanted, strict=True)):
                self.require(one, other, f"{where}[{i}]")
        elif not hasattr(wanted, "__dict__"):
            assert str(found) == str(wanted), where
        self.require(getattr(found, "__dict__", None), getattr(wanted, "__dict__", None), where)

    def _require_tensor(self, found: Any, wanted: Any, where: str) -> None:  # noqa: ANN401
        for asked in ("dtype", "shape", "layout", "requires_grad", "is_leaf", "is_quantized"):
            assert getattr(found, asked) == getattr(wanted, asked), f"{where}.{asked}"
        assert (found.is_conj(), found.is_neg()) == (wanted.is_conj(), wanted.is_neg()), where
        if wanted.layout != torch.strided:
            assert str(found) == str(wanted), where
            return
        assert found.device == wanted.device, where
        assert found.stride() == wanted.stride(), where
        assert found.storage_offset() == wanted.storage_offset(), where
        self._require_storage(found.untyped_storage(), wanted.untyped_storage(), where)

    def _require_storage(self, found: Any, wanted: Any, where: str) -> None:  # noqa: ANN401
        if isinstance(wanted, torch.storage.TypedStorage):
            assert found.dtype == wanted.dtype, where
            found, wanted = found._untyped_storage, wanted._untyped_storage
        assert (found.nbytes(), found.device) == (wanted.nbytes(), wanted.device), where
        if wanted.device.type == "cuda":  # on the host ours may grow, which a mapped one can't
            assert found.resizable() == wanted.resizable(), where
        if wanted.device.type == "meta":
            return
        ours, theirs = found._cdata, wanted._cdata
        assert self._storages.setdefault(theirs, ours) == ours, f"{where}: another storage"
        assert len(set(self._storages.values())) == len(self._storages), f"{where}: tied"
        assert bytes(found.cpu()) == bytes(wanted.cpu()), where

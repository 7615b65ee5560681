"""`help()` of every public name says what it takes, gives and raises."""

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import isthmus
import isthmus.numba
import isthmus.torch
from isthmus import pinned
from isthmus.integrations import lmcache, sglang, vllm
from isthmus.move.transfer.future import CopyEvent
from isthmus.sim import TraceWriter
from isthmus.sim.trace import file, importing, writing

pytestmark = pytest.mark.native

# Types for annotations: docs/typing.md explains them.
_TYPES = {"ArrayLike", "ArrayTree", "DeviceArrayLike", "StreamLike"}
_OTHERS = {"__version__", "errors", "pinned"} | _TYPES
_CLASSES = sorted(
    name
    for name in isthmus.__all__
    if name not in _OTHERS and inspect.isclass(getattr(isthmus, name))
)
_CACHED = ("CachedEmbedding", "CachedExperts")
_FUNCTIONS = (
    {name: getattr(isthmus, name) for name in isthmus.__all__ if name not in {*_OTHERS, *_CLASSES}}
    | {
        f"pinned.{name}": function
        for name, function in vars(pinned).items()
        if inspect.isfunction(function)
        and function.__module__ == "isthmus.pinned"
        and not name.startswith(("_", "exchange"))
    }
    | {"advise.offload": isthmus.advise.offload}
    | {
        f"{adapter.__name__.split('.')[-1]}.{name}": function
        for adapter in (lmcache, sglang, vllm)
        for name, function in vars(adapter).items()
        if inspect.isfunction(function)
        and function.__module__ == adapter.__name__
        and not name.startswith("_")
    }
)


def sections(text: str) -> dict[str, str]:
    """Split a docstring at its headings."""
    parts = re.split(r"^(Args|Returns|Raises|Attributes):\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def lacks(function: Callable[..., Any]) -> list[str]:
    """List what a function's docstring doesn't say."""
    # `advise` is an object that is called, and has `offload`.
    called = function if inspect.isroutine(function) else type(function).__call__
    found = sections(inspect.getdoc(called) or "")
    signature = inspect.signature(function)
    missing = [
        f"the argument {name}"
        for name in signature.parameters
        if name != "self" and f"{name}: " not in found.get("Args", "")
    ]
    returns = str(signature.return_annotation)
    if returns not in {"None", "Iterator[None]"} and "Iterator[None]" not in returns:
        missing += [] if "Returns" in found else ["what it returns"]
    return missing + ([] if "Raises" in found else ["which errors it raises"])


@pytest.mark.parametrize("name", sorted(_FUNCTIONS))
def test_a_public_function_says_what_it_takes_returns_and_raises(name: str) -> None:
    assert lacks(_FUNCTIONS[name]) == []


@pytest.mark.parametrize("name", _CLASSES)
def test_a_public_class_and_all_that_it_has_are_documented(name: str) -> None:
    kind = getattr(isthmus, name)
    assert (kind.__doc__ or "").strip()
    undocumented = [
        member
        for member, value in vars(kind).items()
        if not member.startswith("_")
        and (callable(value) or isinstance(value, property))
        and not (value.__doc__ or "").strip()
    ]
    assert undocumented == []


@pytest.mark.parametrize("name", _CLASSES)
def test_a_public_class_of_data_says_what_its_attributes_are(name: str) -> None:
    """Of records in files, docs/schema says it."""
    kind = getattr(isthmus, name)
    fields = getattr(kind, "__dataclass_fields__", {})
    said = sections(inspect.getdoc(kind) or "").get("Attributes", "")
    assert [field for field in fields if f"{field}: " not in said] == []


def test_a_function_that_says_too_little_is_noticed() -> None:
    def silent(shape: int) -> int:
        """Do something."""
        return shape

    assert lacks(silent) == [
        "the argument shape",
        "what it returns",
        "which errors it raises",
    ]


def with_sections(folder: Path) -> Iterator[str]:
    """Name the functions whose docstrings have sections: "isthmus.ground.sizes.parse_sizes"."""
    for path in folder.rglob("*.py"):
        module = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
            for function in ast.iter_child_nodes(node):
                if isinstance(function, ast.FunctionDef) and sections(
                    ast.get_docstring(function) or ""
                ):
                    yield f"{module}.{prefix}{function.name}"


def test_only_what_users_call_has_sections() -> None:
    kinds = {getattr(isthmus, name) for name in _CLASSES}
    kinds |= {type(isthmus.advise), type(isthmus.watch), CopyEvent, TraceWriter}
    bases = [vars(base) for kind in kinds for base in kind.__mro__]
    modules = [vars(module) for module in (isthmus.torch, isthmus.numba, file, importing, writing)]
    members = [member for named in [_FUNCTIONS, *bases, *modules] for member in named.values()]
    users = {
        f"{function.__module__}.{function.__qualname__}"
        for function in (inspect.unwrap(getattr(member, "fget", member)) for member in members)
        if inspect.isfunction(function)
    }
    # Classes that PyTorch has to be there for.
    cached = [f"{kind}.{name}" for kind in _CACHED for name in ("__init__", "forward")]
    users |= {f"isthmus.move.torch.cached.{name}" for name in cached}
    assert set(with_sections(Path(isthmus.__file__).parent)) - users == set()

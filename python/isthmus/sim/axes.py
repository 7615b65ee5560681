"""Axes of a sweep: `link.bandwidth=16GB/s,32GB/s`, `policy.unit=128..2MiB`, `workload=bfs,lps`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from isthmus.errors import UsageError
from isthmus.ground.spelling import did_you_mean, shortened
from isthmus.sim.machine_files import machine_names
from isthmus.sim.own import is_own
from isthmus.sim.policy import policy_names
from isthmus.sim.quantities import SEED_NUMBER
from isthmus.sim.settings import Setting, setting_names, setting_of

WORKLOAD, POLICY, MACHINE, SEED = "workload", "policy", "machine", "seed"
_WORDS = (WORKLOAD, POLICY, MACHINE, SEED)
_HINT = "write it like policy.unit=128..2MiB or workload=bfs,lps"
# More points than anybody waits for: a typing error.
_MAX_VALUES = 4096


@dataclass(frozen=True, kw_only=True)
class Axis:
    """
    One dimension of a sweep.

    Attributes:
        name: The name of a setting; or workload, policy, machine, seed.
        values: As typed, each once, in order.
    """

    name: str
    values: tuple[str, ...]


def read_axes(texts: Sequence[str]) -> list[Axis]:
    """
    Read `name=values` texts; `a..b` stands for a, 2a, 4a and so on, and b, for seeds for all from a
    to b.
    """
    axes = [_read(text) for text in texts]
    for axis in axes:
        if sum(other.name == axis.name for other in axes) > 1:
            raise UsageError(f"axis '{axis.name}' is given twice", hint="put its values together")
    return axes


def points(axes: Sequence[Axis]) -> list[Mapping[str, str]]:
    """List every combination, the last axis changing fastest."""
    names = [axis.name for axis in axes]
    return [
        dict(zip(names, values, strict=True)) for values in product(*(one.values for one in axes))
    ]


def _read(text: str) -> Axis:
    name, equals, typed = (part.strip() for part in text.partition("="))
    if not (name and equals and typed):
        raise UsageError(f"'{shortened(text)}' is not an axis", hint=_HINT)
    if name not in _WORDS and name not in setting_names():
        raise UsageError(
            f"there is no setting '{shortened(name)}' to sweep",
            hint=did_you_mean(name, [*_WORDS, *setting_names()]),
        )
    values: dict[str, None] = {}
    for item in (part.strip() for part in typed.split(",")):
        if not item:
            raise UsageError(f"axis '{shortened(text)}': an empty value", hint=_HINT)
        values |= dict.fromkeys(_range(name, item) if _is_range(item) else [item])
    if len(values) > _MAX_VALUES:
        raise UsageError(f"axis '{name}' has {len(values)} values", hint=f"at most {_MAX_VALUES}")
    _check_words(name, list(values))
    return Axis(name=name, values=tuple(values))


def _is_range(item: str) -> bool:
    is_path = "../" in item or item.startswith(("/", "./"))
    return ".." in item and not is_path


def _range(name: str, item: str) -> list[str]:
    first_text, _, last_text = (part.strip() for part in item.partition(".."))
    quantity = SEED_NUMBER if name == SEED else None
    if name not in _WORDS:
        quantity = setting_of(name).quantity
    if quantity is None or not (first_text and last_text):
        raise UsageError(f"'{name}={shortened(item)}' is not a range", hint=_HINT)
    try:
        first, last = quantity.parse(first_text), quantity.parse(last_text)
    except UsageError as cause:
        raise UsageError(f"{name}: {cause}", hint=cause.hint) from None
    if first > last:
        raise UsageError(
            f"'{name}={shortened(item)}': the range runs backwards",
            hint=f"did you mean {shortened(last_text)}..{shortened(first_text)}?",
        )
    if name == SEED:
        return [str(seed) for seed in range(first, min(last, first + _MAX_VALUES) + 1)]
    if first == 0:
        raise UsageError(
            f"'{name}={shortened(item)}': doubling 0 leads nowhere",
            hint=f"write {name}=0,... and a range",
        )
    return [quantity.format(value) for value in _doubled(first, last)]


def _doubled(first: int, last: int) -> list[int]:
    values = [first]
    while values[-1] * 2 <= last:
        values.append(values[-1] * 2)
    return values if values[-1] == last else [*values, last]


def _check_words(name: str, values: list[str]) -> None:
    """Refuse errors that can be seen without building anything."""
    known = {POLICY: policy_names(), MACHINE: machine_names()}.get(name)
    if known is not None:
        for value in values:
            is_file = is_own(value) if name == POLICY else value.endswith(".toml")
            if value not in known and not is_file:
                raise UsageError(
                    f"there is no {name} '{shortened(value)}'", hint=did_you_mean(value, known)
                )
    elif name not in _WORDS:
        setting: Setting = setting_of(name)
        for value in values:
            setting.check(value)
    elif name == SEED:
        for value in values:
            SEED_NUMBER.parse(value)

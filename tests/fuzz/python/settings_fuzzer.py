"""The settings of `isthmus sim` on the command line: `--set` and `--axis`."""

from functools import cache

from edits import Choices
from fuzzing import fuzz, require, require_readable
from isthmus.errors import UsageError
from isthmus.sim.axes import points, read_axes
from isthmus.sim.machine import ModelledMachine
from isthmus.sim.machine_files import load_machine
from isthmus.sim.points import Base, build_points
from isthmus.sim.policy import default_policy, policy_names
from isthmus.sim.running import check_setup
from isthmus.sim.settings import Setup, read_assignments, settings, with_settings

_SETTINGS = [*settings(), "seed", "policy", "machine", "workload", "policy.kind", "link.costs", "x"]
_BASE = Base(workload="bfs", machine="paper-gtx480", policy="ranges", seed=0, settings={})
_MAX_POINTS = 8


@cache
def _machine() -> ModelledMachine:
    return load_machine("paper-gtx480")


def check(data: bytes) -> None:
    """
    See that texts are refused in a line, or make a machine and points that can be checked.

    Of an input, the first byte says how it is used. Each line is an assignment or an axis; it may
    begin with a byte above 127, which stands for a setting's name.
    """
    choices = Choices(data)
    as_axes, policy = choices.number(2), choices.one_of(policy_names())
    texts = [_text(line) for line in choices.rest().split(b"\n")]
    try:
        if as_axes:
            _axes(texts)
        else:
            _assignments(texts, policy)
    except UsageError as error:
        require_readable(error)


def _text(line: bytes) -> str:
    name = line[:1]
    if name >= b"\x80":
        return f"{_SETTINGS[name[0] % len(_SETTINGS)]}={_decoded(line[1:])}"
    return _decoded(line)


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")


def _assignments(texts: list[str], policy: str) -> None:
    assignments = read_assignments(texts)
    setup = Setup(machine=_machine(), policy=default_policy(policy))
    changed = with_settings(setup, assignments)
    for name in assignments:
        setting = settings()[name]
        written = {name: setting.text(changed.value(name))}
        again = with_settings(changed, written)
        require(again.value(name) == changed.value(name), f"{written} is {again.value(name)}")
    check_setup(changed)


def _axes(texts: list[str]) -> None:
    axes = read_axes(texts)
    for axis in axes:
        require(len(set(axis.values)) == len(axis.values), f"{axis} has a value twice")
    if all(len(axis.values) <= _MAX_POINTS for axis in axes[:2]):
        build_points(_BASE, points(axes[:2])[:_MAX_POINTS])


if __name__ == "__main__":
    fuzz(check, max_bytes=512)

"""Runs one simulation: a workload or a trace, on a machine, under a policy."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.errors import UsageError
from isthmus.ground.extras import packages_for
from isthmus.ground.sizes import format_size
from isthmus.ground.spelling import did_you_mean, said, shortened
from isthmus.sim.machine import ModelledMachine, native_machine
from isthmus.sim.machine_files import DEFAULT_MACHINE, load_machine
from isthmus.sim.options import EvictionKind, Options, ProgrammerData
from isthmus.sim.own import check_own, native_own, policy_of
from isthmus.sim.policy import Kind, Policy
from isthmus.sim.quantities import SEED_NUMBER
from isthmus.sim.settings import Setup, check_sizes, with_settings

if TYPE_CHECKING:
    from isthmus import _native
    from isthmus.sim.result import SimulationResult

DEFAULT_POLICY = "ranges"
Poll = Callable[[int], bool]
"""Called regularly with the simulated picoseconds; False stops the run."""
_TRACE_SUFFIX = ".arrow"
# What block_64k and tree eviction move at once: cpp/src/pages/eviction.hpp.
_BLOCK_BYTES = 64 * 1024


def simulate(
    trace: "str | Path | _native.TraceSource",
    machine: str | Path | ModelledMachine = DEFAULT_MACHINE,
    policy: str | Path | type | Policy = DEFAULT_POLICY,
    *,
    settings: Mapping[str, str] | None = None,
    seed: int = 0,
    options: Options | None = None,
) -> "SimulationResult":
    """
    Simulate a program on a machine, which needn't exist.

    Args:
        trace: A workload's name, a trace file's path, or an open trace.
        machine: A machine's name or TOML file, or a machine.
        policy: A policy's name, or a policy. Or one of your own, whose code runs: the path of a
            library, `./mine.so`, or of a file in Python with a class, `mine.py:Mine`; or the class
            (docs/own-policies.md).
        settings: Settings of machine, policy and options, and sizes of a workload, by their
            dotted names: `{"link.bandwidth": "32GB/s", "workload.nodes": "131072"}`.
        seed: The seed of a workload's inputs. Equal seeds give identical results.
        options: Choices that belong to neither machine nor policy.

    Returns:
        Modelled numbers, meant for ratios between policies on one machine.

    Raises:
        UsageError: A name, value, machine or trace is invalid, or an own policy raises or answers
            what can't be.
        Error: The configuration deadlocks; the message says which parts wait for each other.
    """
    from isthmus import _native

    if not isinstance(trace, str | Path | _native.TraceSource):
        raise UsageError(f"{said(trace)} is no program: a workload's name or a trace's file is")
    if not isinstance(machine, str | Path | ModelledMachine):
        raise UsageError(f"{said(machine)} is no machine: a name or a TOML file is")
    setup = Setup(
        machine=machine if isinstance(machine, ModelledMachine) else load_machine(str(machine)),
        policy=policy_of(policy),
        options=options or Options(),
    )
    setup = _changed(setup, settings or {})
    if isinstance(trace, str | Path):
        return run(open_source(trace, seed, setup.sizes), setup)
    if setup.sizes:
        raise _fixed_sizes("an open trace", setup.sizes)
    return run(trace, setup)


def run(
    source: "_native.TraceSource",
    setup: Setup,
    *,
    poll: Poll | None = None,
    timeline: "_native.SimTimeline | None" = None,
) -> "SimulationResult":
    """
    Run a trace, from its first block, without the GIL; raises KeyboardInterrupt after Ctrl-C, or if
    `poll` returns False.
    """
    from isthmus import _native
    from isthmus.sim.native import native_options, native_policy

    with packages_for("simulations", "pip install 'isthmus[sim]'"):
        from isthmus.sim.result import result_of

    check_setup(setup)
    native = _native.simulate(
        native_machine(setup.machine),
        native_policy(setup.policy, setup.machine),
        native_options(setup.options, setup.policy.kind),
        source,
        poll=poll,
        timeline=timeline,
        own=native_own(setup),
    )
    return result_of(native)


def check_setup(setup: Setup) -> None:
    """Refuse an impossible machine or policy, before anything runs."""
    from isthmus.sim.native import native_policy

    native_machine(setup.machine)
    check_own(setup.policy)
    native_policy(setup.policy, setup.machine).check()
    if setup.policy.kind.migrates:
        _check_memory(setup)
    if setup.policy.kind is Kind.OVERLAPPED:
        _check_overlapped(setup)


def _check_overlapped(setup: Setup) -> None:
    wanted = setup.options.programmer_data
    if wanted is not ProgrammerData.UPLOADS:
        raise UsageError(
            f"overlapped copies what the program copies, not options.programmer_data={wanted}",
            hint="leave that setting out, or give -p programmer, which copies what is touched",
        )


def _check_memory(setup: Setup) -> None:
    memory, page = setup.machine.partitions.memory, setup.policy.page
    in_blocks = setup.options.eviction_kind in {EvictionKind.TREE, EvictionKind.BLOCK_64K}
    least = min(page, _BLOCK_BYTES) if in_blocks else page
    if memory < least:
        raise UsageError(
            f"partitions.memory={format_size(memory)} is less than the {format_size(least)} that "
            f"{setup.options.eviction_kind.value} eviction moves at once: nothing would fit",
            hint=f"give partitions.memory={format_size(least)} or more, or a smaller policy.page",
        )


def workload_names() -> list[str]:
    """List the workloads, those of Zhang 2019 first."""
    from isthmus import _native

    return [one.name for one in _native.workloads()]


def is_workload(name: str) -> bool:
    """Distinguish workloads from files."""
    return name in workload_names()


def open_source(
    name: str | Path, seed: int = 0, sizes: Mapping[str, int] | None = None
) -> "_native.TraceSource":
    """Open a workload by its name, or a trace by its file; sizes are in B, or counts."""
    sizes = sizes or {}
    if is_workload(str(name)):
        from isthmus import _native

        check_sizes(str(name), sizes)
        return _native.TraceSource.of_workload(str(name), SEED_NUMBER.parse(seed), sizes)
    if sizes:
        raise _fixed_sizes(f"'{shortened(str(name))}'", sizes)
    path = Path(name)
    if os.path.exists(name) or path.suffix == _TRACE_SUFFIX:  # noqa: PTH110 - of any name at all
        from isthmus.sim.trace.file import open_trace

        return open_trace(path)
    raise UsageError(
        f"there is no workload or trace file '{shortened(str(name))}'",
        hint=f"{did_you_mean(str(name), workload_names())} `isthmus sim list` lists the workloads",
    )


def check_workload(name: str, sizes: Mapping[str, int]) -> None:
    """Refuse what can't be simulated, before anything runs."""
    if is_workload(name):
        check_sizes(name, sizes)
    else:
        open_source(name, sizes=sizes)


def _fixed_sizes(what: str, sizes: Mapping[str, int]) -> UsageError:
    names = ", ".join(f"workload.{name}" for name in sizes)
    return UsageError(
        f"{what} is no workload, and has no sizes to choose",
        hint=f"leave out {names}; `isthmus sim list` lists the workloads and their sizes",
    )


def _changed(setup: Setup, given: object) -> Setup:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        hint = 'name them, as in {"policy.unit": "4KiB"}'
        raise UsageError(f"{said(given)} are no settings", hint=hint)
    return with_settings(setup, given)

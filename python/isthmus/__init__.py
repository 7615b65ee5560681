"""
Isthmus moves data between CPU and GPU as fast as the link allows, and shows why.

Importing this package imports nothing else: everything is loaded when it is first used.
"""

TYPE_CHECKING = False  # known to type checkers; importing typing takes a while
if TYPE_CHECKING:
    from isthmus import errors, pinned

    # Not in __all__: "from isthmus import *" would hide Numba and PyTorch.
    from isthmus import numba as numba
    from isthmus import torch as torch
    from isthmus.decide.advice.answer import Advice
    from isthmus.decide.advice.asking import advise
    from isthmus.decide.advice.offload import OffloadAdvice
    from isthmus.decide.profile.model import Profile
    from isthmus.errors import (
        CorruptTransfer,
        DriverError,
        Error,
        IsthmusWarning,
        OutOfDeviceMemory,
        Unavailable,
        UsageError,
    )
    from isthmus.ground.version import __version__
    from isthmus.measure.run.model import Result, Run
    from isthmus.move.arrays.accepted import ArrayLike, ArrayTree, DeviceArrayLike, StreamLike
    from isthmus.move.arrays.device_array import DeviceArray
    from isthmus.move.arrays.pointers import Blocks, DevicePointer, HostPointer
    from isthmus.move.device_memory import device_empty
    from isthmus.move.emulation import emulated
    from isthmus.move.paged.array import PagedArray, PagedStats
    from isthmus.move.paged.header import paged_header
    from isthmus.move.paged.row_cache import RowCache, RowCacheStats
    from isthmus.move.safetensors.loading import load_safetensors, safetensors_metadata
    from isthmus.move.safetensors.saving import save_safetensors
    from isthmus.move.torch.loading import load_pt
    from isthmus.move.transfer.blocks import BlockWay, PreparedCopy
    from isthmus.move.transfer.copying import copy, copy_async, explain, stats, trim
    from isthmus.move.transfer.copying_blocks import (
        check_blocks,
        copy_blocks,
        copy_many,
        plan_blocks,
        plan_many,
    )
    from isthmus.move.transfer.future import CopyFuture
    from isthmus.move.transfer.plan import CopyPlan, CopyStats, ManyPlan
    from isthmus.move.transfer.transfers import Transfers
    from isthmus.move.windows.opening import Window, Windows, window
    from isthmus.sim.result import SimulationResult
    from isthmus.sim.running import simulate
    from isthmus.watch import watch

__all__ = [
    "Advice",
    "ArrayLike",
    "ArrayTree",
    "BlockWay",
    "Blocks",
    "CopyFuture",
    "CopyPlan",
    "CopyStats",
    "CorruptTransfer",
    "DeviceArray",
    "DeviceArrayLike",
    "DevicePointer",
    "DriverError",
    "Error",
    "HostPointer",
    "IsthmusWarning",
    "ManyPlan",
    "OffloadAdvice",
    "OutOfDeviceMemory",
    "PagedArray",
    "PagedStats",
    "PreparedCopy",
    "Profile",
    "Result",
    "RowCache",
    "RowCacheStats",
    "Run",
    "SimulationResult",
    "StreamLike",
    "Transfers",
    "Unavailable",
    "UsageError",
    "Window",
    "Windows",
    "__version__",
    "advise",
    "check_blocks",
    "copy",
    "copy_async",
    "copy_blocks",
    "copy_many",
    "device_empty",
    "emulated",
    "errors",
    "explain",
    "load_pt",
    "load_safetensors",
    "paged_header",
    "pinned",
    "plan_blocks",
    "plan_many",
    "safetensors_metadata",
    "save_safetensors",
    "simulate",
    "stats",
    "trim",
    "watch",
    "window",
]

_LAZY = {
    "Advice": "isthmus.decide.advice.answer",
    "ArrayLike": "isthmus.move.arrays.accepted",
    "ArrayTree": "isthmus.move.arrays.accepted",
    "BlockWay": "isthmus.move.transfer.blocks",
    "Blocks": "isthmus.move.arrays.pointers",
    "CopyFuture": "isthmus.move.transfer.future",
    "CopyPlan": "isthmus.move.transfer.plan",
    "ManyPlan": "isthmus.move.transfer.plan",
    "CopyStats": "isthmus.move.transfer.plan",
    "CorruptTransfer": "isthmus.errors",
    "DeviceArray": "isthmus.move.arrays.device_array",
    "DeviceArrayLike": "isthmus.move.arrays.accepted",
    "DevicePointer": "isthmus.move.arrays.pointers",
    "DriverError": "isthmus.errors",
    "Error": "isthmus.errors",
    "HostPointer": "isthmus.move.arrays.pointers",
    "IsthmusWarning": "isthmus.errors",
    "OffloadAdvice": "isthmus.decide.advice.offload",
    "OutOfDeviceMemory": "isthmus.errors",
    "PagedArray": "isthmus.move.paged.array",
    "PagedStats": "isthmus.move.paged.array",
    "RowCache": "isthmus.move.paged.row_cache",
    "RowCacheStats": "isthmus.move.paged.row_cache",
    "PreparedCopy": "isthmus.move.transfer.blocks",
    "Profile": "isthmus.decide.profile.model",
    "Result": "isthmus.measure.run.model",
    "Run": "isthmus.measure.run.model",
    "SimulationResult": "isthmus.sim.result",
    "StreamLike": "isthmus.move.arrays.accepted",
    "Transfers": "isthmus.move.transfer.transfers",
    "Unavailable": "isthmus.errors",
    "UsageError": "isthmus.errors",
    "Window": "isthmus.move.windows.opening",
    "Windows": "isthmus.move.windows.opening",
    "__version__": "isthmus.ground.version",
    "advise": "isthmus.decide.advice.asking",
    "check_blocks": "isthmus.move.transfer.copying_blocks",
    "copy": "isthmus.move.transfer.copying",
    "copy_async": "isthmus.move.transfer.copying",
    "copy_blocks": "isthmus.move.transfer.copying_blocks",
    "copy_many": "isthmus.move.transfer.copying_blocks",
    "device_empty": "isthmus.move.device_memory",
    "emulated": "isthmus.move.emulation",
    "explain": "isthmus.move.transfer.copying",
    "load_pt": "isthmus.move.torch.loading",
    "load_safetensors": "isthmus.move.safetensors.loading",
    "paged_header": "isthmus.move.paged.header",
    "plan_blocks": "isthmus.move.transfer.copying_blocks",
    "plan_many": "isthmus.move.transfer.copying_blocks",
    "safetensors_metadata": "isthmus.move.safetensors.loading",
    "save_safetensors": "isthmus.move.safetensors.saving",
    "simulate": "isthmus.sim.running",
    "stats": "isthmus.move.transfer.copying",
    "trim": "isthmus.move.transfer.copying",
    "window": "isthmus.move.windows.opening",
}

# Calls of these are NVTX ranges, if ISTHMUS_NVTX is set.
_RANGED = {
    "copy",
    "copy_async",
    "copy_blocks",
    "load_pt",
    "load_safetensors",
    "save_safetensors",
    "window",
}

# `watch` is called, too.
_LAZY_MODULES = {"errors", "numba", "pinned", "torch", "watch"}


# A type checker would take every name for one that is loaded here.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load a public name when it is first used."""
        import importlib

        if name in _LAZY_MODULES:
            return importlib.import_module(f"isthmus.{name}")
        if name not in _LAZY:
            raise AttributeError(f"module 'isthmus' has no attribute {name!r}")
        value: object = getattr(importlib.import_module(_LAZY[name]), name)
        if name in _RANGED:
            from isthmus.ground.ranges import annotated

            value = annotated(value, f"isthmus.{name}")  # type: ignore[type-var] # a function
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)

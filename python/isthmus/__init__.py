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
    from isthmus.advice.answer import Advice
    from isthmus.advice.asking import advise
    from isthmus.advice.offload import OffloadAdvice
    from isthmus.arrays.accepted import ArrayLike, ArrayTree, DeviceArrayLike, StreamLike
    from isthmus.arrays.device_array import DeviceArray
    from isthmus.arrays.pointers import DevicePointer, HostPointer
    from isthmus.device_memory import device_empty, device_name
    from isthmus.emulation import emulated
    from isthmus.errors import (
        CorruptTransfer,
        DriverError,
        Error,
        IsthmusWarning,
        OutOfDeviceMemory,
        Unavailable,
        UsageError,
    )
    from isthmus.ground.sizes import format_size, parse_sizes
    from isthmus.paged.array import PagedArray, PagedStats
    from isthmus.paged.header import paged_header
    from isthmus.profile.model import Profile
    from isthmus.run.model import Result, Run
    from isthmus.safetensors.loading import load_safetensors, safetensors_metadata
    from isthmus.safetensors.saving import save_safetensors
    from isthmus.sim.result import SimulationResult
    from isthmus.sim.running import simulate
    from isthmus.torch.loading import load_pt
    from isthmus.transfer.copying import copy, copy_async, explain, stats, trim
    from isthmus.transfer.future import CopyFuture
    from isthmus.transfer.plan import CopyPlan, ManyPlan
    from isthmus.transfer.statistics import CopyStats
    from isthmus.transfer.transfers import Transfers
    from isthmus.windows.opening import Window, Windows, window

__version__ = "0.1.0"

__all__ = [
    "Advice",
    "ArrayLike",
    "ArrayTree",
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
    "Profile",
    "Result",
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
    "copy",
    "copy_async",
    "device_empty",
    "device_name",
    "emulated",
    "errors",
    "explain",
    "format_size",
    "load_pt",
    "load_safetensors",
    "paged_header",
    "parse_sizes",
    "pinned",
    "safetensors_metadata",
    "save_safetensors",
    "simulate",
    "stats",
    "trim",
    "window",
]

_LAZY = {
    "Advice": "isthmus.advice.answer",
    "ArrayLike": "isthmus.arrays.accepted",
    "ArrayTree": "isthmus.arrays.accepted",
    "CopyFuture": "isthmus.transfer.future",
    "CopyPlan": "isthmus.transfer.plan",
    "ManyPlan": "isthmus.transfer.plan",
    "CopyStats": "isthmus.transfer.statistics",
    "CorruptTransfer": "isthmus.errors",
    "DeviceArray": "isthmus.arrays.device_array",
    "DeviceArrayLike": "isthmus.arrays.accepted",
    "DevicePointer": "isthmus.arrays.pointers",
    "DriverError": "isthmus.errors",
    "Error": "isthmus.errors",
    "HostPointer": "isthmus.arrays.pointers",
    "IsthmusWarning": "isthmus.errors",
    "OffloadAdvice": "isthmus.advice.offload",
    "OutOfDeviceMemory": "isthmus.errors",
    "PagedArray": "isthmus.paged.array",
    "PagedStats": "isthmus.paged.array",
    "Profile": "isthmus.profile.model",
    "Result": "isthmus.run.model",
    "Run": "isthmus.run.model",
    "SimulationResult": "isthmus.sim.result",
    "StreamLike": "isthmus.arrays.accepted",
    "Transfers": "isthmus.transfer.transfers",
    "Unavailable": "isthmus.errors",
    "UsageError": "isthmus.errors",
    "Window": "isthmus.windows.opening",
    "Windows": "isthmus.windows.opening",
    "advise": "isthmus.advice.asking",
    "copy": "isthmus.transfer.copying",
    "copy_async": "isthmus.transfer.copying",
    "device_empty": "isthmus.device_memory",
    "device_name": "isthmus.device_memory",
    "emulated": "isthmus.emulation",
    "explain": "isthmus.transfer.copying",
    "format_size": "isthmus.ground.sizes",
    "load_pt": "isthmus.torch.loading",
    "load_safetensors": "isthmus.safetensors.loading",
    "paged_header": "isthmus.paged.header",
    "parse_sizes": "isthmus.ground.sizes",
    "safetensors_metadata": "isthmus.safetensors.loading",
    "save_safetensors": "isthmus.safetensors.saving",
    "simulate": "isthmus.sim.running",
    "stats": "isthmus.transfer.copying",
    "trim": "isthmus.transfer.copying",
    "window": "isthmus.windows.opening",
}

# Calls of these are NVTX ranges, if ISTHMUS_NVTX is set.
_RANGED = {"copy", "copy_async", "load_pt", "load_safetensors", "save_safetensors", "window"}

_LAZY_MODULES = {"errors", "numba", "pinned", "torch"}


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

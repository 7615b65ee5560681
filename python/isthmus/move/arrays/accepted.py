"""
What the calls of this package take, for type checkers: arrays, GPU arrays, streams.

Nothing is checked by these types when a program runs: the readers of arrays do that.
"""

from collections.abc import Mapping
from typing import Any, Protocol, SupportsIndex

from isthmus.move.arrays.pointers import DevicePointer, HostPointer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numpy.typing import DTypeLike
    from typing_extensions import Buffer
else:
    Buffer = Any  # in collections.abc from Python 3.12 on
    DTypeLike = Any  # NumPy need not be installed


class SupportsDLPack(Protocol):
    """An array that its library exports by DLPack: NumPy, PyTorch, CuPy, JAX."""

    def __dlpack__(self, *arguments: Any, **options: Any) -> Any:
        """Export the memory."""

    def __dlpack_device__(self) -> Any:
        """Say where the memory is."""


class SupportsCudaArrayInterface(Protocol):
    """An array in a GPU's memory that describes itself: CuPy, Numba, RMM."""

    @property
    def __cuda_array_interface__(self) -> Any:
        """Describe the memory."""


class SupportsArrayInterface(Protocol):
    """An array in the host's memory that describes itself: NumPy."""

    @property
    def __array_interface__(self) -> Any:
        """Describe the memory."""


class SupportsCudaStream(Protocol):
    """A stream of cuda.core and others."""

    def __cuda_stream__(self) -> Any:
        """Give the protocol's version and the CUstream."""


class TorchStream(Protocol):
    """A stream of PyTorch."""

    @property
    def cuda_stream(self) -> Any:
        """The CUstream."""


class CupyStream(Protocol):
    """A stream of CuPy."""

    @property
    def ptr(self) -> Any:
        """The CUstream."""


class TorchDType(Protocol):
    """A type of PyTorch's items."""

    @property
    def is_floating_point(self) -> bool:
        """Tell whether it is of floats."""


class TorchDevice(Protocol):
    """A device of PyTorch."""

    @property
    def type(self) -> str:
        """Its kind: "cuda"."""

    @property
    def index(self) -> Any:
        """Its ordinal, or None for the current one."""


class CupyDevice(Protocol):
    """A device of CuPy or JAX."""

    @property
    def id(self) -> Any:
        """Its ordinal."""


# Contiguous bytes in the host's memory. Before Python 3.12 NumPy's arrays don't tell type checkers
# that they are buffers.
BytesLike = Buffer | SupportsArrayInterface
# An array in a GPU's memory: what a window can be opened on.
DeviceArrayLike = SupportsDLPack | SupportsCudaArrayInterface | DevicePointer
# An array, bytes, or a pointer, on the host or a GPU: what can be copied.
ArrayLike = DeviceArrayLike | BytesLike | HostPointer


# What a list of arrays holds. Deeper lists aren't checked: a str is a sequence of strings for ever.
_Item = ArrayLike | list[Any] | tuple[Any, ...] | Mapping[Any, Any]


class ArrayList(Protocol):
    """A list or tuple of arrays, or of such structures."""

    def __getitem__(self, index: SupportsIndex, /) -> _Item:
        """Give an item."""

    def __len__(self) -> int:
        """Count the items."""


class TorchModule(Protocol):
    """A module of PyTorch, which means its parameters and buffers by name."""

    def state_dict(self) -> Any:
        """Give them."""

    def named_parameters(self) -> Any:
        """Optimizers don't have this."""


# Lists, tuples and mappings of arrays, nested to any depth. The values of a mapping are often of
# several types, for which type checkers find only "object".
Structure = ArrayList | Mapping[Any, Any] | TorchModule
# What one call can copy.
ArrayTree = ArrayLike | Structure
# A GPU by its ordinal, as "cuda:ORDINAL", or as a library has it.
DeviceLike = SupportsIndex | str | TorchDevice | CupyDevice
# The type of an array's items, as NumPy, ml_dtypes or PyTorch has it, or its name.
ItemType = DTypeLike | TorchDType
# A CUstream as an integer, or a stream of any library.
StreamLike = SupportsIndex | SupportsCudaStream | TorchStream | CupyStream

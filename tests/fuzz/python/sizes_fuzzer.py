"""Sizes, lists of sizes, quantities with units and tolerances, as people type them."""

from collections.abc import Callable

from fuzzing import fuzz, require, require_readable
from isthmus.cli.compare.tolerance import parse_tolerance
from isthmus.errors import UsageError
from isthmus.ground.sizes import approximate_size, format_size, parse_size, parse_sizes
from isthmus.sim.quantities import (
    BANDWIDTH,
    COUNT,
    DURATION,
    EXTENT,
    FREQUENCY,
    MEMORY,
    NUMBER,
    SEED_NUMBER,
    SIZE,
    Quantity,
)

_QUANTITIES = (BANDWIDTH, DURATION, FREQUENCY, SIZE, EXTENT, MEMORY, COUNT, NUMBER, SEED_NUMBER)


def check(data: bytes) -> None:
    """Check that a text is refused in one line, or that its value can be written and read back."""
    text = data.decode("utf-8", "surrogateescape")
    for reader in (_size, _sizes, _tolerance, *(_reader_of(one) for one in _QUANTITIES)):
        try:
            reader(text)
        except UsageError as error:
            require_readable(error)


def _size(text: str) -> None:
    size_bytes = parse_size(text)
    require(0 < size_bytes < 1 << 63, f"{size_bytes} bytes")
    require(parse_size(format_size(size_bytes)) == size_bytes, format_size(size_bytes))
    require(approximate_size(size_bytes).isprintable(), approximate_size(size_bytes))
    require(parse_sizes(text) == [size_bytes], "a size is another one in a list")


def _sizes(text: str) -> None:
    sizes = parse_sizes(text)
    require(sizes == sorted(set(sizes)), f"sizes {sizes}")
    again = parse_sizes(",".join(map(format_size, sizes)))
    require(again == sizes, f"sizes {sizes} as {again}")


def _tolerance(text: str) -> None:
    require(0 <= parse_tolerance(text) < 1, "a tolerance of 100 %")


def _reader_of(quantity: Quantity) -> Callable[[str], None]:
    def read(text: str) -> None:
        value = quantity.parse(text)
        require(0 <= value <= quantity.most, f"{quantity.noun} {value}")
        require(quantity.parse(quantity.format(value)) == value, quantity.format(value))

    return read


if __name__ == "__main__":
    fuzz(check, max_bytes=512)

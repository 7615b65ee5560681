"""
The programs of suite `paging`, which `isthmus bench` runs and `isthmus sim validate` predicts.

A result names the program and has the memory that it allocates; this table has the rest.
"""

from dataclasses import dataclass

from isthmus.measure.run.naming import Kind

SEED = 1
"""Of the programs' inputs."""
WAY, UNIT = "way", "unit"
"""A result's axes: how the data gets to the GPU, and the unit of a paged array, in bytes."""
USUAL_UNIT_BYTES = 1024
Sizes = tuple[tuple[str, int], ...]


@dataclass(frozen=True, kw_only=True)
class Input:
    """An input of a program."""

    memory_bytes: int
    sizes: Sizes


@dataclass(frozen=True, kw_only=True)
class Program:
    """
    One of the ten programs of Zhang 2019.

    Attributes:
        large: The input for a GPU: so large that launches take little of the time, and where the
            program lets one choose, computing and copying take about as long.
        small: The input for the emulated device, which runs one thread after the other.
    """

    name: str
    about: str
    workload: str
    large: Input
    small: Input

    @property
    def test(self) -> str:
        """The name of its test."""
        return f"{Kind.PAGING}_{self.name}"


def _input(memory_bytes: int, **sizes: int) -> Input:
    return Input(memory_bytes=memory_bytes, sizes=tuple(sizes.items()))


# docs/bench.md has what the sizes balance. cp, lib and ray copy nothing to the GPU; nn and sto
# compute so much for each byte that no size balances them, and lps so little.
PROGRAMS: tuple[Program, ...] = (
    Program(
        name="bfs",
        about="breadth-first search",
        workload="bfs",
        large=_input(96_469_248, nodes=1 << 21, edges=8),
        small=_input(61_696, nodes=2048, edges=4),
    ),
    Program(
        name="mum",
        about="DNA in a suffix tree",
        workload="mum-1400k",
        large=_input(160_201_472, letters=1_400_000, reads=1_000_000),
        small=_input(4_563_712, letters=1000, reads=500),
    ),
    Program(
        name="nn",
        about="a convolutional network",
        workload="nn",
        large=_input(3_109_376, digits=200),
        small=_input(550_144, digits=1),
    ),
    Program(
        name="cp",
        about="a Coulomb potential",
        workload="cp",
        large=_input(16_777_216, size=2048, atoms=200),
        small=_input(16_384, size=64, atoms=5),
    ),
    Program(
        name="lps",
        about="a step of Laplace's equation",
        workload="lps",
        large=_input(262_144_000, size=320),
        small=_input(64_000, size=20),
    ),
    Program(
        name="lib",
        about="Monte Carlo of interest rates",
        workload="lib",
        large=_input(524_288, paths=65536),
        small=_input(512, paths=64),
    ),
    Program(
        name="wp",
        about="the water of a weather model",
        workload="wp",
        large=_input(149_422_080, columns=512, rows=256),
        small=_input(72_960, columns=8, rows=8),
    ),
    Program(
        name="aes",
        about="AES-128",
        workload="aes",
        large=_input(134_217_984, bytes=64 << 20),
        small=_input(33_024, bytes=16384),
    ),
    Program(
        name="ray",
        about="a ray-traced picture",
        workload="ray",
        large=_input(4_194_304, size=1024, spheres=32),
        small=_input(4_194_304, size=32, spheres=4),
    ),
    Program(
        name="sto",
        about="SHA-1 of a sliding window",
        workload="sto",
        large=_input(67_109_120, windows=1 << 23),
        small=_input(8_448, windows=1024),
    ),
)

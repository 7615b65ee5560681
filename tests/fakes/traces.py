"""Small traces: of made-up programs, and as Accel-Sim writes them."""

import re
import struct
from pathlib import Path

import numpy as np

from isthmus import _native

LOAD, STORE, ATOMIC, LOCAL_LOAD, LOCAL_STORE, BARRIER, END = range(7)


def program(
    *, num_ctas: tuple[int, ...] = (2, 1), description: str = "made up"
) -> _native.TraceProgram:
    """A program of launches of CTAs of two warps."""
    launches = [
        _native.TraceLaunch(
            f"kernel {number}",
            num_ctas=count,
            warps_per_cta=2,
            threads_per_cta=40,
            max_ctas_per_sm=3,
            local_bytes_per_thread=64,
            before=[_native.TraceHostStep("upload", 0xC0000000, 4096, number or None)],
            stream=number,
        )
        for number, count in enumerate(num_ctas)
    ]
    return _native.TraceProgram(
        "small",
        description=description,
        synthetic=True,
        allocations=[_native.TraceAllocation("data", 0xC0000000, 1 << 20)],
        launches=launches,
        after=[_native.TraceHostStep("download", 0xC0000000, 256)],
        thread_instructions=1234,
    )


def block(launch: int, first_cta: int, num_ctas: int) -> list[np.ndarray]:
    """Seven arrays: each warp loads two lines, stores one of local memory, and ends."""
    num_warps = 2 * num_ctas
    ctas = np.arange(first_cta, first_cta + num_ctas, dtype=np.uint32)
    first_line = 0xC0000000 // 128 + 100 * launch + 10 * first_cta
    lines = [[first_line + warp, first_line + 50 + warp, warp % 16] for warp in range(num_warps)]
    return [
        np.full(num_warps, launch, np.uint32),
        np.repeat(ctas, 2),
        np.arange(num_warps + 1, dtype=np.uint32) * 3,
        np.tile(np.array([LOAD, LOCAL_STORE, END], np.uint8), num_warps),
        np.arange(3 * num_warps, dtype=np.uint32),
        np.cumsum([0] + [2, 1, 0] * num_warps, dtype=np.uint32),
        np.array(lines, np.uint64).reshape(-1),
    ]


def source(blocks: list[list[np.ndarray]] | None = None) -> _native.TraceSource:
    """The program's trace in three blocks, or in others."""
    given = [block(0, 0, 1), block(0, 1, 1), block(1, 0, 1)] if blocks is None else blocks
    return _native.TraceSource("fake", program(), len(given), given.__getitem__)


def contents(trace: _native.TraceSource) -> list[tuple[object, ...]]:
    """Everything a trace holds, as plain numbers."""
    trace.rewind()
    found = []
    while (piece := trace.next()) is not None:
        arrays = (piece.op_begin, piece.kinds, piece.compute, piece.line_begin, piece.lines)
        found.append(
            (piece.launch, piece.first_cta, piece.num_ctas, *(each.tolist() for each in arrays))
        )
        del arrays
    return found


HEADER = """\
-kernel name = _Z5levelPi
-kernel id = {number}
-grid dim = ({num_ctas},1,1)
-block dim = (32,1,1)
-shmem = 0
-nregs = 32
-binary version = 70
-cuda stream id = {stream}
-shmem base_addr = 0x00007f1300000000
-local mem base_addr = 0x00007f12a5000000
-nvbit version = 1.7
-accelsim tracer version = {version}
-enable lineinfo = 0

#traces format = PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width ...
"""

LOAD_LINE = "0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f1269c00000 4 0 "
EXIT_LINE = "0100 ffffffff 0 EXIT 0 0 0 "


def kernel_text(
    *instructions: str, num_ctas: int = 2, number: int = 1, stream: int = 0, version: int = 5
) -> str:
    """A kernel of CTAs of one warp that all do the same."""
    text = HEADER.format(num_ctas=num_ctas, number=number, stream=stream, version=version)
    lines = [*instructions, EXIT_LINE]
    for cta in range(num_ctas):
        text += f"\n#BEGIN_TB\n\nthread block = {cta},0,0\n\nwarp = 0\ninsts = {len(lines)}\n"
        text += "\n".join(lines) + "\n\n#END_TB\n"
    return text


def write_kernels(folder: Path, *texts: str, commands: str | None = None) -> Path:
    """Write a kernelslist.g and its kernels; give the list."""
    names = [f"kernel-{number}.traceg" for number in range(1, len(texts) + 1)]
    for name, text in zip(names, texts, strict=True):
        (folder / name).write_text(text)
    upload = "MemcpyHtoD,0x00007f1269c00000,4096\n"
    kernels_list = folder / "kernelslist.g"
    kernels_list.write_text(upload + "\n".join(names) + "\n" if commands is None else commands)
    return kernels_list


# Of a kernel of CTAs of one warp, as each version of the tracer writes them. Source: Accel-Sim's
# tracer and its reader.
LINES_OF_VERSIONS = {
    "1.2": (
        "0 0 0 0 0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x00007f1269c00000 4 ",
        "0 0 0 0 0100 ffffffff 0 EXIT 0 0 ",
    ),
    "2": (
        "0 0 0 0 0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x00007f1269c00000 4 ",
        "0 0 0 0 0100 ffffffff 0 EXIT 0 0 ",
    ),
    "3": (
        "0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f1269c00000 4 ",
        "0100 ffffffff 0 EXIT 0 0 ",
    ),
    "4": (
        "0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f1269c00000 4 0 ",
        "0100 ffffffff 0 EXIT 0 0 0 ",
    ),
    "5": (
        "0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f1269c00000 4 0 0 ",
        "0100 ffffffff 0 EXIT 0 0 0 -1 ",
    ),
    "6": (
        "0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f1269c00000 4 0 0 NoVal ",
        "0100 ffffffff 0 EXIT 0 0 3 192 NoVal ",
    ),
}


def versioned_text(version: str, *, num_ctas: int = 2) -> str:
    """A kernel whose CTAs load one line, as a version of the tracer writes it."""
    text = HEADER.format(num_ctas=num_ctas, number=1, stream=0, version=version)
    lines = "\n".join(LINES_OF_VERSIONS[version])
    for cta in range(num_ctas):
        text += f"\n#BEGIN_TB\n\nthread block = {cta},0,0\n"
        text += f"\nwarp = 0\ninsts = 2\n{lines}\n\n#END_TB\n"
    return text


def tracez(text: str, *, per_piece: int = 1, dictionary: bytes = b"") -> bytes:
    """Pack the text of a kernel as Accel-Sim 2.0 does; `dictionary` is trained, or any bytes."""
    from isthmus.sim.trace.tracez import zstd

    header, *ctas = text.split("#BEGIN_TB\n")
    trained = dictionary.startswith(b"\x37\xa4\x30\xec")
    words = zstd.ZstdDict(dictionary, is_raw=not trained) if dictionary else None
    packed = header.encode() + b"\0"
    packed += struct.pack("<2I", len(dictionary), per_piece) + dictionary
    index = struct.pack("<I", len(ctas))
    for cta in ctas:
        place, *warps = re.split(r"\nwarp = \d+\ninsts = \d+\n", cta.split("\n#END_TB")[0])
        numbers = map(int, re.findall(r"\d+", place.split("=")[1].split("\n")[0]))
        index += struct.pack("<11I", *numbers, *(0,) * 7, len(warps))
        for warp in warps:
            lines = warp.strip("\n").split("\n") if warp.strip("\n") else []
            pieces = [lines[i : i + per_piece] for i in range(0, len(lines), per_piece)]
            index += struct.pack("<2IQ", len(lines), len(pieces), len(packed))
            index += struct.pack(f"<{len(pieces)}I", *map(len, pieces))
            packed += struct.pack("<2I", len(lines), len(pieces))
            for piece in pieces:
                frame = zstd.compress("\n".join(piece).encode(), 3, zstd_dict=words)
                packed += struct.pack("<I", len(frame)) + frame
    return packed + index + struct.pack("<Q", len(packed))

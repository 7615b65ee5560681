"""Packed kernels: the text is what was packed; what is truncated or corrupt is refused."""

import gzip
import lzma
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.traces import tracez, versioned_text
from isthmus.errors import Unavailable, UsageError
from isthmus.sim.trace.text import text_pieces
from isthmus.sim.trace.tracez import zstd
from isthmus.sim.trace.unpacking import MAX_UNPACKING_BYTES

TEXT = versioned_text("6")
# What Accel-Sim 2.0 adds to each CTA.
CLUSTER = "cluster id = 0,0,0\ncluster cta = 0,0,0\ncluster rank = 0\n"


def trained() -> bytes:
    """A dictionary as Accel-Sim 2.0 makes it."""
    lines = [f"{n:04x} ffffffff 1 R{n % 99} IADD3 2 R{n % 9} R4 0 {n} 0 NoVal " for n in range(800)]
    return zstd.train_dict([line.encode() for line in lines], 2000).dict_content


def read(path: Path) -> bytes:
    return b"".join(text_pieces(path))


def written(folder: Path, name: str, contents: bytes) -> Path:
    path = folder / name
    path.write_bytes(contents)
    return path


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "kernel-1.traceg.xz": lzma.compress,
    "kernel-1.traceg.gz": gzip.compress,
    "kernel-1.traceg.zst": lambda text: zstd.compress(
        text, options={zstd.CompressionParameter.checksum_flag: 1}
    ),
}


@pytest.mark.parametrize("name", PACKINGS)
def test_a_packed_file_has_one_stream_or_several(tmp_path: Path, name: str) -> None:
    pack, text = PACKINGS[name], TEXT.encode()
    path = written(tmp_path, name, pack(text))
    assert read(path) == text
    path.write_bytes(pack(text[:100]) + pack(text[100:]))
    assert read(path) == text


@pytest.mark.parametrize("name", PACKINGS)
def test_any_truncation_of_a_packed_file_is_refused(tmp_path: Path, name: str) -> None:
    packed = PACKINGS[name](TEXT.encode())
    for size in range(len(packed)):
        path = written(tmp_path, name, packed[:size])
        with pytest.raises(UsageError, match="is corrupt or truncated"):
            read(path)


@pytest.mark.parametrize("name", PACKINGS)
def test_a_wrong_byte_of_a_packed_file_is_refused_or_does_not_matter(
    tmp_path: Path, name: str
) -> None:
    packed = PACKINGS[name](TEXT.encode())
    for place in range(len(packed)):
        broken = bytearray(packed)
        broken[place] ^= 0x10
        path = written(tmp_path, name, bytes(broken))
        try:
            # Such as the time in a header of gzip.
            assert read(path) == TEXT.encode()
        except UsageError as error:
            assert "is corrupt or truncated" in str(error)  # noqa: PT017 - either is right


@pytest.mark.parametrize("per_piece", [1, 2, 2048])
@pytest.mark.parametrize("dictionary", [b"", b"0010 ffffffff 1 R4 LDG.E ", trained()])
def test_a_tracez_file_has_the_text_of_the_traceg_file(
    tmp_path: Path, dictionary: bytes, per_piece: int
) -> None:
    packed = tracez(TEXT, per_piece=per_piece, dictionary=dictionary)
    found = read(written(tmp_path, "kernel-1.tracez", packed)).decode()
    assert found.count(CLUSTER) == 2
    assert [line for line in found.replace(CLUSTER, "").splitlines() if line] == [
        line for line in TEXT.splitlines() if line
    ]


@pytest.mark.long
def test_any_truncation_of_a_tracez_file_is_refused(tmp_path: Path) -> None:
    packed = tracez(TEXT, dictionary=trained())
    for size in range(len(packed)):
        path = written(tmp_path, "kernel-1.tracez", packed[:size])
        with pytest.raises(UsageError, match="is corrupt or truncated"):
            read(path)


def test_a_wrong_byte_of_a_tracez_file_gives_text_or_a_refusal(tmp_path: Path) -> None:
    """Its frames have no checksums, so a wrong byte may give another text; import checks that."""
    packed = tracez(TEXT)
    for place in range(len(packed)):
        broken = bytearray(packed)
        broken[place] ^= 0x10
        path = written(tmp_path, "kernel-1.tracez", bytes(broken))
        try:
            read(path)
        except UsageError as error:
            assert "is corrupt or truncated" in str(error)  # noqa: PT017 - either is right


def number_at(packed: bytes, place: int, value: int, kind: str = "<I") -> bytes:
    changed = bytearray(packed)
    struct.pack_into(kind, changed, place, value)
    return bytes(changed)


def test_what_contradicts_itself_is_said(tmp_path: Path) -> None:
    packed = tracez(versioned_text("6", num_ctas=1))
    header = packed.index(b"\0") + 1
    warp, (index,) = header + 8, struct.unpack("<Q", packed[-8:])
    in_index = index + 4 + 44
    broken = {
        "its header has no end": packed[: header - 1],
        "its dictionary would have 4294967295 bytes": number_at(packed, header, 2**32 - 1),
        "its index can't be at 3": number_at(packed, len(packed) - 8, 3, "<Q"),
        "its index ends at": number_at(packed, index, 0),
        "its index disagrees with the warp": number_at(packed, warp, 7),
        f"a warp is at {warp}, but its index says": number_at(packed, in_index + 8, 0, "<Q"),
        "its warps end at": packed[:index] + bytes(4) + packed[-8:],
        "1000 bytes at .* are not there": number_at(packed, warp + 8, 1000),
        f"a piece would have {2**32 - 1} bytes": number_at(packed, warp + 8, 2**32 - 1),
        "its dictionary: ": number_at(packed, header, 3),
        "dictionary content": number_at(
            tracez(TEXT, dictionary=b"0123456789"), TEXT.index("#BEGIN_TB") + 1 + 8, 0xEC30A437
        ),
    }
    for why, contents in broken.items():
        with pytest.raises(UsageError, match=rf"kernel-1\.tracez is corrupt or truncated: .*{why}"):
            read(written(tmp_path, "kernel-1.tracez", contents))


def test_a_frame_that_needs_too_much_memory_is_refused(tmp_path: Path) -> None:
    window: dict[int, int] = {
        zstd.CompressionParameter.window_log: MAX_UNPACKING_BYTES.bit_length()
    }
    packing = zstd.ZstdCompressor(options=window)
    # Without its length, a frame needs the whole window.
    packed = packing.compress(b"text") + packing.flush()
    with pytest.raises(UsageError, match="is corrupt or truncated"):
        read(written(tmp_path, "kernel-1.traceg.zst", packed))


def test_much_text_in_a_small_file_comes_in_pieces(tmp_path: Path) -> None:
    path = written(tmp_path, "kernel-1.traceg.zst", zstd.compress(bytes(64 << 20)))
    sizes = [len(piece) for piece in text_pieces(path)]
    assert max(sizes) <= 1 << 20
    assert sum(sizes) == 64 << 20


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("isthmus.sim.trace.tracez", raising=False)
    monkeypatch.setitem(sys.modules, "isthmus.sim.trace.tracez", None)
    with pytest.raises(Unavailable, match=r"kernel-1\.tracez unavailable: .*isthmus\[sim\]"):
        read(tmp_path / "kernel-1.tracez")

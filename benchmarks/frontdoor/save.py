"""
Saves tensors of a GPU to a file, in turns with the disk alone and with other writers.

    python benchmarks/frontdoor/save.py [--out FILE] [--gib 1] [--folder FOLDER] [--rounds 3]
        [--max-seconds 30]

"disk" writes as many bytes from aligned host memory: by O_DIRECT with 1 to 16 threads into a file
whose room is reserved, and through the page cache. Durable contestants end with fsync(), the others
when the page cache has the bytes. Every file is new, and is deleted untimed. The file of Isthmus is
compared with the tensors once.
"""

import argparse
import io
import mmap
import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import isthmus
from isthmus import _native
from isthmus.ground.json_text import json_text

sys.path.insert(0, str(Path(__file__).parents[1] / "transfer"))
from contestants import optional
from file_options import file_options
from machine import machine_facts

GIB, MIB, KIB = 1 << 30, 1 << 20, 1 << 10
WRITE_BYTES = 4 * MIB
THREADS = (1, 4, 8, 16)
# The tensors of a layer, over and over.
LAYER = (32 * MIB, 8 * MIB, 8 * MIB, 32 * MIB, 86 * MIB, 86 * MIB, 86 * MIB, 8 * KIB, 8 * KIB)

Writer = Callable[[Path], None]


class Model:
    """Tensors of random bytes in device memory."""

    def __init__(self, total_bytes: int) -> None:
        """Make them: with PyTorch on a GPU, by addresses on the emulated device."""
        self.torch = optional("torch")
        self.kept: list[Any] = []
        driver = _native.Driver.open()
        if driver.emulated or self.torch is None or not self.torch.cuda.is_available():
            self.torch = None
            self.context = _native.Context(driver, 0)
        self.tensors = {
            f"layer.{index}": self._tensor(size) for index, size in enumerate(sizes(total_bytes))
        }

    def _tensor(self, size: int) -> Any:  # noqa: ANN401 - PyTorch's, or a pointer
        if self.torch is None:
            memory = _native.DeviceMemory(self.context, size)
            memory.write(os.urandom(size))
            self.kept.append(memory)
            return isthmus.DevicePointer(memory.pointer, size)
        shape = (size // 2048, 1024)
        return self.torch.randint(
            -(2**15), 2**15 - 1, shape, dtype=self.torch.int16, device="cuda"
        ).view(self.torch.bfloat16)

    @property
    def num_bytes(self) -> int:
        """Count them."""
        return sum(sizes_of(self.tensors))


def sizes_of(tensors: dict[str, Any]) -> list[int]:
    """Give the bytes of each tensor."""
    return [tensor.nbytes for tensor in tensors.values()]


def sizes(total_bytes: int) -> list[int]:
    """Repeat a layer's tensors until there are enough bytes."""
    found: list[int] = []
    while sum(found) < total_bytes:
        found.append(LAYER[len(found) % len(LAYER)])
    return found


def write_directly(path: Path, num_bytes: int, num_threads: int) -> None:
    """Write past the page cache by threads, each from a buffer of its own."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600)
    os.posix_fallocate(descriptor, 0, num_bytes)

    def write_some(thread: int) -> None:
        for offset in range(thread * WRITE_BYTES, num_bytes, num_threads * WRITE_BYTES):
            os.pwrite(descriptor, BUFFERS[thread], offset)

    with ThreadPoolExecutor(num_threads) as pool:
        list(pool.map(write_some, range(num_threads)))
    os.fsync(descriptor)
    os.close(descriptor)


def write_through_cache(path: Path, num_bytes: int, *, durable: bool) -> None:
    """Write by one thread, as dd does."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    for _ in range(0, num_bytes, WRITE_BYTES):
        os.write(descriptor, BUFFERS[0])
    if durable:
        os.fsync(descriptor)
    os.close(descriptor)


def synced(path: Path) -> None:
    """Make a file durable."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def random_buffer() -> mmap.mmap:
    """Make aligned memory."""
    buffer = mmap.mmap(-1, WRITE_BYTES)
    buffer.write(os.urandom(WRITE_BYTES))
    return buffer


BUFFERS = [random_buffer() for _ in range(max(THREADS))]


def writers(model: Model, folder: Path) -> dict[str, Writer]:
    """Prepare each contestant."""
    num_bytes = -(-model.num_bytes // WRITE_BYTES) * WRITE_BYTES
    found: dict[str, Writer] = {
        "disk, through the cache, durable": lambda path: write_through_cache(
            path, num_bytes, durable=True
        ),
        "disk, through the cache": lambda path: write_through_cache(path, num_bytes, durable=False),
        "isthmus, durable": lambda path: isthmus.save_safetensors(model.tensors, path),
        "isthmus": lambda path: isthmus.save_safetensors(model.tensors, path, durable=False),
    }
    if allows_direct_writes(folder):
        found |= {
            f"disk, O_DIRECT, {n} threads, durable": lambda path, n=n: write_directly(
                path, num_bytes, n
            )
            for n in THREADS
        }
    return found | others(model)


def others(model: Model) -> dict[str, Writer]:
    """Prepare PyTorch's and safetensors' writers, as far as they are here."""
    torch, safetensors = model.torch, optional("safetensors.torch")
    if torch is None:
        return {}

    def save_by_torch(path: Path) -> None:
        torch.save(model.tensors, path)
        synced(path)

    found: dict[str, Writer] = {
        "torch.save, durable": save_by_torch,
        "torch.save": lambda path: torch.save(model.tensors, path),
    }
    if safetensors is not None:
        # It takes tensors of the host alone in some versions, and copies them itself in others.
        found["safetensors"] = lambda path: safetensors.save_file(model.tensors, path)
    return found


def allows_direct_writes(folder: Path) -> bool:
    """Try O_DIRECT."""
    path = folder / f"isthmus_direct_{os.getpid()}"
    try:
        write_directly(path, WRITE_BYTES, 1)
    except OSError:
        return False
    finally:
        path.unlink(missing_ok=True)
    return True


def verify(model: Model, path: Path) -> bool:
    """Compare a saved file with the tensors."""
    isthmus.save_safetensors(model.tensors, path)
    read = isthmus.load_safetensors(path, framework="dlpack")
    try:
        for name, tensor in model.tensors.items():
            wanted, found = bytearray(tensor.nbytes), bytearray(tensor.nbytes)
            flat = tensor if model.torch is None else tensor.reshape(-1).view(model.torch.uint8)
            isthmus.copy(wanted, flat)
            isthmus.copy(found, read[name])
            if wanted != found:
                raise SystemExit(f"{name} was saved wrongly")
    finally:
        path.unlink()
    return True


def measure(found: dict[str, Writer], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Time every contestant in turns, as often as the time allows."""
    seconds: dict[str, list[float]] = {name: [] for name in found}
    end = time.monotonic() + options.max_seconds
    for _ in range(options.rounds):
        for name, write in found.items():
            path = folder / f"isthmus_saving_{os.getpid()}_{len(seconds[name])}"
            os.sync()
            if time.monotonic() > end and all(seconds.values()):
                return seconds
            try:
                start = time.perf_counter()
                write(path)
                seconds[name].append(time.perf_counter() - start)
            finally:
                path.unlink(missing_ok=True)
    return seconds


def rows(seconds: dict[str, list[float]], num_bytes: int) -> list[dict[str, Any]]:
    """Describe the results, fastest first."""
    medians = {name: statistics.median(times) for name, times in seconds.items() if times}
    return [
        {
            "contestant": name,
            "bytes": num_bytes,
            "median_s": medians[name],
            "min_s": min(seconds[name]),
            "rounds": len(seconds[name]),
            "bytes_per_s": num_bytes / medians[name],
        }
        for name in sorted(medians, key=lambda name: medians[name])
    ]


def main(arguments: list[str]) -> int:
    """Measure, print, and write the results."""
    options = file_options(arguments, max_seconds=30)
    model = Model(int(options.gib * GIB))
    verified = verify(model, options.folder / f"isthmus_saving_{os.getpid()}")
    results = rows(
        measure(writers(model, options.folder), options.folder, options), model.num_bytes
    )
    rates = {row["contestant"]: row["bytes_per_s"] for row in results}
    disk = max(
        rate for name, rate in rates.items() if name.startswith("disk") and "durable" in name
    )
    facts = machine_facts()
    record = {
        "schema_version": 1,
        "method": " ".join((__doc__ or "").split()),
        "machine": facts,
        "file_system_allows_direct_writes": allows_direct_writes(options.folder),
        "verified": verified,
        "isthmus_durable_over_the_disk": rates["isthmus, durable"] / disk,
        "results": results,
    }
    shown = io.StringIO()
    for row in results:
        shown.write(f"{row['contestant']:40} {row['bytes_per_s'] / 1e9:8.2f} GB/s\n")
    shown.write(f"isthmus, durable, over the disk's best: {rates['isthmus, durable'] / disk:.3f}\n")
    if facts["emulated"]:
        shown.write("The device is emulated; the disk is real.\n")
    print(shown.getvalue(), end="")
    if options.out is not None:
        options.out.write_text(json_text(record), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

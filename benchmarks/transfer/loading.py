"""
Loads a model with every installed loader, in turns: from the page cache, and from the disk.

    python benchmarks/transfer/loading.py OUT.json [--gib 4] [--folder FOLDER] [--cold-rounds 3]
        [--gds]

The file is written first, and deleted at the end. The loaders are compared with an upper limit: the
rate at which as many threads read the file into memory of their own, from the cache and bypassing
it.
Every loader's tensors are compared with those of `safetensors.torch.load_file`, on the GPU.
"""

import argparse
import ctypes
import gc
import mmap
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from contestants import optional, working
from machine import machine_facts
from rounds import Task, Times, by_turns, sample
from safetensors_file import write_model

import isthmus
from isthmus.ground.json_text import json_text

GIB, MIB = 1 << 30, 1 << 20
READ_BYTES = 4 * MIB
PAGE_BYTES = 4096

Loader = Callable[[], Any]


def loaders(path: Path, *, gds: bool) -> dict[str, Loader]:
    """Prepare each loader of one file; GPUDirect Storage, which few machines have, on request."""
    name = str(path)
    found: dict[str, Loader] = {"isthmus dlpack": lambda: load_own(path, "dlpack")}
    if isthmus._native.Driver.open().emulated:  # noqa: SLF001 - no other way to know
        return found
    torch, safetensors = optional("torch"), optional("safetensors.torch")
    if torch is not None:
        found["isthmus torch"] = lambda: load_own(path, "torch")
    if torch is not None and safetensors is not None:
        for backend in ("mmap", "pread"):
            found[f"safetensors {backend}"] = lambda backend=backend: synchronised(
                torch, safetensors.load_file(name, device="cuda:0", backend=backend)
            )
    fast = optional("fastsafetensors")
    if torch is not None and fast is not None:
        found["fastsafetensors nogds"] = lambda: load_fast(fast, torch, name, nogds=True)
        if gds:
            found["fastsafetensors gds"] = lambda: load_fast(fast, torch, name, nogds=False)
    kvikio, cupy = optional("kvikio"), optional("cupy")
    if kvikio is not None and cupy is not None:
        found["kvikio read"] = lambda: load_kvikio(kvikio, cupy, path)
    return found


def load_own(path: Path, framework: str) -> Any:  # noqa: ANN401 - a dictionary of tensors
    """Load with Isthmus."""
    return isthmus.load_safetensors(path, framework=framework)


def synchronised(torch: Any, tensors: Any) -> Any:  # noqa: ANN401
    """Wait until everything has arrived."""
    torch.cuda.synchronize()
    return tensors


def load_fast(fast: Any, torch: Any, name: str, *, nogds: bool) -> Any:  # noqa: ANN401
    """Load with fastsafetensors; the tensors outlive the loader."""
    with fast.fastsafe_open(name, device="cuda:0", nogds=nogds) as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - no mapping
    return synchronised(torch, tensors)


def load_kvikio(kvikio: Any, cupy: Any, path: Path) -> Any:  # noqa: ANN401
    """Read all bytes into one array: kvikio knows no tensors."""
    array = cupy.empty(path.stat().st_size, dtype="uint8")
    with kvikio.CuFile(str(path), "r") as file:
        if file.read(array) != array.nbytes:
            raise RuntimeError("kvikio read less than the file")
    return array


def read_all(path: Path, num_threads: int, *, direct: bool) -> None:
    """Read a file into buffers of as many threads, through the page cache or bypassing it."""
    flags = os.O_RDONLY | (os.O_DIRECT if direct else 0)
    descriptor = os.open(path, flags)
    size = path.stat().st_size
    buffers = [mmap.mmap(-1, READ_BYTES) for _ in range(num_threads)]

    def read_some(thread: int) -> None:
        for offset in range(thread * READ_BYTES, size, num_threads * READ_BYTES):
            os.preadv(descriptor, [buffers[thread]], offset)

    try:
        with ThreadPoolExecutor(num_threads) as pool:
            list(pool.map(read_some, range(num_threads)))
    finally:
        os.close(descriptor)


def cached_share(path: Path) -> float:
    """Measure which part of a file is in the page cache."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    with path.open("rb") as file:
        # Writable and private only so that ctypes gives its address; nothing is written.
        mapping = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE)
        first = ctypes.c_char.from_buffer(mapping)
        num_pages = -(-len(mapping) // PAGE_BYTES)
        resident = ctypes.create_string_buffer(num_pages)
        failed = libc.mincore(ctypes.addressof(first), len(mapping), resident)
        del first
        mapping.close()
    if failed:
        return float("nan")
    return sum(byte & 1 for byte in resident.raw) / num_pages


def drop(path: Path) -> None:
    """Remove a file from the page cache."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def release() -> None:
    """Return a model's memory, as far as its library does."""
    gc.collect()


def task_of(load: Loader, prepare: Callable[[], None]) -> Task:
    """Time a loader; what the one before has loaded is freed first, untimed."""

    def prepared() -> None:
        release()
        prepare()

    return Task(lambda _: load(), prepared, repeatable=False)


def as_bytes(tensor: Any) -> Any:  # noqa: ANN401 - torch's
    """Show a tensor's bytes: random ones may be NaNs, which equal nothing."""
    import torch  # type: ignore[import-not-found]

    return tensor.reshape(-1).view(torch.uint8)


def verify(found: dict[str, Loader]) -> list[str]:
    """Compare the tensors of the loaders; list those that agree."""
    if "safetensors mmap" not in found:
        return []
    wanted = found["safetensors mmap"]()
    agreeing = []
    for name in ("isthmus torch", "fastsafetensors nogds"):
        if name not in found:
            continue
        tensors = found[name]()
        if tensors.keys() != wanted.keys() or not all(
            bool((as_bytes(tensors[key]) == as_bytes(wanted[key])).all()) for key in wanted
        ):
            raise SystemExit(f"{name} gives other tensors than safetensors does")
        agreeing.append(name)
        del tensors
        release()
    return agreeing


def cold_times(tasks: dict[str, Task], rounds: int) -> dict[str, Times]:
    """Time tasks in turns without a warm-up run: nothing stays warm anyway."""
    times = {name: Times() for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            times[name].seconds.append(sample(task, 1))
    return times


def rows(times: dict[str, Times], size: int, cache: str) -> list[dict[str, Any]]:
    """Describe the results."""
    return [
        {
            "contestant": name,
            "cache": cache,
            "bytes": size,
            **found.row(),
            "bytes_per_s": size / found.row()["median_s"],
        }
        for name, found in times.items()
    ]


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--gib", type=float, default=4)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--cold-rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=min(16, len(os.sched_getaffinity(0))))
    parser.add_argument("--gds", action="store_true")
    return parser.parse_args(arguments)


def load_and_release(load: Loader) -> None:
    """Load once."""
    load()
    release()


def main(arguments: list[str]) -> int:
    """Write a file, load it in turns, and write the results."""
    options = parsed(arguments)
    path = options.folder / f"isthmus_loading_{os.getpid()}.safetensors"
    try:
        start = time.perf_counter()
        size = write_model(path, int(options.gib * GIB))
        print(f"written: {size / GIB:.2f} GiB in {time.perf_counter() - start:.1f} s")
        record = measure(path, size, options)
    finally:
        path.unlink(missing_ok=True)
    options.out.write_text(json_text(record), encoding="utf-8")
    return 0


def measure(path: Path, size: int, options: argparse.Namespace) -> dict[str, Any]:
    """Measure everything on one file."""
    found = working(loaders(path, gds=options.gds), load_and_release)
    agreeing = verify(found)
    read_all(path, options.threads, direct=False)
    warm_share = cached_share(path)
    warm = {name: task_of(load, lambda: None) for name, load in found.items()}
    warm["reading only"] = Task(
        lambda _: read_all(path, options.threads, direct=False), repeatable=False
    )
    results = rows(by_turns(warm, max_seconds=20, max_rounds=11), size, "warm")
    drop(path)
    cold_share = cached_share(path)
    cold = {name: task_of(load, lambda: drop(path)) for name, load in found.items()}
    cold["reading only, past the cache"] = Task(
        lambda _: read_all(path, options.threads, direct=True), lambda: drop(path), repeatable=False
    )
    results += rows(cold_times(cold, options.cold_rounds), size, "cold")
    return {
        "schema_version": 1,
        "machine": machine_facts(),
        "num_reading_threads": options.threads,
        "cached_share_warm": warm_share,
        "cached_share_after_dropping": cold_share,
        "same_tensors": agreeing,
        "results": results,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

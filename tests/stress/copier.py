"""One thread's copies, each compared."""

import random
from typing import Any

import numpy as np

import isthmus
from fakes.cuda_calls import Cuda
from fakes.safetensors_files import write_file
from isthmus import _native
from stress.memories import KINDS, Bytes, Victims, differs, fill, host_memory, let_go
from stress.place import Place, Refused, come_to_rest

MAX_BYTES = 2 << 20
_NUM_TENSORS = 9


class Copier:
    """Device memory and a stream of a thread's own, and all that it does with them."""

    def __init__(self, place: Place, index: int, seed: int) -> None:
        self.place = place
        self.chance = random.Random(f"{seed}.{index}")  # noqa: S311 - reproducible on purpose
        self.numbers = np.random.default_rng([seed, index])
        self.memory = _native.DeviceMemory(place.context, 2 * MAX_BYTES)
        self.own_stream = _native.Stream(place.context)
        self.victims = Victims()
        self.tensors = self._some_tensors()
        self.file = write_file(place.folder / f"model_{index}.safetensors", self.tensors)
        self.steps = [
            *(self.there_and_back, self.drop_a_download, self.drop_an_upload) * 4,
            *(self.items_with_gaps, self.use_a_window, self.crowd_the_pinned_pool) * 2,
            self.load_a_model,
        ]

    def run(self) -> None:
        cuda = Cuda(self.place.driver.path)  # of this thread
        while self.place.going_on:
            step = self.chance.choice(self.steps)
            try:
                step()
            except Refused:
                come_to_rest(cuda, self.own_stream.handle)
            if self.victims.any_is_hurt():
                self.place.tally.fail("memory that was let go was written to")

    def there_and_back(self) -> None:
        size, there = self.some_place()
        wanted = self.some_bytes(size)
        up, down = self.chance.choice(KINDS), self.chance.choice(KINDS)
        source, target = self.host(up, size), self.host(down, size)
        fill(source, wanted)
        self.copy(there, source, f"{up} to device")
        fill(target, ~wanted)
        self.copy(target, there, f"device to {down}")
        self.require(target, wanted, f"{up} to {down}")

    def drop_a_download(self) -> None:
        """Nobody keeps the target, or the future; what uses the memory next stays as it is."""
        size, there = self.some_place()
        kind = self.chance.choice(KINDS)
        target = self.host(kind, size)
        with self.place.allowed("dropped download"):
            future = isthmus.copy_async(target, there, stream=self.own_stream.handle)
        if self.chance.random() < 0.5:
            future.done()
        del future
        freed = let_go(target)
        self.place.tally.count(f"dropped download to {kind}" + (", freed" * freed), size)
        del target
        with self.place.allowed("victim"):
            self.victims.add(size, pinned=kind == "pinned")

    def drop_an_upload(self) -> None:
        """Nobody keeps the source while it is read; what arrives is what it held."""
        size, there = self.some_place()
        wanted = self.some_bytes(size)
        kind = self.chance.choice(KINDS)
        source = self.host(kind, size)
        fill(source, wanted)
        with self.place.allowed("upload read later"):
            future = isthmus.copy_async(
                there, source, stream=self.own_stream.handle, source_order="stream"
            )
            let_go(source)
            del source
            self.victims.add(size, pinned=kind == "pinned")
            future.result(60)
        self.place.tally.count(f"upload read later from {kind}", size)
        back = np.empty(size, np.uint8)
        self.copy(back, there, "device to numpy")
        self.require(back, wanted, f"an upload from {kind} read later")

    def items_with_gaps(self) -> None:
        size, there = self.some_place()
        source = self.some_bytes(2 * size)
        target = np.zeros((size, 3), np.uint8)
        self.copy(there, source[::2], "every other byte to device")
        self.copy(target[:, 1], there, "device to a column")
        self.require(np.ascontiguousarray(target[:, 1]), source[::2], "a column")
        if target[:, ::2].any():
            self.place.tally.fail("bytes between a target's items were written to")

    def use_a_window(self) -> None:
        size, there = self.some_place(MAX_BYTES // 8)
        wanted = self.some_bytes(size)
        with (
            self.place.allowed("window"),
            isthmus.window(there, threads=self.chance.choice((1, 3))) as window,
        ):
            window.write(wanted)
            found = window.read(size)
        self.place.tally.count("window", 2 * size)
        self.require(found, wanted, "a window")

    def crowd_the_pinned_pool(self) -> None:
        sizes = [self.some_size(MAX_BYTES) for _ in range(self.chance.randrange(2, 8))]
        with self.place.allowed("pinned memory"):
            arrays = [isthmus.pinned.empty(size, np.uint8) for size in sizes]
        for number, one in enumerate(arrays):
            one.fill(number)
        self.place.tally.count("pinned array", sum(sizes))
        for number, one in enumerate(arrays):
            if not (one == number).all():
                self.place.tally.fail("two pinned arrays share memory")

    def load_a_model(self) -> None:
        with self.place.allowed("safetensors"):
            loaded = isthmus.load_safetensors(
                self.file, framework="dlpack", stream=self.own_stream.handle
            )
        for name, (_, _, content) in self.tensors.items():
            wanted = np.frombuffer(content, np.uint8)
            found = np.empty(len(content), np.uint8)
            if len(content) > 0:
                self.copy(found, loaded[name], "tensor to numpy")
            self.require(found, wanted, f"tensor {name}")

    def copy(self, target: isthmus.ArrayLike, source: isthmus.ArrayLike, what: str) -> None:
        """Copy, blocking or not."""
        stream = self.chance.choice((self.own_stream.handle, None))
        with self.place.allowed("copy"):
            if self.chance.random() < 0.5:
                isthmus.copy(target, source, stream=stream)
            else:
                what += ", async"
                isthmus.copy_async(target, source, stream=stream).result(60)
        self.place.tally.count(what)

    def require(self, found: object, wanted: Bytes, what: str) -> None:
        self.place.tally.num_bytes += 2 * wanted.size
        wrong = differs(found, wanted)
        if wrong:
            self.place.tally.fail(f"{what}: {wrong}")

    def host(self, kind: str, size: int) -> Any:  # noqa: ANN401 - any buffer
        with self.place.allowed("pinned memory"):
            return host_memory(kind, size, self.place.folder)

    def some_size(self, most: int) -> int:
        return min(most, int(2 ** self.chance.uniform(0, most.bit_length())))

    def some_place(self, most: int = MAX_BYTES) -> tuple[int, isthmus.DevicePointer]:
        size = self.some_size(most)
        offset = self.chance.randrange(self.memory.nbytes - size + 1)
        return size, isthmus.DevicePointer(self.memory.pointer + offset, size)

    def some_bytes(self, size: int) -> Bytes:
        return self.numbers.integers(0, 256, size, dtype=np.uint8)

    def _some_tensors(self) -> dict[str, tuple[str, list[int], bytes]]:
        sizes = [0, *(self.some_size(MAX_BYTES // 4) for _ in range(_NUM_TENSORS))]
        return {
            f"layer.{number}": ("U8", [size], self.some_bytes(size).tobytes())
            for number, size in enumerate(sizes)
        }

"""Copies that are awaited in an event loop, some of them cancelled."""

import asyncio
import random
from contextlib import suppress

import numpy as np

import isthmus
from isthmus import _native
from stress.memories import KINDS, Victims, differs, fill, host_memory, let_go
from stress.place import Place, Refused

MAX_BYTES = 1 << 20


class Awaiter:
    """One task of the event loop, with device memory and a stream of its own."""

    def __init__(self, place: Place, index: int, seed: int) -> None:
        self.place = place
        self.chance = random.Random(f"{seed}.await.{index}")  # noqa: S311 - reproducible on purpose
        self.numbers = np.random.default_rng([seed, index, 1])
        self.memory = _native.DeviceMemory(place.context, MAX_BYTES)
        self.stream = _native.Stream(place.context)
        self.victims = Victims()

    async def run(self) -> None:
        while self.place.going_on:
            with suppress(Refused):
                await self.chance.choice((self.there_and_back, self.cancel))()
            if self.victims.any_is_hurt():
                self.place.tally.fail("memory of a cancelled copy was written to")

    async def there_and_back(self) -> None:
        size = self.chance.randrange(1, MAX_BYTES + 1)
        there = isthmus.DevicePointer(self.memory.pointer, size)
        wanted = self.numbers.integers(0, 256, size, dtype=np.uint8)
        with self.place.allowed("awaited copy"):
            await isthmus.copy_async(there, wanted, stream=self.stream.handle)
            found = np.empty(size, np.uint8)
            await isthmus.copy_async(found, there, stream=self.stream.handle)
        self.place.tally.count("awaited copy", 2 * size)
        wrong = differs(found, wanted)
        if wrong:
            self.place.tally.fail(f"awaited: {wrong}")

    async def cancel(self) -> None:
        """Stop waiting at some moment: the copy goes on, into memory that is kept for it."""
        size = self.chance.randrange(1, MAX_BYTES + 1)
        there = isthmus.DevicePointer(self.memory.pointer, size)
        kind = self.chance.choice(KINDS)
        with self.place.allowed("cancelled copy"):
            target = host_memory(kind, size, self.place.folder)
            fill(target, np.zeros(size, np.uint8))
            waiting = asyncio.ensure_future(self.download(target, there))
            await asyncio.sleep(self.chance.choice((0, 0.0001, 0.001)))
            waiting.cancel()
            with suppress(asyncio.CancelledError):
                await waiting
            del waiting
            let_go(target)
            del target
            self.victims.add(size, pinned=kind == "pinned")
        self.place.tally.count("cancelled copy", size)

    async def download(self, target: isthmus.ArrayLike, there: isthmus.DevicePointer) -> None:
        await isthmus.copy_async(target, there, stream=self.stream.handle)


async def all_await(place: Place, num_tasks: int, seed: int) -> None:
    """Let several tasks copy until the end."""
    awaiters = [Awaiter(place, index, seed) for index in range(num_tasks)]
    await asyncio.gather(*(awaiter.run() for awaiter in awaiters))

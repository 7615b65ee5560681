"""
Trains a ResNet-50 on a loader's batches, in turns with batches that are on the GPU already.

    python benchmarks/frontdoor/prefetch.py [--out FILE] [--batch 128] [--steps 20] [--rounds 3]
        [--workers 8] [--max-seconds 30]

Images of 3 x 224 x 224 float32 come from host memory: collated by a DataLoader's workers, or as
whole batches without workers. A step is forward, backward and SGD, in bfloat16 by autocast, with
channels_last weights. The time of a run is from the first timed step to the end of the last one's
work, after 4 steps that aren't timed. "over there" is the time with data already there, over the
contestant's. "loader alone" takes the batches and does nothing, and "read by a thread, nothing
uploaded" takes them beside the training and drops them: no way to upload them can be faster.
Without a GPU the network is tiny and runs on the CPU; that only shows that the script works.
"""

import argparse
import queue
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import isthmus.torch
from isthmus.ground.json_text import json_text

sys.path.insert(0, str(Path(__file__).parents[1] / "transfer"))
from contestants import optional
from machine import machine_facts

NUM_CLASSES = 1000
WARM_UP_STEPS = 4
POOL_BATCHES = 4
# Blocks of each stage. Source: He 2016, "Deep Residual Learning for Image Recognition", table 1.
RESNET_50 = (3, 4, 6, 3)

torch: Any = optional("torch")


@dataclass(frozen=True)
class Setting:
    """
    What is trained, and where.

    Attributes:
        device: A torch.device.
        batch: Images in a batch.
        pixels: Along each side.
        width: Channels of the first stage.
        steps: Timed steps of a run.
        workers: Of a DataLoader.
    """

    device: Any
    batch: int
    pixels: int
    width: int
    steps: int
    workers: int

    @property
    def num_batches(self) -> int:
        """Count the batches of a run."""
        return WARM_UP_STEPS + self.steps


def convolution(before: int, after: int, size: int, stride: int = 1) -> Any:  # noqa: ANN401 - PyTorch's
    """Convolve and normalise."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(before, after, size, stride, padding=size // 2, bias=False),
        nn.BatchNorm2d(after),
    )


def resnet(width: int) -> Any:  # noqa: ANN401 - PyTorch's
    """Make a ResNet-50; `width` is 64."""
    nn = torch.nn

    class Bottleneck(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, before: int, inner: int, stride: int) -> None:
            super().__init__()
            after = 4 * inner
            self.body = nn.Sequential(
                convolution(before, inner, 1),
                nn.ReLU(inplace=True),
                convolution(inner, inner, 3, stride),
                nn.ReLU(inplace=True),
                convolution(inner, after, 1),
            )
            same = before == after and stride == 1
            self.shortcut = nn.Identity() if same else convolution(before, after, 1, stride)

        def forward(self, x: Any) -> Any:  # noqa: ANN401
            return torch.relu_(self.body(x) + self.shortcut(x))

    layers: list[Any] = [convolution(3, width, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    before = width
    for stage, num_blocks in enumerate(RESNET_50):
        inner = width << stage
        for block in range(num_blocks):
            layers.append(Bottleneck(before, inner, 2 if stage and not block else 1))
            before = 4 * inner
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, NUM_CLASSES)]
    return nn.Sequential(*layers)


class Trainer:
    """One network; `step` trains it with a batch on its device."""

    def __init__(self, setting: Setting) -> None:
        """Make the network on the device."""
        self._device = setting.device
        self._net = resnet(setting.width).to(memory_format=torch.channels_last)
        isthmus.torch.to(self._net, setting.device)
        self._optimizer = torch.optim.SGD(self._net.parameters(), lr=1e-3, momentum=0.9)
        self._loss = torch.nn.CrossEntropyLoss()

    def step(self, images: Any, labels: Any) -> None:  # noqa: ANN401 - PyTorch's
        """Train with one batch; returns before the GPU is done."""
        with torch.autocast(self._device.type, torch.bfloat16):
            loss = self._loss(self._net(images), labels)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._optimizer.step()


class Images:
    """A data set in host memory; the same few images over and over."""

    def __init__(self, setting: Setting) -> None:
        """Make the images."""
        self._num_items = setting.batch * setting.num_batches
        self._num_images = setting.batch * POOL_BATCHES
        shape = (self._num_images, 3, setting.pixels, setting.pixels)
        self.images = torch.rand(shape)
        self.labels = torch.randint(NUM_CLASSES, (self._num_images,))

    def __len__(self) -> int:
        """Count the items of a run."""
        return self._num_items

    def __getitem__(self, item: int) -> tuple[Any, Any]:
        """Give an image and its label."""
        return self.images[item % self._num_images], self.labels[item % self._num_images]


class WholeBatches:
    """Batches from host memory, without workers and without copying them."""

    def __init__(self, data: Images, setting: Setting, *, pinned: bool) -> None:
        """Cut the images into batches."""
        pairs = zip(data.images.split(setting.batch), data.labels.split(setting.batch), strict=True)
        self._batches = [tuple(t.pin_memory() if pinned else t for t in pair) for pair in pairs]
        self._num_batches = setting.num_batches

    def __iter__(self) -> Iterator[Any]:
        """Give the batches of a run."""
        return (self._batches[index % len(self._batches)] for index in range(self._num_batches))


def non_blocking(loader: Iterable[Any], device: Any) -> Iterator[Any]:  # noqa: ANN401
    """Upload each batch when it is needed, as PyTorch's documentation shows."""
    for batch in loader:
        yield [tensor.to(device, non_blocking=True) for tensor in batch]


def read_beside(loader: Iterable[Any], there: Any) -> Iterator[Any]:  # noqa: ANN401
    """Let a thread take a loader's batches and drop them; train with what is there already."""
    taken: queue.Queue[None] = queue.Queue(2)

    def take() -> None:
        for _ in loader:
            taken.put(None)

    thread = threading.Thread(target=take)
    thread.start()
    for _ in range(len(loader)):  # type: ignore[arg-type] # a DataLoader
        taken.get()
        yield there
    thread.join()


def contestants(setting: Setting) -> dict[str, Callable[[], Iterable[Any]]]:
    """Prepare each way to get batches."""
    data = Images(setting)
    device = setting.device
    there = [tensor.to(device) for tensor in next(iter(WholeBatches(data, setting, pinned=False)))]
    whole = WholeBatches(data, setting, pinned=False)
    found: dict[str, Callable[[], Iterable[Any]]] = {
        "data already there": lambda: (there for _ in range(setting.num_batches)),
        "whole batches: isthmus.torch.prefetch": lambda: isthmus.torch.prefetch(whole, device),
        "whole batches: to()": lambda: non_blocking(whole, device),
        "workers: isthmus.torch.prefetch": lambda: isthmus.torch.prefetch(plain, device),
        "workers: to()": lambda: non_blocking(plain, device),
        "workers: read by a thread, nothing uploaded": lambda: read_beside(plain, there),
        "workers: loader alone": lambda: plain,
    }
    plain = loader(data, setting, pin_memory=False)
    if device.type == "cuda":
        whole_pinned = WholeBatches(data, setting, pinned=True)
        pinning = loader(data, setting, pin_memory=True)
        found |= {
            "whole batches: pinned, non_blocking": lambda: non_blocking(whole_pinned, device),
            "workers: pin_memory, non_blocking": lambda: non_blocking(pinning, device),
        }
    return found


def loader(data: Images, setting: Setting, *, pin_memory: bool) -> Any:  # noqa: ANN401 - PyTorch's
    """Make a DataLoader whose workers stay."""
    return torch.utils.data.DataLoader(
        data,
        batch_size=setting.batch,
        num_workers=setting.workers,
        pin_memory=pin_memory,
        persistent_workers=setting.workers > 0,
    )


def run_seconds(batches: Iterable[Any], trainer: Trainer | None, setting: Setting) -> float:
    """Time one run, by the CPU's clock; without a trainer, only take the batches."""
    start = 0.0
    count = 0
    for images, labels in batches:
        if count == WARM_UP_STEPS:
            synchronise(setting.device)
            start = time.perf_counter()
        if trainer is not None:
            trainer.step(images, labels)
        count += 1
    synchronise(setting.device)
    if count != setting.num_batches:
        raise SystemExit(f"{count} batches came, and not {setting.num_batches}")
    return time.perf_counter() - start


def synchronise(device: Any) -> None:  # noqa: ANN401 - PyTorch's
    """Wait for the GPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measure(setting: Setting, rounds: int, max_seconds: float) -> dict[str, list[float]]:
    """Time all contestants in turns."""
    trainer = Trainer(setting)
    found = contestants(setting)
    seconds: dict[str, list[float]] = {name: [] for name in found}
    run_seconds(found["data already there"](), trainer, setting)  # chooses algorithms
    end = time.monotonic() + max_seconds
    for _ in range(rounds):
        if time.monotonic() > end and all(seconds.values()):
            break
        for name, batches in found.items():
            trained = None if name.endswith("alone") else trainer
            seconds[name].append(run_seconds(batches(), trained, setting))
    return seconds


def rows(seconds: dict[str, list[float]], setting: Setting) -> list[dict[str, Any]]:
    """Describe the results."""
    there = statistics.median(seconds["data already there"])
    return [
        {
            "contestant": name,
            "median_s": statistics.median(times),
            "min_s": min(times),
            "rounds": len(times),
            "images_per_s": setting.batch * setting.steps / statistics.median(times),
            "over_there": there / statistics.median(times),
        }
        for name, times in seconds.items()
    ]


def main(arguments: list[str]) -> int:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--max-seconds", type=float, default=20)
    options = parser.parse_args(arguments)
    if torch is None:
        print("waived: PyTorch isn't installed")
        return 0
    if torch.cuda.is_available():
        torch.backends.cudnn.benchmark = True
        device = torch.device("cuda", 0)
        setting = Setting(device, options.batch, 224, 64, options.steps, options.workers)
    else:
        setting = Setting(torch.device("cpu"), 2, 32, 4, 2, min(options.workers, 1))
    results = rows(measure(setting, options.rounds, options.max_seconds), setting)
    for row in results:
        print(
            f"{row['contestant']:40} {row['median_s'] * 1e3 / setting.steps:8.2f} ms per step  "
            f"{row['over_there']:6.3f}"
        )
    if setting.device.type == "cpu":
        print("Without a GPU nothing is uploaded: these times only show that the script works.")
    if options.out is not None:
        record = {
            "schema_version": 1,
            "method": " ".join((__doc__ or "").split()),
            "machine": machine_facts(),
            "on_gpu": setting.device.type == "cuda",
            "batch": setting.batch,
            "pixels": setting.pixels,
            "steps": setting.steps,
            "workers": setting.workers,
            "results": results,
        }
        options.out.write_text(json_text(record), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

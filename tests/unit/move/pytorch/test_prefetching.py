"""Prefetching: streams, memory and errors, with PyTorch's part played by a fake."""

import gc
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import isthmus
import isthmus.torch
from fakes.torch_streams import DataLoader, Device, Stream, Tensor, Torch
from isthmus.errors import Unavailable, UsageError
from isthmus.move.torch import uploading
from isthmus.move.torch.moving import Twin

CPU, GPU = Device("cpu"), Device("cuda", 0)


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Torch:
    fake = Torch()
    monkeypatch.setitem(sys.modules, "torch", fake)

    def copy_async(
        targets: list[Tensor], sources: list[Tensor], *, stream: int, source_order: str
    ) -> SimpleNamespace:
        assert stream == Torch().cuda.Stream(GPU).cuda_stream, "in the stream of the uploads"
        assert source_order == "stream", "the call doesn't wait"

        def result() -> None:
            fake.before_copies()
            if fake.interruptions:
                raise fake.interruptions.pop()
            for target, source in zip(targets, sources, strict=True):
                assert not target.requires_grad
                target.name = f"{source.name} there"
            fake.done.append(f"{len(targets)} copied")

        return SimpleNamespace(result=result)

    def twin_of(source: Tensor, device: Device) -> Twin:
        target = Tensor("not filled", device)
        return Twin(target, target, source)

    transfers = SimpleNamespace(copy_async=copy_async)
    monkeypatch.setattr(uploading, "default_transfers", lambda: transfers)
    monkeypatch.setattr(uploading, "twin_of", twin_of)
    return fake


def batches(count: int) -> list[dict[str, Tensor]]:
    return [{"x": Tensor(f"x{i}", CPU), "y": Tensor(f"y{i}", CPU)} for i in range(count)]


def large_tensor(freed: Callable[[], None]) -> Tensor:
    """Make one of 1 MiB on the host that says when its memory is freed."""
    array = np.zeros(1 << 20, np.uint8)
    weakref.finalize(array, freed)
    return Tensor("large", CPU, array=array)


def test_batches_come_in_order_on_the_device_each_copied_by_one_call(torch: Torch) -> None:
    found = list(isthmus.torch.prefetch(batches(5), 0))
    assert [batch["x"].name for batch in found] == [f"x{i} there" for i in range(5)]
    assert all(batch["y"].device == GPU for batch in found)
    assert torch.done == ["2 copied"] * 5


def test_the_allocator_learns_which_stream_uses_the_memory(torch: Torch) -> None:
    items = iter(isthmus.torch.prefetch(batches(2)))
    assert next(items)["x"].used_in == ["consumer"]
    torch.current = "another"
    assert next(items)["y"].used_in == ["another"]


@pytest.mark.usefixtures("torch")
def test_each_loop_begins_the_loader_anew() -> None:
    prefetch = isthmus.torch.prefetch(batches(3))
    assert len(prefetch) == 3
    for _ in range(2):
        assert [batch["x"].name for batch in prefetch] == [f"x{i} there" for i in range(3)]


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("loader", [list, DataLoader])
def test_the_consumer_alone_keeps_a_batch(loader: Any) -> None:  # noqa: ANN401
    gc.collect()
    gc.disable()
    try:
        items = iter(isthmus.torch.prefetch(loader(batches(3))))
        watched = [weakref.ref(next(items)["x"]) for _ in range(3)]
        assert [each() for each in watched] == [None] * 3
        items.close()
    finally:
        gc.enable()


class Reusing:
    """A loader that fills the same memory again, and counts what it was asked for."""

    def __init__(self, device: Device = CPU, *others: Any) -> None:  # noqa: ANN401
        self.batch = [Tensor("nothing", device), *others]
        self.asked = 0
        self.asked_twice = threading.Event()

    def __iter__(self) -> Iterator[Any]:
        for number in range(20):
            self.asked += 1
            if self.asked == 2:
                self.asked_twice.set()
            self.batch[0].name = f"x{number}"
            for other in self.batch[1:]:
                other[:] = number
            yield self.batch


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_a_loader_may_reuse_its_tensors(depth: int) -> None:
    found = list(isthmus.torch.prefetch(Reusing(), depth=depth))
    assert [batch[0].name for batch in found] == [f"x{i} there" for i in range(20)]


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_a_loader_may_reuse_its_tensors_on_the_device(depth: int) -> None:
    found = list(isthmus.torch.prefetch(Reusing(GPU), depth=depth))
    assert [batch[0].name for batch in found] == [f"copy of x{i}" for i in range(20)]


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_a_loader_may_reuse_what_isnt_copied(device: str) -> None:
    loader = Reusing(CPU, np.zeros(3))
    for number, batch in enumerate(isthmus.torch.prefetch(loader, device, depth=3)):
        assert batch[0].name.startswith(f"x{number}")
        assert batch[1].tolist() == [number] * 3
        assert loader.asked == number + 1


@pytest.mark.usefixtures("torch")
def test_a_loader_that_may_reuse_its_tensors_is_read_while_a_batch_is_in_use() -> None:
    loader = Reusing()
    items = iter(isthmus.torch.prefetch(loader))
    next(items)
    assert loader.asked_twice.wait(60)
    items.close()


@pytest.mark.parametrize("made", [DataLoader, lambda given: DataLoader(given, 2, list)])
def test_a_data_loader_is_read_while_a_batch_is_copied(torch: Torch, made: Any) -> None:  # noqa: ANN401
    loader = Reusing()
    torch.before_copies = lambda: loader.asked_twice.wait(60)
    next(iter(isthmus.torch.prefetch(made(loader))))
    assert loader.asked >= 2


class OtherDataLoader(DataLoader):
    def __iter__(self) -> Any:  # noqa: ANN401
        return super().__iter__()


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize(
    "made", [lambda given: OtherDataLoader(given, 2), lambda given: DataLoader(given, 0, list)]
)
def test_a_data_loader_of_the_users_own_may_reuse_its_tensors(made: Any) -> None:  # noqa: ANN401
    found = list(isthmus.torch.prefetch(made(Reusing())))
    assert [batch[0].name for batch in found] == [f"x{i} there" for i in range(20)]


class Movable:
    """A batch that moves itself, as PyTorch Geometric's do."""

    def __init__(self, device: Device = CPU) -> None:
        self.device = device
        self.used_in: list[str] = []

    def to(self, device: Device, *, non_blocking: bool) -> "Movable":
        assert non_blocking
        return Movable(device)

    def record_stream(self, stream: Stream) -> None:
        self.used_in.append(stream.name)


class Simple:
    """One that does no more than PyTorch's documentation asks for."""

    device = CPU

    def to(self, device: Device) -> "Simple":
        moved = Simple()
        moved.device = device
        return moved


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("loader", [list, DataLoader])
def test_objects_that_can_move_themselves_do(loader: Any) -> None:  # noqa: ANN401
    given = [{"x": Tensor("x", CPU), "graph": Movable(), "more": [Simple()]} for _ in range(3)]
    found = list(isthmus.torch.prefetch(loader(given)))
    assert len(found) == 3
    for batch in found:
        assert batch["x"].device == batch["graph"].device == batch["more"][0].device == GPU
        assert batch["graph"].used_in == ["consumer"]


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_a_batch_of_objects_without_tensors_is_refused(device: str) -> None:
    with pytest.raises(UsageError, match=r"holds no tensor: .*\['ids'\] is a ndarray"):
        list(isthmus.torch.prefetch([{"ids": np.zeros(3)}], device))
    assert list(isthmus.torch.prefetch([{"name": "a"}], device)) == [{"name": "a"}]


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("device", ["cuda", "cpu"])
@pytest.mark.parametrize("loader", [list, DataLoader])
def test_threads_share_a_loop(device: str, loader: Any) -> None:  # noqa: ANN401
    items = iter(isthmus.torch.prefetch(loader(batches(200)), device))
    found: list[str] = []

    def take() -> None:
        found.extend(batch["x"].name for batch in items)

    threads = [threading.Thread(target=take, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert sorted(name.split()[0] for name in found) == sorted(f"x{i}" for i in range(200))


@pytest.mark.usefixtures("torch")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_a_forked_child_is_told_to_begin_a_loop_of_its_own(device: str) -> None:
    items = iter(isthmus.torch.prefetch(batches(9), device))
    next(items)
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends it if it hangs
        try:
            next(items)
        except UsageError:
            items.close()
            del items
            gc.collect()
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert len(list(items)) == 8


def test_what_the_loader_made_on_the_device_comes_after_the_loaders_work(torch: Torch) -> None:
    given = Tensor("made there", GPU)
    (found,) = isthmus.torch.prefetch(DataLoader([[given]]))
    assert found == [given]
    assert torch.done == [
        "consumer waits for event of consumer",  # where the loader worked
        "consumer waits for event of uploads",
    ]
    assert given.used_in == ["consumer"]


@pytest.mark.usefixtures("torch")
def test_the_thread_that_reads_frees_the_memory_of_what_was_copied() -> None:
    freed = threading.Event()
    by: list[str] = []

    def note() -> None:
        by.append(threading.current_thread().name)
        freed.set()

    def loader() -> Iterator[Tensor]:
        yield large_tensor(note)
        yield Tensor("small", CPU)
        # The second is taken when the first was copied. Only then is there room for this one.
        assert freed.is_set()
        yield Tensor("last", CPU)

    assert [item.name for item in isthmus.torch.prefetch(loader(), depth=1)] == [
        "large there",
        "small there",
        "last there",
    ]
    assert by == ["isthmus-prefetch"]


@pytest.mark.usefixtures("torch")
def test_memory_that_somebody_else_holds_stays() -> None:
    array = np.full(1 << 20, 5, np.uint8)
    (found,) = isthmus.torch.prefetch([Tensor("large", CPU, array=array)])
    assert found.name == "large there"
    assert (array == 5).all()


def test_ctrl_c_while_a_batch_is_awaited_loses_none(torch: Torch) -> None:
    torch.interruptions.append(KeyboardInterrupt())
    items = iter(isthmus.torch.prefetch(DataLoader(batches(2))))
    with pytest.raises(KeyboardInterrupt):
        next(items)
    assert [item["x"].name for item in items] == ["x0 there", "x1 there"]


def release_of(consume: Callable[[Any], None]) -> None:
    """See that a function which uses a loader that fails leaves nothing alive."""

    def loader() -> Iterator[dict[str, Tensor]]:
        yield from batches(3)
        raise ValueError("the fourth")

    def use() -> "weakref.ref[Any]":
        items = iter(isthmus.torch.prefetch(loader()))
        consume(items)
        return weakref.ref(items)

    gc.collect()
    gc.disable()
    try:
        assert use()() is None
    finally:
        gc.enable()


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("num_batches", [0, 1, 2, 3])
def test_a_loop_that_was_left_keeps_nothing_alive(num_batches: int) -> None:
    def take_some(items: Any) -> None:  # noqa: ANN401
        for _ in range(num_batches):
            next(items)

    release_of(take_some)


@pytest.mark.usefixtures("torch")
def test_an_error_that_was_handled_keeps_nothing_alive() -> None:
    def take_all(items: Any) -> None:  # noqa: ANN401
        with pytest.raises(ValueError, match="the fourth"):
            list(items)

    release_of(take_all)


def test_a_copy_that_fails_is_the_error_of_its_own_batch(torch: Torch) -> None:
    torch.interruptions.append(Unavailable(capability="copies", reason="no thread", needs="one"))
    items = iter(isthmus.torch.prefetch(batches(2)))
    with pytest.raises(Unavailable, match="no thread"):
        next(items)
    assert [item["x"].name for item in items] == ["x1 there"]


@pytest.mark.usefixtures("torch")
def test_gradients_stay_required() -> None:
    (found,) = isthmus.torch.prefetch([Tensor("x", CPU, requires_grad=True)])
    assert found.requires_grad


@pytest.mark.usefixtures("torch")
def test_a_tensor_that_cant_be_uploaded_is_named_at_its_batch() -> None:
    given = batches(3)
    given[1]["y"].layout = "sparse_coo"
    items = iter(isthmus.torch.prefetch(given))
    assert next(items)["x"].name == "x0 there"
    with pytest.raises(UsageError, match=r"batch\['y'\] is a Tensor of layout sparse_coo"):
        next(items)
    assert next(items)["x"].name == "x2 there"


def test_on_the_host_batches_stay_as_they_are(torch: Torch) -> None:
    given = batches(3)
    assert list(isthmus.torch.prefetch(given, "cpu")) == given
    assert torch.done == []


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("device", [2, -1, "cuda:9", "mps", "gpu", "cuda:x", None, 0.5])
def test_a_device_that_isnt_there_is_refused(device: object) -> None:
    with pytest.raises(UsageError, match="device"):
        isthmus.torch.prefetch([], device)


@pytest.mark.parametrize(("num_devices", "shown"), [(1, "1 GPU, from 0 on"), (2, "2 GPUs, from")])
def test_the_devices_that_pytorch_shows_are_counted(
    monkeypatch: pytest.MonkeyPatch, num_devices: int, shown: str
) -> None:
    monkeypatch.setitem(sys.modules, "torch", Torch(num_devices))
    with pytest.raises(UsageError, match=f"device 7: PyTorch shows {shown}"):
        isthmus.torch.prefetch([], 7)


def test_a_pytorch_without_gpus_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", Torch(0))
    with pytest.raises(UsageError, match="device 'cuda': PyTorch shows no GPU") as raised:
        isthmus.torch.prefetch([])
    assert "device='cpu'" in raised.value.hint


@pytest.mark.usefixtures("torch")
def test_wrong_arguments_are_refused_before_anything_is_read() -> None:
    for depth in (0, -1, 1.5, True, None):
        with pytest.raises(UsageError, match="depth must be an integer from 1 on"):
            isthmus.torch.prefetch([], depth=depth)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a loader must be iterable, and this int isn't"):
        isthmus.torch.prefetch(7)  # type: ignore[arg-type]


def test_importing_all_names_hides_no_pytorch() -> None:
    assert "torch" not in isthmus.__all__


def test_without_pytorch_it_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(Unavailable, match="pip install torch"):
        isthmus.torch.prefetch([])
    with pytest.raises(Unavailable, match="pip install torch"):
        isthmus.torch.to(7)


@pytest.mark.usefixtures("torch")
def test_the_error_of_a_loader_comes_after_the_batches_before_it() -> None:
    def loader() -> Any:  # noqa: ANN401
        yield from batches(2)
        raise ValueError("worker 3 failed")

    items = iter(isthmus.torch.prefetch(loader()))
    assert [next(items)["x"].name, next(items)["x"].name] == ["x0 there", "x1 there"]
    with pytest.raises(ValueError, match="worker 3 failed"):
        next(items)

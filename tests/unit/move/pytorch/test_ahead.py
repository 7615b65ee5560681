"""Reading ahead: the order, the errors, the end."""

import contextlib
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from isthmus.move.torch.ahead import END, Ahead, Failure


class Items:
    """What is read ahead, as an iterator."""

    def __init__(
        self,
        source: Iterator[Any],
        prepare: Callable[[Any], Any],
        **options: Any,  # noqa: ANN401
    ) -> None:
        self._ahead = Ahead(source, prepare, name="reading-ahead", **options)
        self.close = self._ahead.close

    def __iter__(self) -> "Items":
        return self

    def __next__(self) -> Any:  # noqa: ANN401
        taken = self._ahead.take(wait=True)
        if taken is END:
            raise StopIteration
        if isinstance(taken, Failure):
            try:
                raise taken.error
            finally:
                del taken  # else the error would hold itself
        return taken


def same(item: Any) -> Any:  # noqa: ANN401
    return item


def ahead(
    source: Iterator[Any],
    prepare: Callable[[Any], Any] = same,
    depth: int = 2,
    **options: Any,  # noqa: ANN401
) -> Items:
    return Items(source, prepare, depth=depth, **options)


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "reading-ahead"]


def test_items_come_in_their_order_and_prepared() -> None:
    assert list(ahead(iter(range(100)), lambda item: item * 2)) == [2 * i for i in range(100)]
    assert list(ahead(iter([]))) == []
    assert threads() == []


def test_after_the_end_there_is_nothing_more() -> None:
    items = ahead(iter([1]))
    assert list(items) == [1]
    assert list(items) == []


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_only_so_many_items_are_taken_ahead(depth: int) -> None:
    taken = threading.Semaphore(0)
    asked: list[int] = []

    def source() -> Iterator[int]:
        for item in range(20):
            asked.append(item)
            taken.release()
            yield item

    items = ahead(source(), depth=depth)
    for _ in range(depth):
        taken.acquire()
    assert next(items) == 0
    taken.acquire()  # the place that became free
    items.close()
    assert len(asked) == depth + 1


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_after_a_lent_item_the_source_is_asked_when_the_consumer_asks(depth: int) -> None:
    asked: list[int] = []

    def source() -> Iterator[int]:
        for item in range(20):
            asked.append(item)
            yield item

    def is_lent(item: object) -> bool:
        return item in range(3, 8)

    items = ahead(source(), depth=depth, is_lent=is_lent)
    for item in items:
        if is_lent(item):
            assert len(asked) == item + 1
    assert asked == list(range(20))


@pytest.mark.parametrize("depth", [1, 3])
def test_a_loop_can_be_left_while_an_item_is_lent(depth: int) -> None:
    lent = ahead(iter(range(9)), depth=depth, is_lent=lambda _: True)
    assert next(lent) == 0
    lent.close()
    ahead(iter(range(9)), depth=depth, is_lent=lambda _: True).close()
    assert threads() == []


def test_an_error_of_the_source_comes_where_its_item_would_have_been() -> None:
    def source() -> Iterator[int]:
        yield 1
        yield 2
        raise KeyError("the third")

    items = ahead(source(), depth=4)
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(KeyError, match="the third") as raised:
        next(items)
    assert raised.traceback[-1].name == "source"
    with pytest.raises(StopIteration):
        next(items)


def test_an_error_that_was_handled_keeps_nothing_alive() -> None:
    class Batch:
        pass

    def source() -> Iterator[int]:
        yield 1
        raise ValueError("the second")

    def consume() -> weakref.ref[Batch]:
        batch = Batch()
        items = ahead(source())
        with contextlib.suppress(ValueError):
            for _ in items:
                pass
        items.close()
        return weakref.ref(batch)

    gc.collect()
    gc.disable()
    try:
        assert consume()() is None
    finally:
        gc.enable()


class Stumbling:
    """An iterator that goes on after an error."""

    def __init__(self) -> None:
        self.count = 0

    def __iter__(self) -> "Stumbling":
        return self

    def __next__(self) -> int:
        self.count += 1
        if self.count == 2:
            raise OSError("once")
        if self.count > 4:
            raise StopIteration
        return self.count


def test_a_source_that_goes_on_after_an_error_loses_nothing() -> None:
    items = ahead(Stumbling(), depth=3)
    assert next(items) == 1
    with pytest.raises(OSError, match="once"):
        next(items)
    assert list(items) == [3, 4]


def test_an_error_of_the_preparation_comes_at_the_same_place() -> None:
    def prepare(item: int) -> float:
        return 6 / item

    items = ahead(iter([3, 0, 2]), prepare)
    assert next(items) == 2
    with pytest.raises(ZeroDivisionError):
        next(items)
    assert list(items) == [3]


def test_even_the_end_of_the_process_is_passed_on() -> None:
    def source() -> Iterator[int]:
        yield 1
        raise SystemExit(3)

    items = ahead(source())
    assert next(items) == 1
    with pytest.raises(SystemExit):
        next(items)


def test_leaving_a_loop_ends_the_thread_and_closes_the_source() -> None:
    closed = []

    def source() -> Iterator[int]:
        try:
            yield from range(1000)
        finally:
            closed.append(threading.current_thread().name)

    for item in ahead(source()):
        if item == 3:
            break
    gc.collect()
    assert threads() == []
    assert closed == ["reading-ahead"]


class Closable:
    """A source that can be held back, and notes where it is closed."""

    def __init__(self) -> None:
        self.asked, self.go_on = threading.Event(), threading.Event()
        self.reader: threading.Thread | None = None
        self.closed: list[str] = []

    def __iter__(self) -> "Closable":
        return self

    def __next__(self) -> int:
        self.reader = threading.current_thread()
        self.asked.set()
        assert self.go_on.wait(60)
        return 1

    def close(self) -> None:
        self.closed.append(threading.current_thread().name)

    def end(self) -> None:
        """Go on, and wait until nobody reads any more."""
        assert self.asked.wait(60)
        assert self.reader is not None
        self.go_on.set()
        self.reader.join(60)


def test_a_source_that_keeps_a_loop_waiting_too_long_is_closed_when_it_has_its_item(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("isthmus.move.torch.ahead._TIMEOUT_SECONDS", 0)
    source = Closable()
    items = ahead(source)
    assert source.asked.wait(60)
    del items
    gc.collect()
    assert source.closed == []  # it is just giving an item
    source.end()
    assert source.closed == ["reading-ahead"]


def test_a_source_is_closed_if_the_thread_itself_collects_what_read_it() -> None:
    source = Closable()
    kept: list[Any] = []

    def prepare(item: int) -> int:
        kept.clear()
        gc.collect()
        return item

    kept.append(ahead(source, prepare))
    source.end()
    assert source.closed == ["reading-ahead"]


def ahead_of_an_error(source: Closable) -> Any:  # noqa: ANN401
    """Give what has just raised an error of the preparation, and could go on."""

    def prepare(_: int) -> int:
        raise ValueError("it can't be prepared")

    source.go_on.set()
    items = ahead(source, prepare)
    for _ in range(2):  # the second in another thread
        with pytest.raises(ValueError, match="can't be prepared"):
            next(items)
    return items


def test_closing_after_an_error_closes_the_source_once() -> None:
    source = Closable()
    items = ahead_of_an_error(source)
    assert source.closed == []
    items.close()
    items.close()
    assert len(source.closed) == 1


def test_leaving_a_loop_by_an_error_closes_the_source_once() -> None:
    source = Closable()
    ahead_of_an_error(source)
    gc.collect()
    assert len(source.closed) == 1


def test_closing_twice_or_after_the_end_does_nothing() -> None:
    items = ahead(iter(range(5)))
    next(items)
    items.close()
    items.close()
    assert list(items) == []
    assert threads() == []


def test_items_that_nobody_took_are_destroyed() -> None:
    class Item:
        alive = 0

        def __init__(self) -> None:
            Item.alive += 1

        def __del__(self) -> None:
            Item.alive -= 1

    items = ahead((Item() for _ in range(10)), depth=3)
    next(items)
    items.close()
    gc.collect()
    assert Item.alive == 0

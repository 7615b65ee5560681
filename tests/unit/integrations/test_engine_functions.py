"""How a copy in an engine's place ends: in its stream, or waited for."""

from typing import Any, cast

import pytest

import isthmus
from isthmus.integrations.engine_functions import settle


class Future:
    """A copy that a thread makes, or that its stream orders."""

    def __init__(self, *, ordered: bool) -> None:
        self.ordered = ordered
        self.num_waits = 0

    @property
    def event(self) -> None:
        if not self.ordered:
            raise isthmus.Unavailable(capability="an event", reason="a thread", needs="result()")

    def result(self) -> None:
        self.num_waits += 1


@pytest.mark.parametrize("ordered", [True, False])
def test_only_a_copy_that_no_stream_orders_is_waited_for(ordered: bool) -> None:
    future = Future(ordered=ordered)
    settle(cast("Any", future))
    assert future.num_waits == (0 if ordered else 1)

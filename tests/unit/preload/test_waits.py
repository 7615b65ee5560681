"""Waits that only the copy before them caused."""

from preloading import Place


def test_a_wait_directly_after_an_asynchronous_copy_of_its_stream_is_a_copy_wait(
    place: Place,
) -> None:
    counted = place.watched([place.compile("waits.c")]).only
    assert counted.sum("calls", "cuStreamSynchronize") == 3
    assert counted.sum("hidden", "cuStreamSynchronize") == 1
    assert counted.sum("calls", "cuCtxSynchronize") == 2
    assert counted.sum("hidden", "cuCtxSynchronize") == 1

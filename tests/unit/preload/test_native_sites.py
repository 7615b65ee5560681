"""How often a place is looked up where no Python is: it takes microseconds."""

from preloading import Place


def test_many_copies_pay_for_few_places_and_leave_hidden_synchronisation_its_own(
    place: Place,
) -> None:
    counted = place.watched([place.compile("sites.c")]).only
    many, in_calls = "cuMemcpyDtoH_v2", counted.sum("ns", "cuMemcpyDtoH_v2")
    with_place = counted.sum("calls", many) - counted.sum("calls", many, site="")
    assert 128 <= with_place <= 128 + in_calls // 1_000_000
    assert counted.sum("hidden", "cuMemcpyDtoHAsync_v2") == 1
    assert counted.sum("calls", "cuMemcpyDtoHAsync_v2", site="") == 0

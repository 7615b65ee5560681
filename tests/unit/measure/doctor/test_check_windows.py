from dataclasses import replace
from pathlib import Path

from isthmus.measure.doctor.check import Status
from isthmus.measure.doctor.check_software import check_gdrapi, check_window_memory, check_windows
from isthmus.measure.doctor.facts import WindowBackend, WindowFacts, WindowMemory

DMABUF = WindowBackend(name="dmabuf", usable=False, reason="needs CUDA 13.3")
NO_MODULE = WindowBackend(name="gdrdrv", usable=False, reason="no /dev/gdrdrv")
RM = WindowBackend(name="rm", usable=True, reason="driver 580.159.04, tested")
NO_RM = replace(RM, usable=False, reason="open of /dev/nvidiactl: Permission denied")
FACTS = WindowFacts(ordinal=1, backends=[DMABUF, NO_MODULE, RM], limit_bytes=64 << 30)


def test_what_works_is_named_with_its_limit_and_why_the_others_do_not() -> None:
    check = check_windows(FACTS)
    assert (check.name, check.status, check.advice) == ("gpu 1 windows", Status.OK, None)
    assert check.finding == (
        "rm (driver 580.159.04, tested), at most 64.0 GiB at a time; "
        "not dmabuf (needs CUDA 13.3), gdrdrv (no /dev/gdrdrv)"
    )


MALLOCED = WindowMemory(memory="cudaMalloc", usable=True, reason="found by its IPC handle")
CREATED = WindowMemory(memory="cuMemCreate", usable=True, reason="found by its record")
POOLED = WindowMemory(memory="cudaMallocAsync", usable=False, reason="a pool has no handle")


def test_the_method_found_for_each_kind_of_memory_is_named_and_a_refusal_is_a_note() -> None:
    check = check_window_memory(replace(FACTS, memory=[MALLOCED, CREATED, POOLED]))
    assert check is not None
    assert (check.name, check.status) == ("gpu 1 window memory", Status.NOTE)
    assert check.finding == (
        "cudaMalloc: found by its IPC handle; cuMemCreate: found by its record; "
        "none on cudaMallocAsync (a pool has no handle)"
    )
    assert check.advice is not None
    told = [
        {"memory": one.memory, "usable": one.usable, "reason": one.reason}
        for one in (MALLOCED, CREATED, POOLED)
    ]
    assert check.facts == {"memory": told}


def test_kinds_of_memory_that_are_found_in_the_same_way_are_named_together() -> None:
    other = replace(CREATED, reason=MALLOCED.reason)
    check = check_window_memory(replace(FACTS, memory=[MALLOCED, other]))
    assert check is not None
    assert (check.status, check.advice) == (Status.OK, None)
    assert check.finding == "cudaMalloc, cuMemCreate: found by its IPC handle"


def test_without_windows_there_is_nothing_to_say_about_memory() -> None:
    assert check_window_memory(FACTS) is None


def test_of_several_that_work_the_first_is_named() -> None:
    everything = [replace(one, usable=True) for one in FACTS.backends]
    check = check_windows(replace(FACTS, backends=everything, limit_bytes=None))
    assert check.finding == "dmabuf (needs CUDA 13.3)"


def test_programs_are_told_every_backend_and_its_reason() -> None:
    facts = check_windows(FACTS).facts
    assert facts["setting"] is None
    assert facts["bar1_limit_bytes"] == 64 << 30
    assert facts["backends"] == [
        {"backend": "dmabuf", "usable": False, "reason": "needs CUDA 13.3"},
        {"backend": "gdrdrv", "usable": False, "reason": "no /dev/gdrdrv"},
        {"backend": "rm", "usable": True, "reason": "driver 580.159.04, tested"},
    ]


def test_nothing_that_works_is_a_note_with_every_reason_and_what_would_bring_one() -> None:
    check = check_windows(replace(FACTS, backends=[DMABUF, NO_MODULE, NO_RM]))
    assert check.status == Status.NOTE
    for reason in ("13.3", "no /dev/gdrdrv", "/dev/nvidiactl: Permission denied"):
        assert reason in check.finding
    assert check.advice is not None
    assert "610" in check.advice


def test_a_device_file_this_user_may_not_open_is_to_be_opened_to_him() -> None:
    closed = replace(NO_MODULE, reason="open of /dev/gdrdrv: Permission denied")
    check = check_windows(replace(FACTS, backends=[DMABUF, closed, NO_RM]))
    assert check.advice is not None
    assert check.advice.startswith("chmod a+rw /dev/gdrdrv")


def test_windows_that_are_switched_off_are_a_note_that_says_what_would_work() -> None:
    check = check_windows(replace(FACTS, setting="off"))
    assert check.status == Status.NOTE
    assert check.finding == "off, by ISTHMUS_WINDOW; would work: rm"
    assert check.advice == "unset ISTHMUS_WINDOW to use them"
    nothing = check_windows(replace(FACTS, setting="off", backends=[DMABUF]))
    assert nothing.finding.endswith("would work: none")
    assert nothing.advice is None


def test_a_backend_that_was_chosen_is_the_only_one_that_counts() -> None:
    check = check_windows(replace(FACTS, setting="rm"))
    assert check.status == Status.OK
    assert check.finding.startswith("rm by ISTHMUS_WINDOW (driver")
    refused = check_windows(replace(FACTS, setting="gdrdrv"))
    assert refused.status == Status.NOTE
    assert refused.finding == (
        "none: gdrdrv (no /dev/gdrdrv); others aren't tried, by ISTHMUS_WINDOW=gdrdrv"
    )


def test_a_setting_without_meaning_is_a_problem() -> None:
    check = check_windows(
        WindowFacts(ordinal=0, setting="telepathy", failure="ISTHMUS_WINDOW is 'telepathy'")
    )
    assert check.status == Status.PROBLEM
    assert check.finding == "ISTHMUS_WINDOW is 'telepathy'"
    assert check.advice is not None
    assert "unset" in check.advice


def test_programs_for_gdrcopy_are_told_where_their_library_is() -> None:
    check = check_gdrapi(Path("/x/isthmus/libgdrapi.so.2"))
    assert check.status == Status.OK
    assert check.finding.startswith("/x/isthmus/libgdrapi.so.2")
    assert check.advice == (
        'export LD_LIBRARY_PATH="/x/isthmus${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"'
    )


def test_a_package_without_that_library_is_a_note() -> None:
    assert check_gdrapi(None).status == Status.NOTE

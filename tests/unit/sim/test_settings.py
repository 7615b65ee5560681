import pytest

from isthmus.errors import UsageError
from isthmus.sim.machine_files import load_machine
from isthmus.sim.options import QUESTIONS, Options
from isthmus.sim.policy import MEANINGS, Kind, default_policy, policy_names
from isthmus.sim.settings import Setup, read_assignments, setting_of, settings, with_settings


def setup(policy: str = "ranges") -> Setup:
    return Setup(machine=load_machine("paper-gtx480"), policy=default_policy(policy))


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("link.bandwidth=32GB/s", 32_000_000_000),
        ("faults.latency = 20us", 20_000_000),
        ("policy.unit=4KiB", 4096),
        ("policy.merge=false", False),
        ("options.local_memory=migrates", "migrates"),
        ("tlb.shared_entries=256", 256),
    ],
)
def test_a_setting_is_changed_and_nothing_else(assignment: str, value: object) -> None:
    before = setup()
    after = with_settings(before, read_assignments([assignment]))
    (name,) = read_assignments([assignment])
    assert after.value(name) == value
    back = with_settings(after, {name: setting_of(name).text(before.value(name))})
    assert back == before


@pytest.mark.parametrize(
    ("assignment", "message", "hint"),
    [
        ("link.bandwith=32GB/s", "no setting 'link.bandwith'", "link.bandwidth"),
        ("bandwidth=32GB/s", "no setting 'bandwidth'", "link.bandwidth"),
        ("link.bandwidth=32", "link.bandwidth: ", "32GB/s"),
        ("link.bandwidth", "sets nothing", "link.bandwidth=32GB/s"),
        ("=1", "sets nothing", "link.bandwidth=32GB/s"),
        ("policy.unit=4MiB", "larger than its page", "policy.unit=2 MiB"),
        ("policy.unit=3KiB", "not a power of two", "did you mean 2 KiB?"),
        ("policy.merge=maybe", "policy.merge can't be 'maybe'", "false, true"),
        ("options.local_memory=on", "can't be 'on'", "resident, migrates"),
        ("tlb.entries=0", "tlb.entries: ", "8"),
        ("l1.size=1000", "a whole number of sets", "docs/simulate.md"),
        ("policy.kind=tree", "no setting 'policy.kind'", "policy."),
        ("link.costs=1", "no setting 'link.costs'", "link."),
    ],
)
def test_a_setting_that_can_not_be_is_refused(assignment: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        with_settings(setup(), read_assignments([assignment]))
    assert message in str(caught.value)
    assert hint in caught.value.hint


def test_a_setting_is_given_once() -> None:
    with pytest.raises(UsageError, match="set twice"):
        read_assignments(["policy.unit=1KiB", "policy.unit=2KiB"])


def test_settings_that_fit_only_together_may_be_given_together() -> None:
    small = with_settings(setup(), {"policy.page": "4KiB", "policy.unit": "4KiB"})
    assert small.policy.unit == small.policy.page == 4096


def test_every_setting_says_what_it_is_and_reads_what_it_writes() -> None:
    for setting in settings().values():
        assert setting.meaning, setting.name
        setting.check(setting.text(setup().value(setting.name)))


def test_every_open_question_names_a_setting_and_its_default_first() -> None:
    assert [one.number for one in QUESTIONS] == list(range(1, 19))
    for one in QUESTIONS:
        if one.setting:
            default = setting_of(one.setting).text(setup("single-range").value(one.setting))
            assert one.choices[0].replace(" ", "") == default.replace(" ", ""), one
        assert one.reason


def test_the_papers_baseline_does_not_merge_requests_and_partial_migration_does() -> None:
    assert not default_policy("whole-page").merge
    assert all(default_policy(one).merge for one in policy_names() if one != "whole-page")


def test_every_policy_has_a_meaning_and_an_unknown_one_the_nearest() -> None:
    assert set(MEANINGS) == set(Kind)
    with pytest.raises(UsageError) as caught:
        default_policy("rangs")
    assert "did you mean ranges" in caught.value.hint


def test_the_options_default_to_what_the_words_say() -> None:
    options = Options()
    assert options.buffer_scope == "per_partition"
    assert options.local_memory == "resident"
    assert options.programmer_data == "uploads"
    assert not options.count_downloads

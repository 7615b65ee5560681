from fakes.advice import KIB, machine_profile, memory
from isthmus.decide.advice.answer import classic_answers
from isthmus.decide.advice.break_evens import BreakEven, Range
from isthmus.decide.advice.ways import Name
from isthmus.decide.profile.model import MemoryKind
from isthmus.show.answers.advice import classic_as_text, ranges_text


def test_without_measured_memory_reasons_stand_in_place_of_empty_tables() -> None:
    measured = [
        one
        if one.memory == MemoryKind.POOL
        else one.model_copy(
            update={"points": [one.points[0].model_copy(update={"bytes": 4 * KIB})]}
        )
        for one in memory()
    ]
    text = classic_as_text(*classic_answers(machine_profile(memory=measured)), "this machine")
    assert "Sizes at which" not in text
    assert "not possible: malloc, cudaMemcpy: pageable memory was measured at 4 KiB alone" in text
    assert "`isthmus profile` on an idle machine measures more" in text


def test_an_end_that_is_the_break_even_itself_is_not_told_twice() -> None:
    said = {
        (1, 3): "from 2 (1 to 3)",
        (None, 2): "from 2 or less",
        (None, 3): "from 2 (up to 3)",
        (2, None): "from 2 or more",
    }
    for (low, high), words in said.items():
        at = BreakEven(at=2, low=low, high=high, before=Name.PAGEABLE, after=Name.PINNED)
        assert ranges_text([Range(first=at, last=None)], str, "always") == words

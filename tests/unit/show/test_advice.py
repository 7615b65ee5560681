from fakes.advice import KIB, machine_profile, memory
from isthmus.decide.advice.answer import classic_answers
from isthmus.decide.profile.model import MemoryKind
from isthmus.show.answers.advice import classic_as_text


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

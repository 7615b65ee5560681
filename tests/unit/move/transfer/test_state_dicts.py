"""What programs with PyTorch copy without thinking: modules, tied weights, optimizers' states."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus

pytestmark = pytest.mark.native

torch: Any = pytest.importorskip("torch", exc_type=ImportError)
MODULE: Any = torch.nn.Module


def tied_model(first: float = 0.0) -> Any:  # noqa: ANN401 - a torch.nn.Module
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 4)
    )
    model[2].weight = model[0].weight
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.fill_(first + number)
    return model


def same(one: Any, other: Any) -> bool:  # noqa: ANN401 - state dicts
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


def test_a_module_takes_a_state_dict_as_load_state_dict_does() -> None:
    model, saved = tied_model(), tied_model(10).state_dict()
    isthmus.copy(model, saved)
    assert same(model.state_dict(), saved)
    assert model[2].weight is model[0].weight
    isthmus.copy_async(model, tied_model(20).state_dict()).result(60)
    assert same(model.state_dict(), tied_model(20).state_dict())


def test_modules_are_sources_and_members_of_structures_too() -> None:
    model, other = tied_model(), tied_model(10)
    isthmus.copy({"models": [model]}, {"models": [other]})
    assert same(model.state_dict(), other.state_dict())
    saved = {key: torch.zeros_like(value) for key, value in model.state_dict().items()}
    saved["2.weight"] = saved["0.weight"]  # tied, as torch.load gives it
    isthmus.copy(saved, model)
    assert same(saved, model.state_dict())


def test_all_names_that_only_one_side_has_are_told() -> None:
    model = tied_model()
    saved = model.state_dict()
    saved["extra"] = saved.pop("0.bias")
    del saved["1.running_mean"]
    with pytest.raises(isthmus.UsageError) as refusal:
        isthmus.copy(model, saved)
    assert str(refusal.value) == (
        "0.bias, 1.running_mean are in the target and not in the source; "
        "extra is in the source and not in the target"
    )
    with pytest.raises(isthmus.UsageError, match=r"7 and 92 more are in the target and not in the"):
        isthmus.copy({str(i): saved["extra"] for i in range(100)}, {})


def test_a_file_that_leaves_the_twins_of_tied_weights_out_restores_them(tmp_path: Path) -> None:
    saved = tied_model(10).state_dict()
    del saved["2.weight"]  # as safetensors.torch.save_model leaves it out
    isthmus.save_safetensors(saved, tmp_path / "model.safetensors")
    loaded = isthmus.load_safetensors(tmp_path / "model.safetensors", framework="dlpack")
    for source in (loaded, saved):
        for copy in (isthmus.copy, lambda *ends: isthmus.copy_async(*ends).result(60)):
            model = tied_model()
            copy(model, source)
            assert same(model.state_dict(), tied_model(10).state_dict())


def test_a_name_is_missing_unless_all_of_its_memory_is_written_under_another() -> None:
    memory = torch.zeros(8)
    twins = {"part": memory[:4], "strided": memory[::2], "none": memory[:0], "whole": memory}
    for name in ("part", "strided", "none"):
        with pytest.raises(isthmus.UsageError, match=f"^{name} is in the target and not in the"):
            isthmus.copy({"whole": memory, name: twins[name]}, {"whole": torch.ones(8)})
    with pytest.raises(isthmus.UsageError, match=r"^whole is in the target and not in the source$"):
        isthmus.copy({"part": memory[:4], "whole": memory}, {"part": torch.ones(4)})
    with pytest.raises(isthmus.UsageError, match=r"^a, b are in the target and not in the source"):
        isthmus.copy({"a": memory, "b": memory}, {"c": torch.ones(8)})
    assert not memory.any()


def test_tied_targets_from_different_sources_are_refused_with_both_paths() -> None:
    model = tied_model()
    saved = {key: torch.ones_like(value) for key, value in model.state_dict().items()}
    message = r"2\.weight: its target overlaps the target of 0\.weight"
    with pytest.raises(isthmus.UsageError, match=message):
        isthmus.copy(model, saved)
    assert same(model.state_dict(), tied_model().state_dict())


@pytest.mark.parametrize("casting", ["no", "safe"])
def test_what_is_there_twice_is_copied_once(casting: Any) -> None:  # noqa: ANN401
    transfers = isthmus.Transfers(isthmus.Windows("emulated"))
    source = np.arange(2000, dtype="f4")
    target = isthmus.device_empty(2000, "f4" if casting == "no" else "f8")
    transfers.copy([target] * 3, [source] * 3, casting=casting)
    assert sum(use.calls for use in transfers.stats().paths.values()) == (casting == "no")
    back = np.empty(2000, "f8")
    transfers.copy(back, target, casting="safe")
    assert np.array_equal(back, source)
    if casting == "no":
        plan = transfers.explain([target] * 3, [source] * 3)
        assert sum(share.num_copies for share in plan.shares) == 1


def test_the_numbers_of_an_optimizers_state_stay() -> None:
    def stepped(rate: float) -> Any:  # noqa: ANN401 - an optimizer
        model = tied_model(rate)
        optimizer = torch.optim.Adam(model.parameters(), lr=rate, betas=(rate, 0.9))
        model(torch.ones(3, 4)).square().sum().backward()
        optimizer.step()
        return optimizer

    one, other = stepped(0.5).state_dict(), stepped(0.25).state_dict()
    isthmus.copy(one, other)
    for number, state in other["state"].items():
        assert same(one["state"][number], state)
    assert one["param_groups"][0]["lr"] == 0.5
    assert one["param_groups"][0]["betas"] == (0.5, 0.9)


@pytest.mark.parametrize("value", [3, 2.5, 1j, "text", None, True])
def test_a_value_beside_an_array_is_refused_by_its_path(value: object) -> None:
    for target, source in (([value], [b"x"]), ([bytearray(1)], [value])):
        with pytest.raises(isthmus.UsageError, match=r"^a\.0: a '\w+' has no memory to copy"):
            isthmus.copy({"a": target}, {"a": source})


def test_structures_without_an_array_are_refused() -> None:
    with pytest.raises(isthmus.UsageError, match="there is no array in these structures"):
        isthmus.copy({"lr": 0.1, "names": ["a"]}, {"lr": 0.2, "names": ["b"]})


def test_a_structure_that_contains_itself_is_refused_where_it_does() -> None:
    circle: dict[str, Any] = {"weight": bytearray(1)}
    circle["layers"] = [{"again": circle}]
    plain = {"weight": b"1", "layers": [{"again": {"weight": b"1", "layers": [{"again": circle}]}}]}
    for target, source in ((circle, circle), (circle, plain), (plain, circle)):
        with pytest.raises(
            isthmus.UsageError, match=r"layers\.0\.again: the \w+'s dict here conta"
        ):
            isthmus.copy(target, source)
    assert circle["weight"] == bytearray(1)


def test_a_structure_may_be_in_another_one_twice() -> None:
    target, source = [np.zeros(3)], [np.ones(3)]
    isthmus.copy({"a": target, "b": [target]}, {"a": source, "b": [source]})
    assert target[0].all()


def test_the_time_for_many_short_lists_grows_with_their_number() -> None:
    def seconds(count: int) -> float:
        sources = [[b"1", b"2"]] * count
        targets = [[bytearray(1), bytearray(1)] for _ in range(count)]
        begun = time.process_time()
        isthmus.copy(targets, sources)
        return time.process_time() - begun

    # Linear: 8; quadratic: 64. Seen: 10.6, and 54 before they were.
    few, many = (min(seconds(count) for _ in range(2)) for count in (1 << 13, 1 << 16))
    assert many < 25 * few


class Made(MODULE):  # type: ignore[misc]
    """Has a state that its state dict makes anew."""

    def __init__(self, state: object) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(2))
        self.state = state

    def get_extra_state(self) -> object:
        return self.state

    def set_extra_state(self, state: object) -> None:
        self.state = state


@pytest.mark.parametrize("state", [7, {"scale": torch.ones(2)}])
def test_a_module_with_a_state_of_its_own_is_no_target(state: object) -> None:
    with pytest.raises(isthmus.UsageError, match="would be lost") as refusal:
        isthmus.copy(Made(state), Made(state))
    assert "load_state_dict" in refusal.value.hint


def test_a_module_whose_state_dict_is_made_anew_is_a_source_alone() -> None:
    model = torch.nn.Linear(2, 2)
    model.register_state_dict_post_hook(
        lambda _module, state, _prefix, _metadata: state.update(
            {key: value.clone() for key, value in state.items()}
        )
    )
    with pytest.raises(isthmus.UsageError, match="'weight' of this Linear is made anew"):
        isthmus.copy(model, torch.nn.Linear(2, 2).state_dict())
    saved = {key: torch.zeros_like(value) for key, value in model.state_dict().items()}
    isthmus.copy(saved, model)
    assert same(saved, model.state_dict())

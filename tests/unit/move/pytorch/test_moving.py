"""Modules, optimizers and objects that move themselves."""

from typing import Any

import pytest

import isthmus.torch
from isthmus.errors import UsageError
from isthmus.move.torch import moving

torch: Any = pytest.importorskip("torch")
META = torch.device("meta")


@pytest.fixture(autouse=True)
def moves_by_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let PyTorch's own device without memory stand for a GPU."""
    monkeypatch.setattr(moving, "moved", lambda tensor, device: tensor.to(device))
    monkeypatch.setattr(moving, "device_of", lambda _: META)


def trained(kind: Any, **options: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """Make a module and an optimizer that has made a step."""
    net = torch.nn.Linear(3, 2)
    optimizer = kind(net.parameters(), **options)

    def loss() -> Any:  # noqa: ANN401
        optimizer.zero_grad()
        value = net(torch.ones(1, 3)).pow(2).sum()
        value.backward()
        return value

    optimizer.step(loss)
    return net, optimizer


@pytest.mark.parametrize(
    ("group", "moves"), [({}, False), ({"fused": True}, True), ({"capturable": True}, True)]
)
def test_an_optimizers_state_moves_and_steps_go_where_they_are_read(
    group: dict[str, bool], moves: bool
) -> None:
    net, optimizer = trained(torch.optim.Adam)
    optimizer.param_groups[0].update(group)
    assert isthmus.torch.to([optimizer])[0] is optimizer
    for state in optimizer.state.values():
        assert state["exp_avg"].is_meta
        assert state["exp_avg_sq"].is_meta
        assert state["step"].is_meta is moves
    assert not net.weight.is_meta
    assert set(optimizer.state) == set(net.parameters())


def test_lists_in_an_optimizers_state_move() -> None:
    _, optimizer = trained(torch.optim.LBFGS)
    isthmus.torch.to(optimizer)
    (state,) = optimizer.state.values()
    assert all(tensor.is_meta for tensor in (state["d"], *state["old_dirs"], *state["old_stps"]))
    assert isinstance(state["n_iter"], int)


def test_an_optimizer_that_has_made_no_step_passes() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1)
    assert isthmus.torch.to(optimizer) is optimizer


class Knowing(torch.nn.Linear):  # type: ignore[misc]
    """A module that notes where it is, as Lightning's do."""

    where: Any = None

    def to(self, device: Any) -> "Knowing":  # noqa: ANN401
        assert self.weight.is_meta, "its tensors were moved before"
        self.where = device
        return self


def test_a_modules_own_method_is_called() -> None:
    net = Knowing(3, 2)
    assert isthmus.torch.to({"net": net})["net"] is net
    assert net.where == META


class Simple:
    def to(self, device: Any) -> Any:  # noqa: ANN401
        return device


def test_a_method_that_takes_no_more_than_the_device_is_called_with_that() -> None:
    assert isthmus.torch.to(Simple()) == META
    assert moving.sent(Simple(), META, non_blocking=True) == META


def test_a_learning_rate_schedule_is_no_value_that_moves() -> None:
    _, optimizer = trained(torch.optim.Adam)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    with pytest.raises(UsageError, match="holds no tensor: value is a StepLR"):
        isthmus.torch.to(schedule)

"""The networks: their schedules, depths and checkpoints."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from benchmarks.spottune import networks

RESNET = {"bs": 32, "version": 2, "depth": 8, "de": 1}


@pytest.fixture(autouse=True)
def few_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "RESNET_IMAGES", 200)
    monkeypatch.setattr(networks, "CNN_IMAGES", 200)


def rates(trainer: networks.NetworkTrainer) -> float:
    return float(trainer._optimizer.param_groups[0]["lr"])


@pytest.mark.parametrize(("version", "depth"), [(1, 8), (2, 8), (1, 14), (2, 14)])
def test_depth_counts_layers_with_weights_on_the_way(version: int, depth: int) -> None:
    """Convolutions of 3 x 3 and the dense layer; short cuts of 1 x 1 lie beside the way."""
    weights = networks._resnet(depth, version).state_dict()
    on_the_way = [w for name, w in weights.items() if w.dim() == 2 or (w.dim() == 4 and w.shape[-1] == 3)]
    assert len(on_the_way) == depth


def test_the_rate_drops_where_it_is_declared() -> None:
    trainer = networks.resnet(RESNET)
    seen, steps = [], [0]
    for _ in range(3):
        trainer.advance()
        seen.append(rates(trainer))
        steps.append(trainer.steps)
    assert seen == pytest.approx([networks.RESNET_RATE * factor for factor in (1, 0.1, 0.01)])
    assert networks.drop_steps(RESNET) == tuple(steps[1:3]) == (5.0, 10.0)


def test_the_cnns_rate_decays_continuously() -> None:
    trainer = networks.cnn({"bs": 32, "lr": 0.01, "dr": 0.5, "de": 2})
    trainer.advance()
    trainer.advance()
    assert rates(trainer) == pytest.approx(0.01 * 0.5 ** ((1 + 4 / 5) / 2))  # at the fifth step of the second epoch


def test_a_shift_moves_the_image() -> None:
    torch = networks.library()
    trainer = networks.cnn({"bs": 32, "lr": 0.01, "dr": 1.0, "de": 2})
    chosen, shifts = torch.tensor([3, 7]), torch.tensor([[1, 0], [-1, 0]])
    moved, images = trainer._shifted(chosen, shifts), trainer._inputs
    assert torch.equal(moved[0], torch.roll(images[3], (1, -1), dims=(1, 2)))
    assert torch.equal(moved[1], images[7])


def test_weights_begin_the_same_and_depend_on_the_setting_after() -> None:
    one, two = (
        networks.cnn({"bs": 32, "lr": 0.01, "dr": 1.0, "de": 2}),
        networks.cnn({"bs": 32, "lr": 0.1, "dr": 1.0, "de": 2}),
    )
    assert one.validate() == two.validate()
    one.advance()
    two.advance()
    assert one.validate() != two.validate()
    names = set(one.state())
    assert {"epoch", "model/0.weight", "adam/0/exp_avg", "adam/0/exp_avg_sq", "adam/0/step"} <= names
    assert all(np.isfinite(array).all() for array in one.state().values())

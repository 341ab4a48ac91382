"""A small convolutional network in AlexNet's place and small residual networks, by Adam, in PyTorch on one thread.

Images are halved to 14 x 14 (mean of 2 x 2 pixels), and every image is shifted by up to a pixel each way, so
that few images go a long way. A report is an epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.spottune import images
from leantune.errors import MissingExtra

if TYPE_CHECKING:
    import torch

Setting = Mapping[str, float | str]
SEED = 5  # of weights, shifts, dropout and the order of batches: the same for every setting
CNN_IMAGES, RESNET_IMAGES = 10_000, 5_000  # a fifth of them held back
SHIFT = 1  # pixel
DROP = 0.1  # factor of the learning rate at a drop
RESNET_RATE = 3e-3  # before the first drop
WIDTHS = (8, 16, 32)  # channels of the three stages of a residual network
WEIGHT_DECAY = 1e-4


def library() -> Any:
    """PyTorch, pinned to one thread."""
    try:
        import torch
    except ImportError:
        hint = "pip install 'leantune[revpred]'"
        raise MissingExtra("the networks need the library torch", where="benchmarks.spottune", hint=hint) from None
    torch.set_num_threads(1)
    return torch


@cache
def tensors(most: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Images [n, 1, 14, 14], centred, and labels [n] to learn from, and those to judge by; `most` in all."""
    loaded = library()
    learned, judged = images.load().split(most)
    mean, spread = float(learned.images.mean()), float(learned.images.std())

    def prepared(part: images.Images) -> tuple[torch.Tensor, torch.Tensor]:
        halved = (part.halved()[:, None] - mean) / spread
        return loaded.from_numpy(halved), loaded.from_numpy(part.labels)

    return (*prepared(learned), *prepared(judged))


class NetworkTrainer:
    """One run of Adam; rate_at(epochs so far) is the learning rate, epochs counted in fractions."""

    def __init__(
        self, build: Callable[[], torch.nn.Module], most: int, batch: int, rate_at: Callable[[float], float]
    ) -> None:
        self._torch = library()
        self._torch.manual_seed(SEED)
        self._net = build()
        self._optimizer = self._torch.optim.Adam(self._net.parameters(), lr=rate_at(0.0), weight_decay=WEIGHT_DECAY)
        self._inputs, self._labels, self._judged_inputs, self._judged_labels = tensors(most)
        self._batch, self._rate_at = batch, rate_at
        self._per_epoch = len(self._inputs) // batch
        self._epoch = 0

    @property
    def steps(self) -> int:
        """Steps of the optimizer so far."""
        return self._epoch * self._per_epoch

    def advance(self) -> None:
        """Train for an epoch; its randomness depends on its number alone, so that a run can resume."""
        torch = self._torch
        torch.manual_seed(SEED * 1000 + self._epoch)
        rng = np.random.default_rng([SEED, self._epoch])
        order = torch.from_numpy(rng.permutation(len(self._inputs)))
        self._net.train()
        for step in range(self._per_epoch):
            chosen = order[step * self._batch : (step + 1) * self._batch]
            inputs = self._shifted(chosen, torch.from_numpy(rng.integers(-SHIFT, SHIFT + 1, size=(2, len(chosen)))))
            for group in self._optimizer.param_groups:
                group["lr"] = self._rate_at(self._epoch + step / self._per_epoch)
            self._optimizer.zero_grad()
            torch.nn.functional.cross_entropy(self._net(inputs), self._labels[chosen]).backward()
            self._optimizer.step()
        self._epoch += 1

    def _shifted(self, chosen: torch.Tensor, shifts: torch.Tensor) -> torch.Tensor:
        """These images, each moved down and right by its own shifts [2, n]; what leaves comes in on the other side."""
        side = self._torch.arange(self._inputs.shape[-1])
        rows, columns = ((side - shift[:, None]) % len(side) for shift in shifts)
        return self._inputs[chosen[:, None, None], 0, rows[:, :, None], columns[:, None, :]][:, None]

    def validate(self) -> float:
        """Mean cross entropy of the images held back."""
        self._net.eval()
        with self._torch.no_grad():
            scores = self._net(self._judged_inputs)
            return float(self._torch.nn.functional.cross_entropy(scores, self._judged_labels))

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Weights, statistics of the normalisation and Adam's moments."""
        arrays = {f"model/{name}": tensor.numpy().copy() for name, tensor in self._net.state_dict().items()}
        for number, moments in self._optimizer.state_dict()["state"].items():
            arrays |= {f"adam/{number}/{name}": tensor.numpy().copy() for name, tensor in moments.items()}
        return {**arrays, "epoch": np.array(self._epoch)}

    def load(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Go on from a checkpoint."""
        model, moments = {}, dict[int, dict[str, Any]]()
        for name, array in state.items():
            kind, _, rest = name.partition("/")
            if kind == "model":
                model[rest] = self._torch.from_numpy(np.array(array))
            elif kind == "adam":
                number, _, moment = rest.partition("/")
                moments.setdefault(int(number), {})[moment] = self._torch.from_numpy(np.array(array))
        self._net.load_state_dict(model)
        self._optimizer.load_state_dict({**self._optimizer.state_dict(), "state": moments})
        self._epoch = int(state["epoch"])


def cnn(setting: Setting) -> NetworkTrainer:
    """Learning rate lr * dr^(epochs / de), continuous."""
    rate, decay, epochs = float(setting["lr"]), float(setting["dr"]), float(setting["de"])
    return NetworkTrainer(_cnn, CNN_IMAGES, int(setting["bs"]), lambda epoch: rate * decay ** (epoch / epochs))


def resnet(setting: Setting) -> NetworkTrainer:
    """Learning rate a tenth after `de` epochs, and a hundredth after 2 `de`."""
    drops = drop_epochs(setting)
    return NetworkTrainer(
        lambda: _resnet(int(setting["depth"]), int(setting["version"])),
        RESNET_IMAGES,
        int(setting["bs"]),
        lambda epoch: RESNET_RATE * DROP ** sum(epoch >= drop for drop in drops),
    )


def drop_epochs(setting: Setting) -> tuple[int, int]:
    """When a residual network's learning rate drops."""
    return int(setting["de"]), 2 * int(setting["de"])


def drop_steps(setting: Setting) -> tuple[float, ...]:
    """The same in steps: an epoch has the whole batches of the images to learn from."""
    per_epoch = len(tensors(RESNET_IMAGES)[0]) // int(setting["bs"])
    return tuple(float(per_epoch * epoch) for epoch in drop_epochs(setting))


def _cnn() -> torch.nn.Module:
    """Two convolutions with pooling, then two dense layers with dropout: AlexNet's order of things, smaller."""
    nn = library().nn
    convolutions = [nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    convolutions += [nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    dense = (nn.Flatten(), nn.Linear(24 * 9, 64), nn.ReLU(), nn.Dropout(0.25), nn.Linear(64, 10))
    module: torch.nn.Module = nn.Sequential(*convolutions, *dense)
    return module


def _resnet(depth: int, version: int) -> torch.nn.Module:
    """Depth 6 n + 2: a convolution, three stages of n blocks of two, a normalisation and a dense layer.

    Version 1 normalises and activates after each convolution and after the sum (He et al. 2015); version 2 before
    each convolution (He et al. 2016).
    """
    loaded = library()
    nn = loaded.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, before: int, width: int, stride: int) -> None:
            super().__init__()
            self.first = nn.Conv2d(before, width, 3, stride=stride, padding=1, bias=False)
            self.second = nn.Conv2d(width, width, 3, padding=1, bias=False)
            self.norms = nn.ModuleList([nn.BatchNorm2d(before if version == 2 else width), nn.BatchNorm2d(width)])
            same = before == width
            self.short = nn.Identity() if same else nn.Conv2d(before, width, 1, stride=stride, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if version == 2:
                inner = self.first(loaded.relu(self.norms[0](x)))
                after: torch.Tensor = self.short(x) + self.second(loaded.relu(self.norms[1](inner)))
            else:
                inner = loaded.relu(self.norms[0](self.first(x)))
                after = loaded.relu(self.short(x) + self.norms[1](self.second(inner)))
            return after

    layers = [nn.Conv2d(1, WIDTHS[0], 3, padding=1, bias=False)]
    before = WIDTHS[0]
    for stage, width in enumerate(WIDTHS):
        for block in range((depth - 2) // 6):
            layers.append(Block(before, width, stride=2 if stage and not block else 1))
            before = width
    top = [nn.BatchNorm2d(before), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 10)]
    module: torch.nn.Module = nn.Sequential(*layers, *top)
    return module

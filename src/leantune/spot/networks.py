"""The two networks, their training loop, and their weights as plain arrays. PyTorch is needed only here.

    two-part (RevPred):  [LSTM of 3 layers over 59 past minutes -> last hidden state | 3 dense layers on the present] -> P^
    whole (Tributary):   LSTM of 3 layers over 60 minutes, the max price in each -> last hidden state -> P^

Adam on the weighted log loss; an epoch sees every training time once, with freshly drawn max prices; training stops when
the Brier score of the validation slice has not fallen for `patience` epochs, and the best epoch's weights are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from leantune.cloud.markets import FloatArray
from leantune.errors import MissingExtra
from leantune.spot.dataset import BoolArray
from leantune.spot.trained import Tensors

if TYPE_CHECKING:
    import torch

SingleArray = NDArray[np.float32]
LAYERS = 3


@dataclass(frozen=True)
class NetworkOptions:
    """hidden: of the LSTM; dense: width of the dense layers; epochs at most, of which `patience` may bring nothing."""

    hidden: int = 16
    dense: int = 48
    learning_rate: float = 4e-3
    weight_decay: float = 1e-4
    dropout: float = 0.1
    batch: int = 256
    epochs: int = 14
    patience: int = 4


@dataclass(frozen=True)
class Inputs:
    """What a network reads of n queries: minutes (n, steps, channels) and present (n, k; k may be 0)."""

    minutes: SingleArray
    present: SingleArray

    def __len__(self) -> int:
        return len(self.minutes)


@dataclass(frozen=True)
class Batch:
    """Inputs of an epoch with their labels and weights."""

    inputs: Inputs
    labels: BoolArray
    weights: FloatArray


def needed_torch() -> Any:
    """The library, pinned to one thread: many small networks train side by side."""
    try:
        import torch
    except ImportError:
        what = "neural predictors need the library PyTorch"
        raise MissingExtra(what, where="spot", hint="pip install 'leantune[revpred]'") from None
    torch.set_num_threads(1)
    return torch


def build(channels: int, present: int, options: NetworkOptions) -> torch.nn.Module:
    """A network with `present` features of the present minute; without any it is one LSTM and an output."""
    torch = needed_torch()
    nn = torch.nn

    class Network(nn.Module):  # type: ignore[misc, name-defined] # torch is imported here alone
        def __init__(self) -> None:
            super().__init__()
            width = options.hidden
            self.past = nn.LSTM(channels, width, num_layers=LAYERS, batch_first=True)
            self.present = None
            if present:
                self.present = nn.Sequential(
                    nn.Linear(present, options.dense),
                    nn.ReLU(),
                    nn.Dropout(options.dropout),
                    nn.Linear(options.dense, options.dense),
                    nn.ReLU(),
                    nn.Dropout(options.dropout),
                    nn.Linear(options.dense, options.dense),
                    nn.ReLU(),
                )
            self.joined = nn.Sequential(
                nn.Linear(width + (options.dense if present else 0), options.dense),
                nn.ReLU(),
                nn.Dropout(options.dropout),
                nn.Linear(options.dense, 1),
            )

        def forward(self, minutes: torch.Tensor, now: torch.Tensor) -> torch.Tensor:
            remembered = self.past(minutes)[0][:, -1]
            if self.present is not None:
                remembered = torch.cat([remembered, self.present(now)], dim=1)
            return self.joined(remembered)[:, 0]

    return Network()


def train(
    epoch: Callable[[int], Batch], validation: Batch, options: NetworkOptions, seed: int
) -> tuple[Tensors, list[float]]:
    """(weights of the best epoch, validation Brier score of each epoch); epoch(e) draws what epoch e sees."""
    torch = needed_torch()
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    network, optimiser = None, None
    best, scores = {}, []
    for number in range(options.epochs):
        drawn = epoch(number)
        if network is None:
            network = build(drawn.inputs.minutes.shape[2], drawn.inputs.present.shape[1], options)
            optimiser = torch.optim.AdamW(
                network.parameters(), lr=options.learning_rate, weight_decay=options.weight_decay
            )
        rate = options.learning_rate * 0.5 * (1 + np.cos(np.pi * number / options.epochs))
        for part in optimiser.param_groups:
            part["lr"] = rate
        _pass(network, optimiser, drawn, random.permutation(len(drawn.labels)), options.batch)
        answers = expit(_logits(network, validation.inputs))
        scores.append(float(np.average((answers - validation.labels) ** 2, weights=validation.weights)))
        if scores[-1] == min(scores):
            best = {name: value.detach().numpy().copy() for name, value in network.state_dict().items()}
        elif len(scores) - 1 - int(np.argmin(scores)) >= options.patience:
            break
    return best, scores


def _pass(network: Any, optimiser: Any, drawn: Batch, order: NDArray[np.int64], size: int) -> None:
    torch = needed_torch()
    network.train()
    minutes, now = torch.from_numpy(drawn.inputs.minutes), torch.from_numpy(drawn.inputs.present)
    labels = torch.from_numpy(drawn.labels.astype(np.float32))
    weights = torch.from_numpy(drawn.weights.astype(np.float32))
    for start in range(0, len(order), size):
        rows = torch.from_numpy(order[start : start + size])
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            network(minutes[rows], now[rows]), labels[rows], weight=weights[rows]
        )
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()


def logits(weights: Tensors, options: NetworkOptions, inputs: Inputs) -> FloatArray:
    """logit P^ (n,) of a network with these weights."""
    torch = needed_torch()
    network = build(inputs.minutes.shape[2], inputs.present.shape[1], options)
    network.load_state_dict({name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in weights.items()})
    return _logits(network, inputs)


def _logits(network: Any, inputs: Inputs, size: int = 4096) -> FloatArray:
    torch = needed_torch()
    network.eval()
    found = np.empty(len(inputs))
    with torch.no_grad():
        for start in range(0, len(inputs), size):
            rows = slice(start, start + size)
            now = torch.from_numpy(inputs.present[rows])
            found[rows] = network(torch.from_numpy(inputs.minutes[rows]), now).numpy()
    return found

"""The two networks, their training loop, and their weights as plain arrays. PyTorch is needed only here.

    two-part (RevPred):  [LSTM of 3 layers over 59 past minutes, its last state | 3 dense layers on the present] -> P^
    whole (Tributary):   LSTM of 3 layers over 60 minutes, the max price in each, its last state -> P^

Adam on the weighted log loss; an epoch sees every training time once, with freshly drawn max prices. What is scored and
kept is a running average of the weights, which jumps less from epoch to epoch. Training stops when the Brier score of
the validation slice has not fallen for `patience` epochs; the best epoch's weights are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from leantune.arrays import BoolArray, FloatArray
from leantune.errors import needed
from leantune.revocation.trained import Tensors

SingleArray = NDArray[np.float32]
LAYERS = 3


@dataclass(frozen=True)
class NetworkOptions:
    """hidden: of the LSTM; dense: width of the dense layers; epochs at most, of which `patience` may bring nothing."""

    hidden: int = 16
    dense: int = 48
    learning_rate: float = 4e-3
    weight_decay: float = 1e-2
    dropout: float = 0.2
    batch: int = 256
    epochs: int = 10
    patience: int = 3
    averaging: float = 0.99  # of the weights' running average, per step

    def drawn(self, random: np.random.Generator) -> NetworkOptions:
        """Others worth trying."""
        return NetworkOptions(
            hidden=int(random.choice([8, 12, 16])),  # 24 takes over 100 ms for 1,000 markets
            dense=int(random.choice([32, 48, 64])),
            learning_rate=float(np.exp(random.uniform(np.log(2e-3), np.log(8e-3)))),
            weight_decay=float(np.exp(random.uniform(np.log(1e-3), np.log(3e-1)))),
            dropout=float(random.choice([0.1, 0.2, 0.4])),
        )


@dataclass(frozen=True)
class Inputs:
    """The input of a network for n queries: minutes (n, steps, channels) and present (n, k; k may be 0)."""

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
    torch = needed("torch", "neural predictors need the library PyTorch", where="spot", extra="revpred")
    torch.set_num_threads(1)
    return torch


def build(channels: int, present: int, options: NetworkOptions) -> Any:
    """A network with `present` features of the present minute; without any it is one LSTM and an output."""
    torch = needed_torch()
    nn = torch.nn
    dense = options.dense

    def layer(width: int) -> list[Any]:
        return [nn.Linear(width, dense), nn.ReLU(), nn.Dropout(options.dropout)]

    class Network(nn.Module):  # type: ignore[misc, name-defined] # torch is imported here alone
        def __init__(self) -> None:
            super().__init__()
            self.past = nn.LSTM(channels, options.hidden, num_layers=LAYERS, batch_first=True)
            self.present = nn.Sequential(*layer(present), *layer(dense), *layer(dense)) if present else None
            self.joined = nn.Sequential(*layer(options.hidden + (dense if present else 0)), nn.Linear(dense, 1))

        def forward(self, minutes: Any, now: Any) -> Any:
            remembered = self.past(minutes)[0][:, -1]
            if self.present is not None:
                remembered = torch.cat([remembered, self.present(now)], dim=1)
            return self.joined(remembered)[:, 0]

    return Network()


def train(
    epoch: Callable[[int], Batch], seen: Batch, options: NetworkOptions, seed: int, *, shift: float = 0.0
) -> tuple[Tensors, list[float]]:
    """(weights of the best epoch, validation Brier score of each epoch); epoch(e) draws what epoch e sees.

    seen: questions of the validation slice. shift: what is added to logit P^ before they are scored.
    """
    torch = needed_torch()
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    network = build(seen.inputs.minutes.shape[2], seen.inputs.present.shape[1], options)
    optimiser = torch.optim.AdamW(network.parameters(), lr=options.learning_rate, weight_decay=options.weight_decay)
    averaging = torch.optim.swa_utils.get_ema_multi_avg_fn(options.averaging)
    averaged = torch.optim.swa_utils.AveragedModel(network, multi_avg_fn=averaging)
    best: Tensors = {}
    scores: list[float] = []
    for number in range(options.epochs):
        for group in optimiser.param_groups:  # half a cosine, down to 0
            group["lr"] = options.learning_rate * 0.5 * (1 + np.cos(np.pi * number / options.epochs))
        _pass(network, averaged, optimiser, epoch(number), random, options.batch)
        said = expit(_logits(averaged.module, seen.inputs) + shift)
        scores.append(float(np.average((said - seen.labels) ** 2, weights=seen.weights)))
        if scores[-1] == min(scores):
            best = {name: value.detach().numpy().copy() for name, value in averaged.module.state_dict().items()}
        elif len(scores) - 1 - int(np.argmin(scores)) >= options.patience:
            break
    return best, scores


def _pass(network: Any, averaged: Any, optimiser: Any, drawn: Batch, random: np.random.Generator, size: int) -> None:
    torch = needed_torch()
    network.train()
    minutes, now = torch.from_numpy(drawn.inputs.minutes), torch.from_numpy(drawn.inputs.present)
    labels = torch.from_numpy(drawn.labels.astype(np.float32))
    weights = torch.from_numpy(drawn.weights.astype(np.float32))
    for rows in torch.from_numpy(random.permutation(len(drawn.labels))).split(size):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            network(minutes[rows], now[rows]), labels[rows], weight=weights[rows]
        )
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        averaged.update_parameters(network)


def logits(weights: Tensors, options: NetworkOptions, inputs: Inputs) -> FloatArray:
    """The network's output (n,), logit P^, with these weights."""
    torch = needed_torch()
    network = build(inputs.minutes.shape[2], inputs.present.shape[1], options)
    network.load_state_dict({name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in weights.items()})
    return _logits(network, inputs)


def _logits(network: Any, inputs: Inputs, size: int = 4096) -> FloatArray:
    torch = needed_torch()
    network.eval()
    outputs = np.empty(len(inputs))
    with torch.no_grad():
        for start in range(0, len(inputs), size):
            rows = slice(start, start + size)
            now = torch.from_numpy(inputs.present[rows])
            outputs[rows] = network(torch.from_numpy(inputs.minutes[rows]), now).numpy()
    return outputs

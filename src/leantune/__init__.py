"""LeanTune tunes training jobs on rented machines: cluster and hyper-parameters together, within your limits.

The public names load on first use (PEP 562), so `import leantune` costs a few milliseconds and pulls in none of the
numeric libraries; a training program or a command loads only the parts that it needs.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leantune import errors
    from leantune.cloud.catalog import clusters
    from leantune.problem import Budget, maximize, minimize
    from leantune.space import Space, boolean, choice, integer, linear, log, machine, ordinal, when
    from leantune.study import Study
    from leantune.worker.client import current_trial

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "Space",
    "Study",
    "boolean",
    "choice",
    "clusters",
    "current_trial",
    "errors",
    "integer",
    "linear",
    "log",
    "machine",
    "maximize",
    "minimize",
    "ordinal",
    "when",
]

_HOME = {
    "Budget": "leantune.problem",
    "Space": "leantune.space",
    "Study": "leantune.study",
    "boolean": "leantune.space",
    "choice": "leantune.space",
    "clusters": "leantune.cloud.catalog",
    "current_trial": "leantune.worker.client",
    "integer": "leantune.space",
    "linear": "leantune.space",
    "log": "leantune.space",
    "machine": "leantune.space",
    "maximize": "leantune.problem",
    "minimize": "leantune.problem",
    "ordinal": "leantune.space",
    "when": "leantune.space",
}

if not TYPE_CHECKING:  # type checkers read the imports above, and so still report a name that does not exist

    def __getattr__(name: str) -> object:
        """Import a public name from its module on first use, and keep it."""
        from importlib import import_module

        if name == "errors":
            return import_module("leantune.errors")
        if name not in _HOME:
            raise AttributeError(f"module 'leantune' has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

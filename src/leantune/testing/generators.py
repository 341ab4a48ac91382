"""Hypothesis strategies for the domain: parameters, spaces, configurations."""

from hypothesis import strategies as st

from leantune.space import (
    Boolean,
    Choice,
    Cluster,
    Clusters,
    Configuration,
    Float,
    Integer,
    Machine,
    Ordinal,
    Parameter,
    Space,
    Value,
    when,
)

_NAMES = ("alpha", "beta", "gamma", "delta")
_TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)


@st.composite
def floats(draw: st.DrawFn) -> Float:
    """Linear or log reals with bounds that differ visibly."""
    if draw(st.booleans()):
        low = draw(st.floats(1e-8, 1e3))
        return Float(low, low * draw(st.floats(1.01, 1e6)), log=True)
    low = draw(st.floats(-1e6, 1e6))
    return Float(low, low + draw(st.floats(1e-3, 1e6)))


@st.composite
def integers(draw: st.DrawFn, most: int = 12) -> Integer:
    """Short ranges of whole numbers, linear or log."""
    is_log = draw(st.booleans())
    low = draw(st.integers(1, 1000) if is_log else st.integers(-1000, 1000))
    return Integer(low, low + draw(st.integers(1, most - 1)), log=is_log)


@st.composite
def options(draw: st.DrawFn) -> Choice | Ordinal:
    """Choices and ordinals of texts, numbers and truth values."""
    one = st.one_of(_TEXTS, st.integers(-5, 5), st.floats(-1e3, 1e3), st.booleans())
    listed = draw(st.lists(one, min_size=1, max_size=5, unique_by=lambda value: (type(value) is bool, value)))
    return Choice(tuple(listed)) if draw(st.booleans()) else Ordinal(tuple(listed))


@st.composite
def machines(draw: st.DrawFn, name: str = "m", priced: bool = True) -> Machine:
    """A machine of 1 to 64 vCPUs."""
    price = draw(st.floats(0.001, 100.0)) if priced else None
    return Machine(
        name, draw(st.sampled_from((1, 2, 4, 8, 64))), draw(st.floats(0.5, 1024)), price, draw(st.integers(0, 8))
    )


@st.composite
def cluster_lists(draw: st.DrawFn) -> Clusters:
    """Up to three machines, with or without prices, with up to three numbers of nodes each."""
    priced = draw(st.booleans())
    names = [f"m{i}" for i in range(draw(st.integers(1, 3)))]
    counts = draw(st.lists(st.integers(1, 64), min_size=1, max_size=3, unique=True))
    chosen = [draw(machines(name, priced)) for name in names]
    return Clusters(tuple(Cluster(machine, count) for machine in chosen for count in counts))


def finite_parameters() -> st.SearchStrategy[Parameter]:
    """Parameters of finitely many values, machines excepted."""
    return st.one_of(integers(), options(), st.just(Boolean()))


def parameters() -> st.SearchStrategy[Parameter]:
    """Parameters of any kind."""
    return st.one_of(floats(), finite_parameters(), cluster_lists())


@st.composite
def spaces(draw: st.DrawFn, finite: bool = False) -> Space:
    """Up to four parameters, at most one of them a cluster, some of them conditional on an earlier one."""
    kinds = finite_parameters() if finite else st.one_of(floats(), finite_parameters())
    chosen: dict[str, Parameter] = {}
    for name in _NAMES[: draw(st.integers(1, len(_NAMES)))]:
        parameter: Parameter = draw(kinds)
        parents = [parent for parent, known in chosen.items() if not isinstance(known, Float)]
        parent = draw(st.sampled_from(["", *parents]))
        if parent:
            parameter = when(parameter, **{parent: draw(_values(chosen[parent]))})
        chosen[name] = parameter
    if draw(st.booleans()):
        chosen["cluster"] = draw(cluster_lists())
    return Space(**chosen)


@st.composite
def configurations(draw: st.DrawFn, space: Space) -> Configuration:
    """A configuration of the space."""
    return space.pool(1, seed=draw(st.integers(0, 2**32)))[0]


@st.composite
def _values(draw: st.DrawFn, parameter: Parameter) -> tuple[Value, ...]:
    count = parameter.count or 1
    codes = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=count, unique=True))
    return tuple(parameter.value(parameter.first + code) for code in codes)

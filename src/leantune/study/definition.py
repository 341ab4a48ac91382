"""What defines a study, as plain JSON: kept in the store beside its trials, and compared when the study goes on;
and opening studies by it.

The description is resolved (prices of clusters, defaults) and canonical: two spellings of one definition give equal
descriptions. Predicates of a space (`valid`) are code and not part of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from inspect import signature

from leantune.clock import Clock
from leantune.errors import InvalidInput, StoreError, StudyChanged
from leantune.history import TrialState
from leantune.jobfile import Job
from leantune.problem import Budget, Problem
from leantune.store.database import Database
from leantune.store.rows import StudyRow
from leantune.store.study import StudyStore
from leantune.strategies.registry import STRATEGIES

# with any value of these, the trials so far stay comparable
HARMLESS = ("budget", "stop", "repeats", "run", "store", "checkpoints", "baseline")
_ORDERED = ("fractions",)  # lists whose order means something


@dataclass(frozen=True)
class Changes:
    """What differs between two definitions, a sentence each; after a breaking one old trials do not fit any more."""

    harmless: list[str]
    breaking: list[str]


def describe(problem: Problem, strategy: str, options: Mapping[str, object], seed: int) -> dict[str, object]:
    """The definition of a study; options at their defaults count as not given."""
    unusual = {  # older definitions do not mention these, and newer ones only where they differ from what is usual
        "fidelity": (problem.fidelity, "data"),
        "stop": (problem.stop, "auto"),
        "repeats": (problem.repeats, 1),
        "steps": (problem.steps, None),
        "settings": ([setting.as_json() for setting in problem.settings], []),
        "baseline": (problem.baseline and problem.baseline.as_json(), None),
    }
    return {
        "space": [{"name": name, **parameter.as_json()} for name, parameter in problem.space.parameters.items()],
        "goal": asdict(problem.goal),
        "subject_to": [str(replace(constraint, limit=float(constraint.limit))) for constraint in problem.constraints],
        "fractions": [str(fraction) for fraction in problem.fractions],
        "snapshots": problem.snapshots,
        "strategy": {"name": strategy, **_chosen_options(strategy, options)},
        "seed": seed,
        **{key: value for key, (value, usual) in unusual.items() if value != usual},
    }


def document_of(job: Job) -> dict[str, object]:
    """All of a job file, resolved and the same for every spelling of one job."""
    return {
        **describe(job.problem, job.strategy, job.strategy_options, job.seed),
        "train": job.command.template,
        "budget": asdict(job.problem.budget),
        "run": _as_json(asdict(job.run)),
        "store": job.store,
        "checkpoints": {"at": str(job.checkpoints.at), "keep": job.checkpoints.keep.value},
    }


def changes(stored: Mapping[str, object], now: Mapping[str, object]) -> Changes:
    """What is different now, by keys of the description."""
    old, new = _as_json(stored), _as_json(now)
    harmless: list[str] = []
    breaking: list[str] = []
    for key in dict.fromkeys([*old, *new]):
        before, after = old.get(key), new.get(key)
        if key in HARMLESS:
            harmless += _differences(key, before, after)
        elif key == "space" and _is_parameters(before) and _is_parameters(after):
            moved, changed = _space_changes(_by_name(before), _by_name(after))
            harmless += moved
            breaking += changed
        else:
            breaking += _differences(key, before, after)
            harmless += _moved(key, before, after)
    return Changes(harmless, breaking)


@contextmanager
def kept_open(url: str) -> Iterator[Database]:
    """A database that stays open after the block, unless that fails."""
    with ExitStack() as stack:
        yield stack.enter_context(Database(url))
        stack.pop_all()


def open_or_create(
    database: Database, name: str, problem: Problem, document: Mapping[str, object], job: str, clock: Clock
) -> StudyStore:
    """The study of that name, created if need be; StudyChanged when it was defined differently.

    A different budget is taken over: raising it is how a study is extended.
    """
    row = database.find(name)
    if row is None:
        try:
            return database.create(
                name,
                problem.space,
                document,
                job,
                problem.budget,
                time=clock.now(),
                leantune_version=version("leantune"),
            )
        except StoreError:
            row = database.find(name)
            if row is None:  # no other process created the study meanwhile
                raise
    study = open_unchanged(database, row, problem, document)
    moved = _text(row.definition.get("baseline")) != _text(document.get("baseline"))  # for other workers to know
    if moved or changes(dict(row.definition), document).breaking:
        study.redefine(document, job)
    if study.budget() != problem.budget:
        study.set_budget(problem.budget, time=clock.now(), cause="the definition of the study gives another budget")
    return study


def open_unchanged(database: Database, row: StudyRow, problem: Problem, document: Mapping[str, object]) -> StudyStore:
    """The study as it is, with its own budget; StudyChanged when it was defined differently.

    A training command may be repaired as long as no trial succeeded: there is nothing yet to compare with.
    """
    stored = dict(row.definition)
    breaking = changes(stored, document).breaking
    same_but_command = not changes({**stored, "train": document.get("train")}, document).breaking
    repaired = same_but_command and not row.counts.get(TrialState.DONE)
    if breaking and not repaired:
        raise StudyChanged(
            f"study {row.name!r} was defined differently: {'; '.join(breaking)}",
            where=database.url,
            hint="Put it back to go on, or give the study another name to start afresh",
        )
    return database.open(row.name, problem.space)


def raised(old: Budget, wanted: Budget) -> Budget:
    """A budget with larger totals; InvalidInput where one would become smaller."""
    totals = wanted.limits
    for name, now in totals.items():
        before = old.limits.get(name)
        if before is None or now < before:
            present = "unlimited" if before is None else f"{before:g}"
            hint = "There is nothing to raise" if before is None else "Give a total above the present one"
            raise InvalidInput(f"{name} is {present} and cannot become {now:g}", where="extend", hint=hint)
    if not totals:
        raise InvalidInput("nothing to extend", where="extend", hint="Give usd, trials or hours")
    return replace(old, **totals)


def _chosen_options(strategy: str, options: Mapping[str, object]) -> dict[str, object]:
    if strategy not in STRATEGIES:
        return dict(options)
    defaults = {name: option.default for name, option in signature(STRATEGIES[strategy]).parameters.items()}
    return {name: value for name, value in sorted(options.items()) if value != defaults.get(name)}


def _as_json(document: Mapping[str, object]) -> dict[str, object]:
    loaded: dict[str, object] = json.loads(json.dumps(dict(document)))
    train = loaded.get("train")
    return {**loaded, "train": " ".join(map(str, train))} if isinstance(train, list) else loaded


def _text(value: object) -> str:
    """Equal for equal JSON; tells 16 from 16.0 and true from 1, as commands and identities of trials do."""
    return json.dumps(value, sort_keys=True)


def _differences(key: str, before: object, after: object) -> list[str]:
    if _text(before) == _text(after):
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        names = dict.fromkeys([*before, *after])
        return [line for name in names for line in _differences(_joined(key, name), before.get(name), after.get(name))]
    if isinstance(before, list) and isinstance(after, list) and key not in _ORDERED:
        gone, new = _minus(before, after), _minus(after, before)
        return [
            *(f"{key}: {_shown(item)} is gone" for item in gone),
            *(f"{key}: {_shown(item)} is new" for item in new),
        ]
    return [f"{key} was {_shown(before)} and is {_shown(after)}"]


def _joined(key: str, name: str) -> str:
    return key if (key, name) == ("strategy", "name") else f"{key}.{name}"


def _moved(key: str, before: object, after: object) -> list[str]:
    """A list that holds the same in another order."""
    if not isinstance(before, list) or not isinstance(after, list) or key in _ORDERED:
        return []
    same = not _minus(before, after) and not _minus(after, before)
    return [f"{key} is in another order"] if same and _text(before) != _text(after) else []


def _minus(these: Iterable[object], those: Iterable[object]) -> list[object]:
    texts = {_text(item) for item in those}
    return [item for item in these if _text(item) not in texts]


def _is_parameters(value: object) -> bool:
    """Whether it is a space as this version describes it."""
    return isinstance(value, list) and all(isinstance(item, dict) and {"name", "kind"} <= set(item) for item in value)


def _by_name(parameters: object) -> dict[str, dict[str, object]]:
    assert isinstance(parameters, list)
    return {str(item["name"]): {key: value for key, value in item.items() if key != "name"} for item in parameters}


def _space_changes(
    before: dict[str, dict[str, object]], after: dict[str, dict[str, object]]
) -> tuple[list[str], list[str]]:
    """What moved, and what changed."""
    moved: list[str] = []
    changed: list[str] = []
    for name in dict.fromkeys([*before, *after]):
        key, old, new = f"space.{name}", before.get(name), after.get(name)
        if old is None or new is None:
            changed.append(f"{key} is {'new' if old is None else 'gone'}")
        elif old["kind"] == new["kind"] in ("clusters", "choice"):
            lists = old.pop("options"), new.pop("options")
            compare = _cluster_changes if new["kind"] == "clusters" else _differences
            changed += [*_differences(key, old, new), *compare(key, *lists)]
            moved += _moved(key, *lists)
        elif _text(old) != _text(new):
            changed.append(f"{key} was {_parameter_text(old)} and is {_parameter_text(new)}")
    if list(before) != list(after) and set(before) == set(after):
        moved.append(f"the order of parameters was {', '.join(before)} and is {', '.join(after)}")
    return moved, changed


def _cluster_changes(key: str, before: object, after: object) -> list[str]:
    old, new = dict(_named_clusters(before)), dict(_named_clusters(after))
    lines = [f"{key}: {name} is gone" for name in old if name not in new]
    lines += [f"{key}: {name} is new" for name in new if name not in old]
    both = [name for name in old if name in new]
    for field in dict.fromkeys(field for name in both for field in [*old[name], *new[name]]):
        differing = [name for name in both if _text(old[name].get(field)) != _text(new[name].get(field))]
        if differing:
            first, more = differing[0], len(differing) - 1
            others = f" (and {more} more)" if more else ""
            was, now = _shown(old[first].get(field)), _shown(new[first].get(field))
            lines.append(f"{key}: {field} of {first} was {was} and is {now}{others}")
    return lines


def _named_clusters(clusters: object) -> Iterator[tuple[str, dict[str, object]]]:
    assert isinstance(clusters, list)
    return ((f"{cluster['nodes']} x {cluster['type']}", cluster) for cluster in clusters)


def _parameter_text(parameter: Mapping[str, object]) -> str:
    rest = {key: value for key, value in parameter.items() if key not in ("kind", "low", "high", "options", "when")}
    shown = [str(parameter["kind"])]
    if "low" in parameter:
        shown.append(_shown([parameter["low"], parameter["high"]]))
    if "options" in parameter:
        shown.append(_shown(parameter["options"]))
    shown += [key if value is True else f"{key} {_shown(value)}" for key, value in rest.items() if value]
    if "when" in parameter:
        shown.append(f"when {_shown(parameter['when'])}")
    return " ".join(shown)


def _shown(value: object) -> str:
    if value is None:
        return "not given"
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

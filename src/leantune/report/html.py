"""Parts of pages: the shell of an HTML file that needs nothing else, tiles and tables. All text is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from leantune.files import write_whole
from leantune.text import escaped, script_json

NOTHING = "<td class=none>–</td>"
NO_NUMBER = '<td class="none n">–</td>'


def asset(package: str, name: str) -> str:
    """A file that lies beside the modules of a package."""
    return (files(package) / name).read_text(encoding="utf-8")


def page_html(title: str, style: str, body: str, data: object, scripts: Iterable[str]) -> str:
    """A whole page; its scripts find the data, as JSON, in the element #data."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escaped(title)}</title><style>{style}</style></head>\n<body><main>{body}</main>\n"
        f'<script type="application/json" id="data">{script_json(data)}</script>\n'
        + "\n".join(f"<script>{script}</script>" for script in scripts)
        + "</body></html>\n"
    )


def write_page(html: str, path: Path) -> None:
    """Write a page; a reader finds the old file or the new one, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, html.encode("utf-8", errors="replace"))


@dataclass(frozen=True)
class Tile:
    """One number with its label and limit.

    of: the total. filled: how much of its limit is used, None where there is none. good: whether the
    value keeps its limits.
    """

    label: str
    value: str
    details: tuple[str, ...] = ()
    of: str = ""
    filled: float | None = None
    good: bool = True


def tiles_html(tiles: Iterable[Tile]) -> str:
    """Numbers side by side."""
    return f'<div class="tiles">{"".join(map(_tile, tiles))}</div>'


def _tile(tile: Tile) -> str:
    bar = ""
    if tile.filled is not None:
        width = 100 * min(max(tile.filled, 0.0), 1.0)
        bar = f'<div class="gauge"><i style="width:{width:.1f}%"></i></div>'
    of = f" <small>{escaped(tile.of)}</small>" if tile.of else ""
    details = "".join(f'<p class="detail">{escaped(text)}</p>' for text in tile.details)
    return (
        f'<div class="tile{"" if tile.good else " over"}"><p class="label">{escaped(tile.label)}</p>'
        f'<p class="value">{escaped(tile.value)}{of}</p>{bar}{details}</div>'
    )


def items_html(texts: Iterable[str], tag: str = "li") -> str:
    """Each text in an element of its own."""
    return "".join(f"<{tag}>{escaped(text)}</{tag}>" for text in texts)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "plain") -> str:
    """A table of cells that are HTML already."""
    head = "".join(heading(text) for text in headings)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def heading(text: str, button: bool = False) -> str:
    """Of a column of numbers where it begins with >."""
    right = ' class="n"' if text.startswith(">") else ""
    words = escaped(text.removeprefix(">"))
    return f'<th scope="col"{right}>{f"<button type=button>{words}</button>" if button else words}</th>'


def cell(text: object) -> str:
    """A cell of text."""
    return f"<td>{escaped(text)}</td>" if str(text) else NOTHING


def amount(text: str, value: float | None = None) -> str:
    """A cell of a number, aligned right. value: the sort key, where the text does not begin with it."""
    if text == "–":
        return NO_NUMBER
    key = "" if value is None else f" data-v={value:.6g}"
    return f"<td class=n{key}>{escaped(text)}</td>"

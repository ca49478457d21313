"""Colours and dashes of pictures: a model has the same ones in all pictures of a result."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path

from clfeval.document import Document
from clfeval.pages.intervals import leading_models
from clfeval.records import dataclass, field

COLORED = 8  # models with a colour, at most
# Okabe and Ito's colours, distinct with any colour vision; on white the yellow is darker
LIGHT = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222", "#9a8f00")
DARK = ("#56b4e9", "#ff8c42", "#2fc59b", "#e3a2c7", "#e69f00", "#8fd0f5", "#f2f2f2", "#f0e442")
DASHES = ("none", "7 3", "2 2", "9 3 2 3", "12 4", "1 3", "9 2 2 2 2 2", "4 1")
TONES = {  # names of tones, and their colours on light and on dark ground
    "ink": ("#1b1e23", "#e8eaed"), "dim": ("#59616b", "#a9b2bd"), "grid": ("#e3e6ea", "#31363d"),
    "rest": ("#a3abb5", "#66707b"), "band": ("#eef1f4", "#23282f"), "bad": ("#b3261e", "#ff8a80"),
    "ground": ("#ffffff", "#16181c"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Colors:
    """The colour, from 1 on, of each model that has one; the others are grey, which is 0."""

    numbers: Mapping[str, int] = field(default_factory=dict)
    models: Collection[str] = ()

    @classmethod
    def from_result(cls, result: Document) -> Colors:
        """Return colours of up to eight models; of more, of the best, the tied, the reference."""
        tables = result.tables
        table = tables.get("history") or next(iter(tables.values()), ())
        models = dict.fromkeys(str(row["model"]) for row in table if row.get("model"))
        tied = leading_models(result, COLORED) if "models" in tables else []
        first = [name for one in result.answer[:2] for name in one.models]
        wanted = [*tied[:1], *first[:1], str(result.parameters.get("reference")), *tied]
        order = [name for name in wanted if name in models]
        order += models if len(models) <= COLORED else []
        kept = list(dict.fromkeys(order))[:COLORED]
        return cls({name: i for i, name in enumerate(kept, start=1)}, models)

    def color_of(self, name: str) -> int:
        """Return the number of a colour: of a model, or 0, which is grey; of other names 1."""
        return self.numbers.get(name, 0 if name in self.models or not name else 1)


def color_rules(tones: int, scope: str = "") -> str:
    """Return the CSS of colours on light (0) or dark (1) ground; scope: a selector before each."""
    colors: Sequence[str] = (LIGHT, DARK)[tones]
    shade = {name: both[tones] for name, both in TONES.items()}
    rules = {
        "text": f"fill:{shade['ink']}", ".dim": f"fill:{shade['dim']}",
        ".grid": f"stroke:{shade['grid']}", ".axis": f"stroke:{shade['dim']}",
        ".band": f"fill:{shade['band']}", ".ground": f"fill:{shade['ground']}",
        ".limit": f"stroke:{shade['bad']}", ".over": f"stroke:{shade['ground']}",
        ".positive": f"fill:{shade['dim']}", ".negative": f"fill:{shade['rest']}",
        ".s0": f"stroke:{shade['rest']}", ".f0": f"fill:{shade['rest']}",
    }  # fmt: skip
    for i, color in enumerate(colors, start=1):
        rules |= {f".s{i}": f"stroke:{color}", f".f{i}": f"fill:{color}"}
    return "".join(f"{scope} {name}{{{rule}}}" for name, rule in rules.items())


@cache
def shape_rules(scope: str = "") -> str:
    """Return the CSS of fonts, widths of lines and dashes; scope: a selector before each."""
    text = (Path(__file__).parent / "picture.css").read_text(encoding="utf-8")
    text += "".join(f"@.d{i}{{stroke-dasharray:{dash}}}" for i, dash in enumerate(DASHES, start=1))
    return text.replace("\n", "").replace("@", f"{scope} ")

"""What the answers of a report claim, by their fields and the rows of the tables they speak of.

No sentence is read. An answer claims something where it names models, or has a value; by which
measures these differ, and in which slices, its rows of `comparisons` tell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations
from typing import NamedTuple

from clfeval.api.result import Result
from clfeval.document import Answer
from clfeval.document.cells import Cell, Row, as_estimate, cell_value

ALPHA = 0.05
SIGNIFICANT = ("worse", "better", "changed")
OTHER_SIDES = ("slice", "run", "baseline", "label")  # of `against`, which are not models
RANKING, OPERATING, CALIBRATION = (
    ("compared", "best"),
    ("operating-point",),
    ("probabilities", "miscalibrated"),
)
SLICES, BASELINE, BASELINE_ROWS = ("slices",), ("baseline",), ("baseline-rows",)
SIDES = {"operating-point": "reference", "compared": "reference", "baseline": "baseline"}
RATES = {"operating-point": ("sensitivity", "specificity")}  # of which alone is spoken


def answers(result: Result, codes: Collection[str]) -> list[Answer]:
    """Return what is said under these codes, on screen or left out for want of room."""
    sentences = [part for answer in result.answer for part in (answer, *answer.left_out)]
    return [answer for answer in sentences if answer.code in codes]


def _differing(result: Result, against: str, models: Collection[str]) -> Iterator[Row]:
    """Yield the rows that tell a significant difference of one of the models."""
    for row in result.tables.get("comparisons", ()):
        if row["against"] == against and row["model"] in models and row["verdict"] in SIGNIFICANT:
            yield row


def claimed(result: Result, codes: Collection[str], unless: str | None = None) -> set[str]:
    """Return the measures by which answers of these codes say that models differ.

    unless: a model; what is said of it is left out.
    """
    found: set[str] = set()
    for answer in answers(result, codes):
        models = {*answer.models} - {unless}
        if models and answer.measure:
            found.add(answer.measure)
        for row in _differing(result, SIDES[answer.code], models):
            name = str(row["measure"])
            if row["slice"] is None and name in RATES.get(answer.code, (name,)):
                found.add(name)
    return found


def slices_named(result: Result) -> dict[str, set[str]]:
    """Return the slices said to be worse, with the measures by which they are."""
    found: dict[str, set[str]] = {}
    for answer in answers(result, SLICES):
        for row in _differing(result, "slice", answer.models):
            if answer.value is not None and row["verdict"] == "worse":
                found.setdefault(str(row["slice"]), set()).add(str(row["measure"]))
    return found


def harms_named(result: Result) -> set[tuple[str, str, str]]:
    """Return model, slice and measure of all that is said to be worse in slices."""
    return {
        (str(row["model"]), str(row["slice"]), str(row["measure"]))
        for answer in answers(result, SLICES)
        for row in _differing(result, "slice", answer.models)
        if answer.value is not None and row["verdict"] == "worse"
    }


def described(result: Result, measure: str) -> tuple[float, float] | None:
    """Return the interval of the change of a number of the rows since the baseline.

    Of the leading model, if it differs between models.
    """
    rows = [row for row in result.tables["models"] if row["slice"] is None]
    leader = max(rows, key=lambda row: cell_value(row.get("roc_auc")) or 0.0)["model"]
    for answer in answers(result, BASELINE_ROWS):
        one = next(
            (
                row["difference"]
                for row in result.tables.get("comparisons", ())
                if row["against"] == "baseline"
                and (row["measure"], row["model"]) == (measure, leader)
            ),
            answer,
        )
        if one is answer and answer.measure != measure:
            continue
        ends = answer if one is answer else as_estimate(one)
        if ends.low is not None and ends.high is not None:
            return ends.low, ends.high
    return None


def miscalibrated(result: Result) -> bool:
    """Tell whether probabilities of the leader, or of models tied with it, are said to be wrong."""
    models = {name for answer in answers(result, CALIBRATION) for name in answer.models}
    models |= {name for name, tied in tied_set(result).items() if tied and models}
    return any(
        row["model"] in models
        and ((cell_value(row["p_adjusted"]) or 1.0) < ALPHA or bool(row["contradicted"]))
        for row in result.tables.get("calibration_tests", ())
    )


def astray(result: Result) -> list[Answer]:
    """Return answers on a difference whose numbers are those of no row of `comparisons`."""
    found = []
    for answer in answers(result, SIDES):
        of = [
            as_estimate(row["difference"])
            for row in result.tables.get("comparisons", ())
            if row["against"] == SIDES[answer.code]
            and row["measure"] == answer.measure
            and row["model"] in answer.models
        ]
        if answer.value is not None and not any(
            (one.value, one.low, one.high) == (answer.value, answer.low, answer.high) for one in of
        ):
            found.append(answer)
    return found


class Relation(NamedTuple):
    """Of two models the first is worse than the second, significantly, or they are tied."""

    first: str
    second: str
    worse: bool
    source: str

    def key(self) -> tuple[str, str]:
        """Return the pair, whichever is first."""
        return (min(self.first, self.second), max(self.first, self.second))

    def kind(self) -> str:
        """Return which model is worse, or that they are tied."""
        return f"{self.first} is worse" if self.worse else "tied"


def leading(result: Result) -> str:
    """Return the measure that leads."""
    return next((one.measure for one in answers(result, ("best",))), None) or "roc_auc"


def relations(result: Result) -> list[Relation]:
    """Return how models compare by the leading measure: of each pair, and of the tied set."""
    found = []
    for one in pairs(result):
        if one.metric == leading(result):
            better = one.verdict == "better"
            first, second = (one.other, one.model) if better else (one.model, one.other)
            found.append(Relation(first, second, one.told, "pairs"))
    for best in answers(result, ("best",)):
        for model, tied in tied_set(result).items():
            if best.models and model not in best.models:
                found.append(Relation(model, best.models[0], not tied, "tied set"))
    return found


def ranked_worse(result: Result) -> bool:
    """Tell whether any model is called worse than another by the leading measure."""
    return any(one.worse for one in relations(result))


def contradictions(said: Collection[Relation]) -> list[tuple[Relation, Relation]]:
    """Return pairs of statements on the same two models of which one at least is false."""
    return [
        (one, other)
        for one, other in combinations(said, 2)
        if one.key() == other.key() and one.kind() != other.kind()
    ]


def tied_set(result: Result) -> dict[str, bool]:
    """Return which models are tied with the best one, by the tables `best` and `models`."""
    found: dict[str, bool] = {}
    for table, of in (("best", leading(result)), ("models", None)):
        for row in result.tables.get(table, ()):
            mine = row.get("measure") == of and row.get("slice") is None
            if mine and isinstance(tied := row.get("tied"), bool):
                found[str(row["model"])] = found.get(str(row["model"]), True) and tied
    return found


class Pair(NamedTuple):
    """A row of `comparisons` of two models on all rows.

    own: whether the interval of the difference excludes 0; joint: whether that of all pairs
    together does; None where there is none. told: whether the verdict is better or worse.
    """

    metric: str
    model: str
    other: str
    p: float | None
    adjusted: float | None
    own: bool | None
    joint: bool | None
    verdict: str | None

    @property
    def told(self) -> bool:
        """Whether a difference is called significant."""
        return self.verdict in ("better", "worse", "changed")

    @property
    def agrees(self) -> bool:
        """Whether p, adjusted p, both intervals and the verdict say the same."""
        alone = _agree(self.p, self.own)
        all_ = _agree(self.adjusted, self.joint)
        significant = self.adjusted is not None and self.adjusted < ALPHA
        return alone and all_ and (self.told == significant or self.verdict in _NEUTRAL)


_NEUTRAL = (None, "equivalent")  # a measure without direction; a margin that was given


def _agree(p: float | None, excludes: bool | None) -> bool:
    if p is None or excludes is None:
        return excludes is None or not excludes
    return (p < ALPHA) == excludes or abs(p - ALPHA) < 1e-9


def pairs(result: Result) -> list[Pair]:
    """Return how models compare on all rows, of the table `comparisons`."""
    return [
        Pair(
            str(row["measure"]),
            str(row["model"]),
            str(row["reference"]),
            _number(row.get("p")),
            _number(row.get("p_adjusted")),
            _excludes(row.get("difference")),
            _excludes(row.get("difference_adjusted", row.get("adjusted"))),
            None if row["verdict"] is None else str(row["verdict"]),
        )
        for row in result.tables.get("comparisons", ())
        if row.get("slice") is None and row.get("against") not in OTHER_SIDES
    ]


def _number(cell: Cell) -> float | None:
    return float(cell) if isinstance(cell, (int, float)) else None


def _excludes(cell: Cell) -> bool | None:
    one = as_estimate(cell)
    if one.low is None or one.high is None:
        return None
    return not one.low <= 0 <= one.high

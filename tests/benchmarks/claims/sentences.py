"""What the sentences of a report claim: the only place of these simulations that reads English.

A sentence is split into clauses. A clause claims something where it has a word of change and none
of negation, and no p or q of 0.05 and more. Where the wording changes, the patterns below follow.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from clfeval.result import Answer, Cell, Result, estimate

ALPHA = 0.05
OTHER_SIDES = ("slice", "run", "baseline", "label")  # of `against`, which are not models
RANKING, OPERATING, CALIBRATION = ("compared", "best"), ("operating-point",), ("probabilities",)
SLICES, BASELINE, BASELINE_ROWS = ("slices",), ("baseline",), ("baseline-rows",)

# a measure's id and how it is written, the longer one first where one title holds another
TITLES = {
    "roc_auc": r"(?:ROC )?\bAUC\b",
    "oe_ratio": r"\bO[:/]E\b|predicted risk|\bobserved\b|calibration[- ]in[- ]the[- ]large",
    "calibration_slope": r"calibration slope",
    "average_precision": r"average precision|\bPR AUC\b",
    "precision": r"\bprecision\b|\bPPV\b",
    "balanced_accuracy": r"balanced accuracy",
    "accuracy": r"\baccuracy\b",
    "sensitivity": r"\bsensitivity\b|\bdetects?\b|\brecall\b|\bdetected\b",
    "specificity": r"\bspecificity\b|\bflags\b|false positives|false alarms",
    "npv": r"\bNPV\b",
    "f1": r"\bF1\b",
    "mcc": r"\bMCC\b",
    "brier": r"\bBrier\b",
    "log_loss": r"\blog loss\b",
    "net_benefit": r"\bnet benefit\b",
    "prevalence": r"\bprevalence\b|share of positives|\d% positive",
    "mean_score": r"\bmean (?:predicted )?(?:score|risk|probability)\b",
}
_CLAUSES = re.compile(r";|\. (?=[A-Za-z])|, but |, while |, whereas ")
_ASIDE = re.compile(r"not adjusted[^);.,]*|not corrected[^);.,]*|no interval[^);.,]*")
_NOT = re.compile(
    r"\b(?:no|not|none|nothing|neither|nor|cannot|unaffected|unchanged|undecided|undefined)\b"
    r"|\bas before\b|\bwell calibrated\b|\btoo few\b|\bequivalent\b|\bthe same\b|\bso few\b",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:worse|better|lower|higher|larger|smaller|less|more|fewer|fell|falls|rose|rises|dropped"
    r"|drops|decreased|increased|significant|significantly|changed|differs?|different|moved|drifted"
    r"|elsewhere|outside)\b",
    re.IGNORECASE,
)
_CHANCE = re.compile(r"\b[pq](?:[ -]value)?s? ?(?P<sign>[<>=])? ?(?P<value>\d*\.\d+(?:e-?\d+)?)")
_SLICE = re.compile(r"\b(?P<column>\w+)=(?P<label>\w+)")
_SIGNED = r"([-+\u2212]?\d*\.?\d+)%?"
_INTERVAL = re.compile(rf"(?:CI|interval):? {_SIGNED} to {_SIGNED}|\[{_SIGNED}, {_SIGNED}\]")
_WRONG = re.compile(
    r"\bmiscalibrated\b|\bcannot be taken\b|\btoo (?:high|low|extreme|sure)\b"
    r"|\bnot (?:extreme|sure) enough\b|\bthe wrong way round\b|\bbut not what came\b"
    r"|\b(?:over|under)estimat|\brecalibrate\b"
)
_NOT_WRONG = re.compile(
    r"\b(?:no|not|nothing|none)\b[^;]*\b(?:miscalibrat|against)|\bcannot tell\b|\bwell calibrated\b"
    r"|\bNo slope\b"
)
# of two models, or of one and the leader or reference
_VERB = re.compile(
    r"(?P<none>\bno other model may be the best\b)"
    r"|(?P<tied>\b(?:not|no(?: other)? model|none|neither)\b[^;,]*?"
    r"(?:\bsignificantly (?:different|better|worse)|\bdiffers? significantly)"
    r"|\b(?:cannot|can) be told from\b|\bmay be the best as well\b|\bnot worse\b|\bequivalent\b"
    r"|\btied\b|\bNo model has a (?:larger|higher)\b)"
    r"|(?P<worse>\bsignificantly (?:worse|lower|smaller|less)\b|\b(?:is|are) worse\b)"
    r"|(?P<better>\bsignificantly (?:better|higher|larger|more)\b|\b(?:is|are) better\b)",
    re.IGNORECASE,
)
_EVERYONE = re.compile(
    r"\b(?:every|each|any|all|the|\d+) (?:of the )?(?:[\d,]+ )?others?\b|\bno (?:other )?model\b"
    r"|\bnone\b|\bthe rest\b|\ball (?:[\d,]+ )?models\b|\bneither\b",
    re.IGNORECASE,
)
_THAN = re.compile(r"\b(?:than|from|with)\b")


def sentences(result: Result, codes: Collection[str]) -> list[Answer]:
    """Return what is said under these codes, in their order on screen."""
    return [one for one in result.answer if one.code in codes]


def clauses(text: str) -> list[str]:
    """Split a sentence where one claim ends, and before the last "and" ahead of a negation."""
    found = []
    for part in _CLAUSES.split(text):
        negated = _NOT.search(part)
        last = -1 if negated is None else part.rfind(" and ", 0, negated.start())
        found += [part] if last < 0 else [part[:last], part[last:]]
    return [one.strip() for one in found if one.strip()]


def claims(clause: str) -> bool:
    """Tell whether a clause says that something differs significantly."""
    plain = _ASIDE.sub("", clause)
    chances = [float(one["value"]) - 1e-9 * (one["sign"] == "<") for one in _CHANCE.finditer(plain)]
    seen = any(one < ALPHA for one in chances)
    if _NOT.search(plain) or (chances and not seen):
        return False
    return seen or _CHANGE.search(plain) is not None


def measures(text: str) -> set[str]:
    """Return the ids of the measures that a text names."""
    found = set()
    for name in ("average_precision", "balanced_accuracy", *TITLES):
        text, count = re.subn(TITLES[name], " ", text, flags=re.IGNORECASE)
        if count:
            found.add(name)
    return found


def claimed(result: Result, codes: Collection[str], unless: str | None = None) -> set[str]:
    """Return the measures that sentences of these codes say to differ, or "" where none is named.

    unless: a model; clauses that name it are left out.
    """
    found: set[str] = set()
    for answer in sentences(result, codes):
        for clause in clauses(answer.text):
            if claims(clause) and not (unless and re.search(rf"\b{unless}\b", clause)):
                found |= measures(clause) or {answer.measure or ""}
    return found


def slices_named(result: Result) -> dict[str, set[str]]:
    """Return the slices said to be worse, with the measures that are named with each.

    Those between its label and the next; where there is none, all of the clause.
    """
    found: dict[str, set[str]] = {}
    for answer in sentences(result, SLICES):
        for clause in clauses(answer.text):
            labels = [*_SLICE.finditer(clause)]
            if not labels or not claims(clause):
                continue
            ends = [*(one.start() for one in labels[1:]), len(clause)]
            for label, end in zip(labels, ends, strict=True):
                own = measures(clause[label.end() : end]) if len(labels) > 1 else set[str]()
                own = own or measures(clause) or {answer.measure or ""}
                found.setdefault(label[0], set()).update(own)
    return found


def described(result: Result, measure: str) -> tuple[float, float] | None:
    """Return the interval of the change of a number of the rows since the baseline.

    The last interval of the clause that names it; else the sentence's own, where it is its measure.
    """
    for answer in sentences(result, BASELINE_ROWS):
        ends = None
        for clause in re.split(r"; |, and |, (?=mean|prevalence|share)", answer.text):
            found = [*_INTERVAL.finditer(clause)]
            if measure in measures(clause) and found:
                ends = [one for one in found[-1].groups() if one is not None]
        if ends is not None:
            low, high = (float(one.replace("\u2212", "-")) for one in ends)
            return low, high
        if answer.measure == measure and answer.low is not None and answer.high is not None:
            return answer.low, answer.high
    return None


def miscalibrated(result: Result) -> bool:
    """Tell whether probabilities of any model are said to be wrong."""
    return any(
        _WRONG.search(clause) and not _NOT_WRONG.search(clause)
        for answer in sentences(result, CALIBRATION)
        for clause in clauses(answer.text)
    )


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


def ranking(result: Result, models: Sequence[str], reference: str | None) -> list[Relation]:
    """Return what sentences say of the models by the measure that leads."""
    found: list[Relation] = []
    best = next((one for one in result.answer if one.code == "best"), None)
    leaders = best.models if best is not None else ()
    for answer in sentences(result, RANKING):
        bases = (reference,) if answer.code == "compared" and reference else leaders
        if bases:
            found += _relations(answer.text, models, bases)
    return found


def _relations(text: str, models: Sequence[str], bases: Sequence[str]) -> Iterator[Relation]:
    """Yield what a text says of models beside others that it names, or the first of `bases`."""
    names = re.compile(r"\b(?:" + "|".join(map(re.escape, models)) + r")\b")
    told = {*bases}
    for clause in _CLAUSES.split(text):
        verbs = [*_VERB.finditer(clause)]
        ends = [0, *(one.end() for one in verbs)]
        if not verbs:
            told |= {*names.findall(clause)}
        for i, verb in enumerate(verbs):
            last = i == len(verbs) - 1
            before = clause[ends[i] : verb.start()]
            after = clause[verb.end() :] if last else clause[verb.end() : verbs[i + 1].start()]
            after = verb[0] + re.split(r"[:(]", after)[0]
            than = _THAN.search(after)
            objects = names.findall(after[than.end() :]) if than else []
            objects = objects if last else objects[:1]  # what follows is the next verb's subject
            subjects = [one for one in names.findall(before) if objects or one != bases[0]]
            if not subjects and _EVERYONE.search(before + after):
                subjects = [one for one in models if one not in told and one not in objects]
            elif not subjects and not than:
                subjects = names.findall(after)
            told |= {*subjects}
            for one in dict.fromkeys(subjects):
                for other in dict.fromkeys(objects or bases[:1]):
                    if one != other:
                        pair = (other, one) if verb["better"] else (one, other)
                        yield Relation(*pair, verb["tied"] is None, "sentence")


def tied_set(result: Result, lead: str) -> dict[str, bool]:
    """Return which models are tied with the best one, by the tables `best` and `models`."""
    found: dict[str, bool] = {}
    for table, of in (("best", lead), ("models", None)):
        for row in result.tables.get(table, ()):
            tied = row.get("tied", row.get("may_be_best"))
            mine = row.get("metric") == of and row.get("slice") is None
            if mine and isinstance(tied, bool):
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
            str(row["measure"]), str(row["model"]), str(row["reference"]), _number(row.get("p")),
            _number(row.get("p_adjusted")), _excludes(row.get("difference")),
            _excludes(row.get("difference_adjusted", row.get("adjusted"))),
            None if row["verdict"] is None else str(row["verdict"]),
        )
        for row in result.tables.get("comparisons", ())
        if row.get("slice") is None and row.get("against") not in OTHER_SIDES
    ]  # fmt: skip


def _number(cell: Cell) -> float | None:
    return float(cell) if isinstance(cell, (int, float)) else None


def _excludes(cell: Cell) -> bool | None:
    one = estimate(cell)
    if one.low is None or one.high is None:
        return None
    return not one.low <= 0 <= one.high

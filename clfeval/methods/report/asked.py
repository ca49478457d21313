"""The measures a report is asked for: ids, aliases and sets, with the parameters in their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clfeval.errors import UsageError, suggestion
from clfeval.measures.catalog import CATALOG, find_measure, spellings
from clfeval.measures.record import Measure
from clfeval.shell import given

NEEDS = {  # of the sets
    "hard": ("confusion",), "probability": ("probabilities",), "ranking": ("scores",),
    "all": ("confusion", "scores", "probabilities"),
}  # fmt: skip
HARD = ("sensitivity", "specificity", "precision", "npv", "balanced_accuracy", "mcc", "f1", "kappa",
        "accuracy")  # fmt: skip
OF_SCORES = ("roc_auc", "brier", "brier_skill", "log_loss", "calibration_slope",
             "calibration_intercept", "calibration_in_the_large", "net_benefit")  # fmt: skip
DEFAULT = (*OF_SCORES, *HARD)
# of more than two classes, and of those whose order was declared
OF_CLASSES = ("roc_auc", "brier", "brier_skill", "log_loss", "top_k_accuracy", "accuracy",
              "balanced_accuracy", "kappa", "mcc", "f1", "sensitivity", "specificity", "precision",
              "npv")  # fmt: skip
IN_ORDER = ("kappa_quadratic", "ordinal_mae", "accuracy_within_1", "rps")
ORDINAL = "ordinal"
SPELLED = 5  # classes of an order that is asked for
SETS = ("default", *NEEDS)
REFUSED = {
    "nri": "a miscalibrated model gains by it; compare net_benefit or log_loss instead",
    "idi": "a miscalibrated model gains by it; compare net_benefit or log_loss instead",
    "c_index": "it is of times to an event, and this table has none; roc_auc is of two classes",
}
NEVER = {"hosmer_lemeshow"}  # in a set
FLAG = "--measure"
NET_BENEFIT = "net_benefit"  # at the threshold in force, of scores


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A measure with its parameters; name: how it is called in tables."""

    name: str
    measure: Measure

    @property
    def needs(self) -> str:
        """The statistic it is made of."""
        return self.measure.needs


def asked_of(names: Sequence[str]) -> tuple[Asked, ...]:
    """Return the measures of the default set, then those asked for, each once; UsageError."""
    found: dict[str, Asked] = {}
    for name in ("default", *names):
        for one in _one(name):
            found.setdefault(one.name, one)
    return tuple(found.values())


def asked_of_classes(
    names: Sequence[str], classes: Sequence[str], *, ordered: bool
) -> tuple[Asked, ...]:
    """Return the measures of more than two classes; UsageError, also for an order undeclared."""
    default = (*OF_CLASSES, *(IN_ORDER if ordered else ()))
    found = {name: Asked(name, CATALOG[name]) for name in default}
    for text in names:
        name, _, settings = text.strip().partition(":")
        folded = name.casefold()
        if folded == "default":
            continue
        if folded in (*NEEDS, ORDINAL):
            several = [Asked(one.id, one) for one in _of_set(folded, ordered=ordered)]
        else:
            several = [_named(text, name, settings, of_classes=True)]
        for one in several:
            if one.measure.ordered and not ordered:
                said = " ".join(given("--labels", label) for label in classes[:SPELLED])
                said += " ..." if len(classes) > SPELLED else ""
                what = f"{FLAG}: {one.measure.id} needs the classes in their order"
                raise UsageError.of(what, "needs-order", hint=f"declare it, such as {said}")
            found.setdefault(one.name, one)
    return tuple(found.values())


def _of_set(name: str, *, ordered: bool) -> Iterator[Measure]:
    """Yield what a set holds of more than two classes."""
    for measure in CATALOG.values():
        needs = measure.needs if measure.needs != "classes" else "confusion"
        there = measure.ordered if name == ORDINAL else needs in NEEDS[name]
        plain = _of_classes(measure) and measure.twin is None and not measure.takes
        if there and plain and (ordered or name == ORDINAL or not measure.ordered):
            yield measure


def _of_classes(measure: Measure) -> bool:
    """Tell whether it can be computed of more than two classes, from a table of predictions."""
    return measure.classes is not None and "costs" not in measure.classes.takes


def _one(text: str) -> Iterator[Asked]:
    name, _, settings = text.strip().partition(":")
    folded = name.casefold()
    if folded == "default":
        yield from (
            Asked(one, CATALOG[one]) for one in DEFAULT if one in CATALOG and CATALOG[one].of
        )
        return
    if folded in NEEDS:
        for measure in CATALOG.values():
            plain = measure.of is not None and measure.twin is None and not measure.takes
            if plain and measure.needs in NEEDS[folded] and measure.id not in NEVER:
                yield Asked(measure.id, measure)
        return
    yield _named(text, name, settings)


def _of_two(measure: Measure) -> bool:
    return measure.of is not None and measure.needs in ("confusion", "scores", "probabilities")


def _named(text: str, name: str, settings: str, *, of_classes: bool = False) -> Asked:
    measure = find_measure(name)
    computable = _of_classes if of_classes else _of_two
    if name.casefold() in REFUSED:
        why = REFUSED[name.casefold()]
        raise UsageError.of(f"{FLAG}: no {name.upper()} here", "refused-measure", hint=why)
    if measure is None or not computable(measure):
        what = f"no measure '{name}'"
        if measure is not None:
            what = f"{measure.id} is not measured on a table of predictions of "
            what += "more than two classes" if of_classes else "two classes"
        known = [one.id for one in CATALOG.values() if computable(one)]
        hint = suggestion(name, [*spellings(known), *SETS])
        hint = hint or "clfeval report --list-measures"
        raise UsageError.of(f"{FLAG}: {what}", "unknown-measure", hint=hint)
    given = _settings(text, settings, measure)
    label = measure.id
    if given:
        label += ":" + ",".join(f"{key}={value:g}" for key, value in sorted(given.items()))
    return Asked(label, measure.given(**given))


def _settings(text: str, settings: str, measure: Measure) -> dict[str, float]:
    """Return the parameters in a measure's name."""
    found: dict[str, float] = {}
    for part in filter(None, settings.split(",")):
        key, _, value = part.partition("=")
        known = measure.takes if measure.classes is None else (
            *measure.takes, *(one for one in measure.classes.takes if one not in measure.takes)
        )  # fmt: skip
        if key.strip() not in known:
            takes = ", ".join(known) or "none"
            what = f"{FLAG} '{text}': {measure.id} has no parameter '{key.strip()}'"
            raise UsageError.of(what, "bad-option", hint=f"its parameters: {takes}")
        try:
            found[key.strip()] = float(value)
        except ValueError:
            what = f"{FLAG} '{text}': '{value}' is not a number"
            hint = f"for example {measure.id}:{key.strip()}=0.1"
            raise UsageError.of(what, "bad-option", hint=hint) from None
    return found

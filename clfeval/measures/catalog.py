"""The one table of measures, joined from their families, and the one look-up of their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clfeval.arrays import Floats
from clfeval.measures import (
    confusion,
    coverage,
    desirability,
    information,
    odds,
    ordinal,
    plane,
    polygon,
    probability,
    ranking,
)
from clfeval.measures.record import Measure, Needs

CATALOG: Mapping[str, Measure] = {
    measure.id: measure
    for family in (
        confusion.MEASURES,
        odds.RATIOS,
        information.MEASURES,
        odds.ODDS,
        plane.UNBIASED,
        information.UNBIASED,
        odds.TUNED,
        plane.PLANE,
        ranking.MEASURES,
        probability.MEASURES,
        ordinal.MEASURES,
        coverage.MEASURES,
        polygon.MEASURES,
        desirability.MEASURES,
    )
    for measure in family
}

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])")


def folded(name: str) -> str:
    """Write a name as the catalogue writes ids: `ROC AUC` and `BrierScore` alike."""
    return re.sub(r"[\s\-./]+", "_", _CAMEL.sub("_", name.strip()).casefold())


def _titled(measure: Measure) -> set[str]:
    """Return the id and how the title may be typed."""
    return {measure.id, measure.title.casefold(), folded(measure.title)}


_NAMED: dict[str, list[Measure]] = {}
for _measure in CATALOG.values():
    for _name in {*_titled(_measure), *_measure.aliases}:
        _NAMED.setdefault(_name, []).append(_measure)


def find_measure(name: str) -> Measure | None:
    """Look a measure up by id, title or alias."""
    return next(iter(_found(name)), None)


def same_measure(name: str) -> list[str]:
    """Return the names a measure may stand under in a result: as asked, ids, then aliases."""
    direct = _found(name)
    found = {m.id: m for m in (*direct, *(twin for one in direct for twin in _twins(one)))}
    aliases = (alias for m in found.values() for alias in m.aliases)
    return list(dict.fromkeys([name, *found, *aliases]))


def one_of(name: str, known: Sequence[str]) -> str | None:
    """Return which of some ids is meant, by id or title, else by alias or twin; None for none."""
    asked, same = {name.casefold(), folded(name)}, same_measure(name)
    exact = (one for one in known if asked & _titled(CATALOG[one]))
    return next(exact, None) or next((one for one in known if one in same), None)


def spellings(known: Sequence[str]) -> list[str]:
    """Return every name by which some measures can be called: ids, then aliases and twins."""
    return list(dict.fromkeys([*known, *(name for one in known for name in same_measure(one))]))


def computed(needs: Needs, **settings: Any) -> dict[str, Callable[..., Floats]]:
    """Return what computes the measures of one statistic by id, with the settings they take."""
    measures = (m.given(**settings) for m in CATALOG.values() if m.needs == needs)
    given = {key for key, setting in settings.items() if setting is not None}
    return {m.id: m.of for m in measures if m.of and given.issuperset(m.takes)}


def _found(name: str) -> list[Measure]:
    """Return the measures of this very name, ids first."""
    asked = dict.fromkeys([name.casefold(), folded(name)])
    found = {m.id: m for one in asked for m in _NAMED.get(one, ())}
    return sorted(found.values(), key=lambda m: m.id not in asked)


def _twins(measure: Measure) -> list[Measure]:
    """Return the other measures that are the same function under another id."""
    first = measure.twin or measure.id
    return [m for m in CATALOG.values() if first in (m.id, m.twin) and m is not measure]

"""The pictures of a report, as data: curves, net benefit, scores by class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clfeval.pages.report.order import ranked
from clfeval.result import Result, Row, value_of
from clfeval.schema import Axis, Chart, Note, Point, Series

CURVES = (
    ("roc", "ROC: sensitivity over 1 - specificity", "fpr", "sensitivity", "1 - specificity"),
    ("pr", "Precision over sensitivity", "sensitivity", "precision", "sensitivity"),
    ("gain", "Gain: share of positives found over share of rows claimed", "claimed", "sensitivity",
     "share of rows claimed"),
    ("lift", "Lift: precision over prevalence", "claimed", "lift", "share of rows claimed"),
)  # fmt: skip


def charts(result: Result) -> Iterator[Chart]:
    """Yield the curves there are, the best model first."""
    if "curves" not in result.tables:
        return
    names = [str(row["model"]) for row in ranked(result.whole("models"), "roc_auc")]
    points = _by_model(result.whole("curves"))
    for name, title, x, y, label in CURVES:
        series = tuple(
            Series(model, (found,))
            for model in names
            if len(found := _points(points.get(model, ()), x, y)) > 1
        )
        if series:
            yield Chart("lines", title, Axis(label), series=series, key=_key(name, result),
                        name=name)  # fmt: skip
    if "calibration" in result.tables:
        yield _calibration(result, names)
    if "decision" in result.tables:
        yield _benefit(result, names)


def _key(name: str, result: Result) -> tuple[Note, ...]:
    prevalence = result.summary.get("prevalence")
    if name != "pr" or prevalence is None:
        return ()
    return (Note(f"chance: precision {prevalence:.3g} for many positives, above it for few"),)


def _by_model(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(str(row["model"]), []).append(row)
    return found


def _points(rows: Sequence[Row], x: str, y: str) -> tuple[Point, ...]:
    pairs = ((value_of(row[x]), value_of(row[y])) for row in rows)
    return tuple((a, b) for a, b in pairs if a is not None and b is not None)


def _calibration(result: Result, names: Sequence[str]) -> Chart:
    rows = _by_model(result.whole("calibration"))
    series = [Series(name, (_points(rows[name], "mean_score", "observed"),))
              for name in names if name in rows]  # fmt: skip
    series.append(Series("calibrated", (((0.0, 0.0), (1.0, 1.0)),)))
    title = "Calibration: share of positives over mean score, in tenths of the rows"
    return Chart("lines", title, Axis("mean score"), series=tuple(series), name="calibration")


def _benefit(result: Result, names: Sequence[str]) -> Chart:
    rows = _by_model(result.whole("decision"))
    first = next(iter(rows.values()))
    least = -0.05 * max(1e-9, max(value_of(row["treat_all"]) or 0.0 for row in first))

    def drawn(mine: Sequence[Row], what: str) -> tuple[Point, ...]:
        return tuple(p for p in _points(mine, "threshold", what) if p[1] >= least)

    series = [Series(name, (drawn(rows[name], "net_benefit"),)) for name in names if name in rows]
    series.append(Series("treating all", (drawn(first, "treat_all"),)))
    title = "Net benefit by threshold probability"
    return Chart("lines", title, Axis("threshold probability"), series=tuple(series),
                 key=(Note("treating none: 0"),), name="benefit")  # fmt: skip

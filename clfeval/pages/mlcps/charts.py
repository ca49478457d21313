"""Charts of a ranking: profiles of the best, their radars, spread against score."""

from __future__ import annotations

from collections.abc import Iterator

from clfeval.pages.mlcps.look import Best, estimate, rays
from clfeval.pages.write import ARROWS, DIGITS, many, number, value_of
from clfeval.result import Result, Row
from clfeval.schema import Axis, Chart, Note, Point, Series

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PROFILED, METRICS = 8, 40  # models and metrics of the profile
RADARS, FEWEST, MOST = 3, 3, 12  # radars, and rays of a radar
DOT = "."
DOTS = 5000  # models without a letter that are drawn


def charts(result: Result) -> Iterator[Chart]:
    """Yield what the ranking rests on; every model has a letter."""
    best, metrics = Best.of(result, len(LETTERS)), rays(result)
    if metrics and best.rows:
        yield _profile(best, metrics)
    if FEWEST <= len(metrics) <= MOST and best.rows:
        yield _radars(best.few(RADARS), metrics)
    lettered = [(letter, row, at) for letter, row in zip(LETTERS, best.rows, strict=False)
                if (at := _point(row))]  # fmt: skip
    if len(lettered) > 1:
        series = [
            Series(str(row["model"]), ((at,),), letter=letter) for letter, row, at in lettered
        ]
        yield _spread(best, series)


def _values(best: Best, metrics: list[str]) -> Iterator[tuple[float | None, ...]]:
    """Yield the rays of each model before weighting, in the order of the metrics."""
    for rows in best.blocks(best.result.tables["profile"]).values():
        found = {str(row["metric"]): row["d"] for row in rows}
        cells = (found.get(metric) for metric in metrics)
        yield tuple(float(d) if isinstance(d, (int, float)) else value_of(d) for d in cells)


def _profile(best: Best, metrics: list[str]) -> Chart:
    """Every metric of the best models; one that was flipped stands here as 1 - value."""
    best, ways = best.few(PROFILED), best.result.parameters["directions"]
    flipped = f" {ARROWS['min']} flipped"
    names = tuple(name + flipped * (ways.get(name, "max") == "min") for name in metrics)
    values = zip(best.names, _values(best, metrics[:METRICS]), strict=True)
    return Chart(
        "profile", "Metrics as they enter the score: 0 to 1, higher is better", names=names,
        series=tuple(Series(name, values=of) for name, of in values),
        left=best.result.summary["models"] - len(best.rows),
        key=(Note("--format csv --table profile"),),
    )  # fmt: skip


def _radars(best: Best, metrics: list[str]) -> Chart:
    """The polygon whose area is the score, of the best models."""
    weights = [float(best.result.parameters["weights"].get(metric, 1)) for metric in metrics]
    longest = max(weights) or 1.0
    scores = (estimate(row, "mlcps") for row in best.rows)
    words = (number(score, DIGITS) if score is not None else "" for score in scores)
    return Chart(
        "radar", "Radars of the best: the area is MLcps, the dotted rim a perfect model",
        names=tuple(metrics), weights=tuple(weight / longest for weight in weights),
        series=tuple(
            Series(name, values=values, letter=letter, words=score) for letter, name, values, score
            in zip(LETTERS, best.names, _values(best, metrics), words, strict=False)
        ),
    )  # fmt: skip


def _spread(best: Best, series: list[Series]) -> Chart:
    """Every model where its MLcps and the SD of its metrics put it; dots beyond the letters."""
    table = best.result.tables["models"]
    more = len(table) - len(best.rows)
    step = -(-more // DOTS) or 1
    dots = (_point(table[i]) for i in (range(0, len(table), step) if more else ()))
    sample = f", one of {step} drawn" if step > 1 else ""
    series.append(Series("", (tuple(at for at in dots if at),), letter=DOT))
    return Chart(
        "points", "SD of the metrics over MLcps: good and even models are at the lower right",
        Axis("MLcps"), Axis("SD"), tuple(series),
        key=(Note(f"{DOT} {many(more, 'more model')}{sample}"),) if more else (),
    )  # fmt: skip


def _point(row: Row) -> Point | None:
    x, y = estimate(row, "mlcps"), estimate(row, "sd")
    return None if x is None or y is None else (x, y)

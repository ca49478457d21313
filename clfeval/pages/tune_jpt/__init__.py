"""How tuned tables of a classifier read: which populations, what never moves, what to plot."""

from __future__ import annotations

from clfeval.pages.phidelta import classes
from clfeval.pages.tune_jpt.charts import charts
from clfeval.pages.tune_jpt.sections import counted, shown
from clfeval.pages.tune_jpt.sentences import sentences
from clfeval.pages.tune_jpt.tables import TABLES
from clfeval.pages.write import exact
from clfeval.result import Result
from clfeval.schema import Page

TARGETS = 4  # populations named on top


def headline(result: Result) -> list[str]:
    """Say what was read, what share of it is positive, and which populations follow."""
    summary, parameters = result.summary, result.parameters
    names = ", ".join(item.name for item in result.inputs) or "given rates"
    read = classes(result) if counted(result) else "sensitivity and specificity, no rows"
    lines = [f"joint probability tables of {names}: {read}"]
    if summary["odds"] is not None:
        at = f"prevalence {exact(summary['prevalence'])}, odds {summary['odds']}"
        lines.append(f"in the sample: {at} (positives : negatives)")
    targets = [f"{one['odds']} (prevalence {exact(one['prevalence'])})"
               for one in ({"odds": "1:1", "prevalence": 0.5}, *parameters["targets"])]  # fmt: skip
    left = len(targets) - 1 - TARGETS
    also = f" and {left} more" if left > 0 else ""
    lines.append(f"tuned to positives : negatives {', '.join(targets[: 1 + TARGETS])}{also}")
    sweep = parameters.get("sweep")
    if sweep:
        lines[-1] += f"; swept from {sweep['from']} to {sweep['to']} at {sweep['points']} odds"
    lines.append("tuning keeps sensitivity and specificity; only the share of positives changes")
    return [*lines, *sentences(result)]


PAGE = Page("tune-jpt", TABLES, headline, shown, charts)

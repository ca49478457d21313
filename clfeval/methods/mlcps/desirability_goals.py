"""Desirability goals and weights of metrics, read from a YAML file or a mapping."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import inf, isfinite
from numbers import Real
from typing import Literal, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Floats
from clfeval.errors import Problem, UsageError, quote_name, suggestion
from clfeval.measures import composite_scores
from clfeval.measures.catalog import find_measure
from clfeval.records import dataclass, field
from clfeval.tables.yaml import CODE, read_yaml


def read_weights(path: str | os.PathLike[str]) -> dict[str, float]:
    """Read a mapping of metrics to weights; UsageError with line and column for anything else."""
    yaml_file = read_yaml(path)
    if not isinstance(yaml_file.value, dict) or not yaml_file.value:
        hint = "write one metric per line with its weight, for example f1: 2"
        raise yaml_file.error_at((), "weights must be a mapping of metrics to numbers", hint)
    checker = EntryChecker(yaml_file.place)
    weights = dict[str, float]()
    for metric, weight_entry in yaml_file.value.items():
        weight = checker.number((metric,), f"the weight of '{metric}'", weight_entry, ">= 0")
        weights |= {} if weight is None else {metric: weight}
    checker.raise_problems()
    return weights


Goal = Literal["maximize", "minimize", "target", "box", "custom"]

GOAL_ENDS = ("low", "target", "high", "above", "below")


@dataclass(frozen=True, slots=True)
class DesirabilityGoal:
    """The desirability goal of one metric; only the numbers its goal takes are set.

    gamma: one exponent for maximize and minimize, two for target, below it and above it.
    assumed: which of low and high were not given and are ends of the measure's range.
    """

    metric: str
    goal: Goal
    low: float | None = None
    target: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    gamma: tuple[float, ...] = ()
    points: tuple[tuple[float, float], ...] = ()
    weight: float = 1.0
    assumed: tuple[str, ...] = field(default=(), compare=False)

    def transform(self, values: ArrayLike) -> Floats:
        """Return the desirability d of raw values, in their shape, 0..1; NaN for NaN."""
        if self.goal == "box":
            return composite_scores.box(
                values, self.low, self.high, above=self.above, below=self.below
            )
        if self.goal == "custom":
            return composite_scores.custom(values, self.points)
        low = cast(float, self.low)
        high = cast(float, self.high)
        if self.goal == "target":
            target = cast(float, self.target)
            gamma_below, gamma_above = self.gamma
            return composite_scores.target(
                values, low, target, high, gammas=(gamma_below, gamma_above)
            )
        ramp = composite_scores.maximize if self.goal == "maximize" else composite_scores.minimize
        return ramp(values, low, high, gamma=self.gamma[0])

    def described(self) -> str:
        """Return the goal in words, for example `minimize from 0.1 down to 0`."""
        bound_texts = {
            name: f"{bound:.10g}"
            for name, bound in self.as_dict().items()
            if isinstance(bound, float)
        }
        if self.goal == "custom":
            corners = [f"({value:.10g}, {d:.10g})" for value, d in self.points]
            if len(corners) > 6:
                corners[2:-1] = [f"... {len(corners) - 3} more ..."]
            return f"custom {' '.join(corners)}"
        if self.goal == "box":
            prepositions = {"low": "from", "above": "above", "high": "up to", "below": "below"}
            return "box " + " and ".join(
                f"{prepositions[name]} {bound_texts[name]}"
                for name in prepositions
                if name in bound_texts
            )
        text = {
            "maximize": "maximize from {low} to {high}",
            "minimize": "minimize from {high} down to {low}",
            "target": "target {target} within {low} to {high}",
        }[self.goal].format(**bound_texts)
        if len(set(self.gamma)) == 2:
            return text + ", γ {:.10g} below it and {:.10g} above".format(*self.gamma)
        return f"{text}, γ {self.gamma[0]:.10g}" if self.gamma[0] != 1 else text

    def as_dict(self) -> dict[str, object]:
        """Return the goal as a mapping that `read_goals` reads back."""
        bounds = {
            name: getattr(self, name) for name in GOAL_ENDS if getattr(self, name) is not None
        }
        mapping: dict[str, object] = {"goal": self.goal, **bounds}
        if self.gamma:
            mapping["gamma"] = self.gamma[0] if len(self.gamma) == 1 else list(self.gamma)
        if self.points:
            mapping["points"] = [list(point) for point in self.points]
        return {**mapping, "weight": self.weight}


def desirabilities(
    wishes: Sequence[DesirabilityGoal], metrics: Sequence[str], values: Floats
) -> Floats:
    """Return d of every goal, (..., m), of raw values (..., all metrics)."""
    if not wishes:
        return np.empty((*values.shape[:-1], 0))
    goal_values = (values[..., metrics.index(wish.metric)] for wish in wishes)
    return np.stack(
        [
            wish.transform(values_of_goal)
            for wish, values_of_goal in zip(wishes, goal_values, strict=True)
        ],
        axis=-1,
    )


LONGEST = 40  # of a text in a message
EntryPath: TypeAlias = "tuple[str | int, ...]"
Bound = Literal["", ">= 0", "> 0"]


@dataclass(slots=True)
class EntryChecker:
    """Checks entries; `place` returns the location of a key or item for messages."""

    place: Callable[..., str]
    problems: list[Problem] = field(default_factory=list)
    hint: str | None = None

    def add_problem(self, path: EntryPath, message: str, hint: str | None = None) -> None:
        """Record a problem; only the first hint is kept."""
        self.problems.append(Problem(message, CODE, self.place(*path)))
        self.hint = self.hint or hint

    def raise_problems(self) -> None:
        """Raise UsageError with all recorded problems, if any."""
        if self.problems:
            raise UsageError(self.problems, hint=self.hint)

    def keys(
        self, path: EntryPath, mapping: Mapping[str, object], valid: Sequence[str], owner: str
    ) -> None:
        """Record a problem for every unknown key, with the valid keys of its owner as hint."""
        for key, value in mapping.items():
            if key not in valid:
                name = str(key)
                hint = suggestion(name, valid) or f"{owner} takes {', '.join(valid)}"
                if ":" in name and value is None:
                    hint = "write a space after the ':'"
                self.add_problem((*path, key), f"{owner} has no key {quote_name(name)}", hint)

    def number(self, path: EntryPath, name: str, value: object, bound: Bound = "") -> float | None:
        """Return a finite number within the bound; None for anything else."""
        if not isinstance(value, Real) or isinstance(value, bool):
            text = value.strip() if isinstance(value, str) else ""
            hint = None
            is_percent = text.endswith("%")
            with suppress(ValueError):  # a number given as text
                written_number = float(text.rstrip("% ")) / (100 if is_percent else 1)
                advice = "" if is_percent else ", a plain number without quotes"
                hint = f"write {written_number:.10g}{advice}" if isfinite(written_number) else None
            self.add_problem(path, f"{name} is {describe_value(value)}, not a number", hint)
            return None
        try:
            number = float(value)
        except OverflowError:  # an integer beyond the range of floats
            number = inf
        if not isfinite(number):
            self.add_problem(path, f"{name} is {number:g}, not a finite number")
        elif (number < 0 and bound) or (number == 0 and bound == "> 0"):
            relation = "is negative" if bound == ">= 0" else "is not above 0"
            self.add_problem(path, f"{name} {number:.10g} {relation}")
        else:
            return number
        return None

    def pair(
        self,
        path: EntryPath,
        name: str,
        value: object,
        part_names: tuple[str, str],
        bound: Bound = "",
    ) -> tuple[float, float] | None:
        """Return two finite numbers of a list; None for anything else."""
        elements = list_items(value)
        if elements is None or len(elements) != 2:
            count_phrase = "" if elements is None else f" of {len(elements)}"
            message = f"{name} is {describe_value(value)}{count_phrase}, not a list of two: "
            self.add_problem(path, f"{message}[{', '.join(part_names)}]")
            return None
        first_number, second_number = (
            self.number((*path, i), f"{name} ({part_name})", element, bound)
            for i, (part_name, element) in enumerate(zip(part_names, elements, strict=True))
        )
        return (
            None if first_number is None or second_number is None else (first_number, second_number)
        )


def list_items(value: object) -> list[object] | None:
    """Return the items of a list, a tuple or an array; None for anything else."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return list(value) if isinstance(value, (list, tuple)) else None


def describe_value(value: object) -> str:
    """Return the description of a value for a message, as written in its file."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        line = " ".join(value.split())
        return quote_name(line if len(line) <= LONGEST else line[:LONGEST].rstrip() + "...")
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, Real):
        return f"{value}"
    return "a list" if list_items(value) is not None else f"a {type(value).__name__}"


SPELLINGS = {"maximise": "maximize", "minimise": "minimize"}

# keys of each goal in addition to weight, and an example
TAKES: dict[str, tuple[str, ...]] = {
    "maximize": ("low", "high", "gamma"),
    "minimize": ("low", "high", "gamma"),
    "target": ("low", "target", "high", "gamma", "gamma_low", "gamma_high"),
    "box": ("low", "high", "above", "below"),
    "custom": ("points",),
}
EXAMPLES = {
    "maximize": "for example {goal: maximize, low: 0.8, high: 1}: low gives d = 0, high d = 1",
    "minimize": "for example {goal: minimize, low: 0, high: 0.1}: low gives d = 1, high d = 0",
    "target": "for example {goal: target, low: 0.1, target: 0.3, high: 0.6}",
    "box": "for example {goal: box, low: 0.8}, {goal: box, above: 0, below: 20}",
    "custom": "for example {goal: custom, points: [[0, 1], [50, 0.8], [200, 0]]}: [value, "
    "desirability]",
}


def read_goals(goals: object) -> tuple[DesirabilityGoal, ...]:
    """Parse a YAML file, or a mapping from metrics to goals or mappings.

    Errors: UsageError with all problems, in a file with line and column.
    """

    def describe_path(*path: str | int) -> str:
        return f"desirability of {quote_name(str(path[0]))}" if path else "desirability"

    checker = EntryChecker(describe_path)
    content = goals
    if isinstance(goals, (str, os.PathLike)):
        yaml_file = read_yaml(goals)
        checker = EntryChecker(yaml_file.place)
        content = yaml_file.value
    parsed_goals: list[DesirabilityGoal | None] = []
    if not isinstance(content, Mapping) or not content:
        is_empty = isinstance(content, Mapping) and not content
        description = "empty" if is_empty else describe_value(content)
        message = f"the goals must be a mapping of metrics, this is {description}"
        hint = "write one line per metric, as brier: {goal: minimize, low: 0, high: 0.1}"
        checker.add_problem((), message, hint)
    else:
        parsed_goals = [
            _parse_goal(metric, goal_entry, checker) for metric, goal_entry in content.items()
        ]
    checker.raise_problems()
    wishes = tuple(wish for wish in parsed_goals if wish is not None)
    if not any(wish.weight for wish in wishes):
        checker.add_problem((), "every weight is 0", "give one metric a weight above 0")
        checker.raise_problems()
    return wishes


def _parse_goal(metric: str, value: object, checker: EntryChecker) -> DesirabilityGoal | None:
    """Return the goal of one metric; None with at least one problem recorded."""
    hint = f"goals: {', '.join(TAKES)}"
    goal_settings = {"goal": value} if isinstance(value, str) else value
    if not isinstance(metric, str):
        checker.add_problem(
            (metric,), f"the name of a metric must be text, not {describe_value(metric)}"
        )
    elif not isinstance(goal_settings, Mapping):
        message = (
            f"{quote_name(metric)} is {describe_value(value)}, not a goal or a mapping with a goal"
        )
        hint = "write a space after the ':'" if ":" in metric else EXAMPLES["maximize"]
        checker.add_problem((metric,), message, hint)
    elif "goal" not in goal_settings:
        valid_keys = dict.fromkeys(key for goal_keys in TAKES.values() for key in goal_keys)
        checker.keys((metric,), goal_settings, ("goal", *valid_keys, "weight"), "a goal")
        checker.add_problem((metric,), "goal is missing", hint)
    else:
        goal = SPELLINGS.get(str(goal_settings["goal"]), goal_settings["goal"])
        if isinstance(goal, str) and goal in TAKES:
            return _check_goal(metric, cast(Goal, goal), goal_settings, checker)
        similar_goal = suggestion(goal, TAKES, cutoff=0.5) if isinstance(goal, str) else None
        message = "unknown goal" if isinstance(goal, str) else "goal is"
        checker.add_problem(
            (metric, "goal"), f"{message} {describe_value(goal)}", similar_goal or hint
        )
    return None


def _check_goal(
    metric: str, goal: Goal, goal_settings: Mapping[str, object], checker: EntryChecker
) -> DesirabilityGoal | None:
    """Return the goal of a metric from its settings; None with at least one problem recorded."""
    problem_count = len(checker.problems)
    checker.keys((metric,), goal_settings, ("goal", *TAKES[goal], "weight"), goal)
    bound_names = [name for name in GOAL_ENDS if name in goal_settings and name in TAKES[goal]]
    bounds = {
        name: checker.number((metric, name), name, goal_settings[name]) for name in bound_names
    }
    assumed_bounds = _assumed_bounds(metric, goal, goal_settings)
    required_names = (
        () if goal == "box" else (name for name in TAKES[goal] if not name.startswith("gamma"))
    )
    missing_names = [
        name for name in required_names if name not in goal_settings and name not in assumed_bounds
    ]
    if missing_names:
        message = _missing_message(metric, goal, missing_names)
        checker.add_problem((metric,), message, EXAMPLES[goal])
    gamma = _check_gamma(metric, goal, goal_settings, checker)
    points = list[tuple[float, float] | None]()
    if not missing_names and goal == "custom":
        points = _check_points(metric, goal_settings["points"], checker)
    weight = checker.number((metric, "weight"), "weight", goal_settings.get("weight", 1), ">= 0")
    if len(checker.problems) > problem_count or weight is None:
        return None
    wish = DesirabilityGoal(
        metric,
        goal,
        **bounds,
        **assumed_bounds,
        gamma=gamma,
        points=tuple(filter(None, points)),
        weight=weight,
        assumed=tuple(assumed_bounds),
    )
    try:
        wish.transform(0.0)  # checks that the numbers are in order
    except ValueError as error:
        checker.add_problem((metric,), str(error), EXAMPLES[goal])
        return None
    return wish


def _assumed_bounds(
    metric: str, goal: Goal, goal_settings: Mapping[str, object]
) -> dict[str, float]:
    """Return the bounds that the settings lack, as far as the range of the measure has them."""
    measure = find_measure(metric) if goal in ("maximize", "minimize") else None
    if measure is None:
        return {}
    measure_range = {"low": measure.low, "high": measure.high}
    return {
        name: float(bound)
        for name, bound in measure_range.items()
        if name not in goal_settings and isfinite(bound)
    }


def _missing_message(metric: str, goal: Goal, missing_names: Sequence[str]) -> str:
    """Return the message on settings that a goal needs and does not have."""
    message = f"{goal} needs {' and '.join(missing_names)}"
    if goal not in ("maximize", "minimize"):
        return message
    titles = {"low": "lower bound", "high": "upper bound"}
    unknown_title = "range" if len(missing_names) == 2 else titles[missing_names[0]]
    return f"{message}: no {unknown_title} is known for {quote_name(metric)}"


def _check_points(
    metric: str, points_entry: object, checker: EntryChecker
) -> list[tuple[float, float] | None]:
    """Return the points of a custom goal, None for one with a problem, which is recorded."""
    pairs = list_items(points_entry)
    if pairs is None:
        message = f"points is {describe_value(points_entry)}, not a list of [value, desirability]"
        checker.add_problem((metric, "points"), message, EXAMPLES["custom"])
    part_names = ("value", "desirability")
    return [
        checker.pair((metric, "points", i), f"point {i + 1}", pair, part_names)
        for i, pair in enumerate(pairs or ())
    ]


def _check_gamma(
    metric: str, goal: Goal, goal_settings: Mapping[str, object], checker: EntryChecker
) -> tuple[float, ...]:
    """Return the exponents of a goal; fewer with at least one problem recorded."""
    if "gamma" not in TAKES[goal]:
        return ()
    path = (metric, "gamma")
    gamma = goal_settings.get("gamma", 1)
    side_names = ("gamma_low", "gamma_high")
    exponents: Sequence[float | None]
    if goal != "target":
        exponents = [checker.number(path, "gamma", gamma, "> 0")]
    elif any(side in goal_settings for side in side_names):
        if "gamma" in goal_settings:
            hint = "for example gamma: [1, 2], for values below and above the target"
            checker.add_problem(path, "gamma is given together with gamma_low or gamma_high", hint)
        exponents = [
            checker.number((metric, side), side, goal_settings.get(side, 1), "> 0")
            for side in side_names
        ]
    elif list_items(gamma) is not None:
        pair = checker.pair(path, "gamma", gamma, ("below target", "above target"), "> 0")
        exponents = pair or ()
    else:
        exponents = [checker.number(path, "gamma", gamma, "> 0")] * 2
    return tuple(exponent for exponent in exponents if exponent is not None)

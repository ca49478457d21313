"""The requirements of roles: what a column must be, alone and among the others, to have a role.

A role of which a requirement fails is impossible for the column. Nothing is weighed: a role is
possible or it is not, and a column with several possible roles is asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Literal

from clfeval.records import dataclass, replace
from clfeval.tables.columns import ModelColumns
from clfeval.tables.input import InputOptions, Kind
from clfeval.tables.profiles import ROUNDED, ColumnProfile
from clfeval.tables.readings.candidate_columns import (
    BARRED,
    CandidateColumn,
    CellKind,
    ScoreScale,
    kind_of_cells,
    scale_of,
)
from clfeval.tables.readings.class_columns import pairs_of_one_name
from clfeval.tables.readings.labels import known_labels
from clfeval.tables.readings.names import copied_name, tags_of
from clfeval.tables.readings.pair_facts import FEW_ROWS, PairFacts

Role = Literal["model", "labels", "confidence", "weight", "run", "cluster", "id", "unused"]

MOST_CLASSES = 20  # of a column that may be truth
MOST_RUNS = 33
FEW_SCORES = 20  # rows; of fewer all scores of the positive class may be high by chance
# values of columns that are often no models
FLAGS = {"0", "1", "false", "true", "0.0", "1.0", "no", "yes"}


@dataclass(frozen=True, eq=False)
class TruthView:
    """A table as it looks with one column as truth: what the requirements ask of other columns.

    classes: truth's labels. free: the columns without a role by option or as class probabilities.
    sets: the models of class probabilities. runs: the command evaluates runs.
    """

    truth: str
    classes: frozenset[str]
    free: Sequence[CandidateColumn]
    roles: InputOptions
    facts: PairFacts
    rows: int
    sets: Sequence[ModelColumns] = ()
    runs: bool = True

    @classmethod
    def from_profiles(
        cls,
        truth: str,
        profiles: Mapping[str, ColumnProfile],
        free: Collection[str],
        input_options: InputOptions,
        facts: PairFacts,
        *,
        sets: Sequence[ModelColumns] = (),
    ) -> TruthView:
        """Build the view of a truth; free: the columns without a role; sets: of probabilities."""
        classes = frozenset(known_labels(profiles[truth].texts, input_options))
        columns = []
        for name in free:
            profile = profiles[name]
            kind = kind_of_cells(profile, classes)
            scale = scale_of(profile) if kind == "number" else ""
            columns.append(CandidateColumn(name, tags_of(name), profile, kind, scale))
        has_unit_scores = any(column.scale == "unit" for column in columns)
        for i, column in enumerate(columns):
            is_unlike_truth = has_unit_scores and not column.profile.texts & classes
            if is_unlike_truth or input_options.has_threshold(column.name):
                columns[i] = _with_sure_scores(column)
        rows = profiles[truth].rows
        return cls(truth, classes, columns, input_options, facts, rows, sets, input_options.runs)

    @property
    def many_classes(self) -> bool:
        """True if more than two classes are evaluated together."""
        return self.roles.several and self.roles.positive is None and len(self.classes) > 2

    @cached_property
    def unit_scores(self) -> list[CandidateColumn]:
        """The columns of numbers in 0 to 1."""
        return [column for column in self.free if column.scale == "unit"]

    @cached_property
    def strong_scores(self) -> list[CandidateColumn]:
        """The columns of numbers that can hardly be anything but scores."""
        scores = []
        for column in self.free:
            is_plain_score = column.scale == "unit" and not column.tags & BARRED
            if column.kind == "number" and (column.predicts or is_plain_score):
                scores.append(column)
        return [column for column in scores if not is_coded(column, self)]

    @cached_property
    def labels(self) -> list[CandidateColumn]:
        """The columns of truth's labels that have no other part by their names."""
        labels = [column for column in self.free if column.kind == "label"]
        return [column for column in labels if column.predicts or not column.tags & BARRED]

    @cached_property
    def predicted_labels(self) -> list[CandidateColumn]:
        """The columns of labels that are called predictions or models; else all of labels."""
        return [column for column in self.labels if column.predicts] or self.labels

    @cached_property
    def base_scales(self) -> set[ScoreScale]:
        """The scales of models: of columns called prediction, else of those in 0 to 1; or none."""
        predicted_scales = {column.scale for column in self.strong_scores if column.predicts}
        return predicted_scales or {column.scale for column in self.strong_scores}

    @cached_property
    def scores_of_one_name(self) -> dict[str, str]:
        """The columns of scores that are called like a column of labels, by the latter."""
        kinds: dict[CellKind, Kind] = {"number": "score", "label": "label"}
        models = [
            ModelColumns(column.name, kinds[column.kind], (column.name,))
            for column in self.free
            if column.kind in kinds
        ]
        pairs = pairs_of_one_name([*self.sets, *models], self.roles)
        return {labels.name: scores.name for _, labels, scores in pairs}

    @cached_property
    def scores_with_labels(self) -> set[str]:
        """The names of the scores that a column of labels belongs to."""
        paired_columns = [column for column in self.free if is_paired(column, self)]
        return {name for column in paired_columns for name in partner_scores(column, self)}

    @cached_property
    def likely_models(self) -> set[str]:
        """The names of the columns that can be models whatever the others are."""
        return {
            column.name
            for column in self.free
            if column.kind in ("label", "number")
            and not column.counts_rows
            and (len(column.profile.texts) > 1 or column.profile.rows < MOST_CLASSES)
            and (column.predicts or column.is_percentage or not column.tags & BARRED)
            and not is_coded(column, self)
        }

    def has_other_models(self, column: CandidateColumn) -> bool:
        """Return whether another column, or a set of probabilities, can be a model."""
        is_likely = column.name in self.likely_models
        return bool(self.sets) or len(self.likely_models) > is_likely


def _with_sure_scores(column: CandidateColumn) -> CandidateColumn:
    """Return a column of 0 and 1 as scores if it is written with a point, as by a sure tree.

    For columns next to other scores in 0 to 1, and unlike truth, or with a threshold.
    """
    profile = column.profile
    if column.kind == "label" and profile.pointed and {*profile.numbers} <= {0.0, 1.0}:
        return replace(column, kind="number", scale="unit")
    return column


def is_coded(column: CandidateColumn, view: TruthView) -> bool:
    """Return whether a column has two whole numbers that are not the two classes of truth.

    0 and 1 are scores if they are written with a point next to other scores in 0 to 1.
    """
    profile = column.profile
    if column.kind != "number" or len(profile.texts) > 2 or not profile.is_integer:
        return False
    if view.roles.kind == "score" or len(view.classes) != 2:
        return False
    has_bits = profile.pointed and {*profile.numbers} <= {0.0, 1.0}
    has_threshold = view.roles.has_threshold(column.name)
    has_other_scores = any(score is not column for score in view.unit_scores)
    return not (has_bits and (has_threshold or has_other_scores))


def kind_of_predictions(
    profile: ColumnProfile, classes: Collection[str], input_options: InputOptions
) -> Kind:
    """Return "score" for predictions of numbers, "label" for labels and for two other numbers."""
    if input_options.kind_of_models is not None:
        return input_options.kind_of_models
    are_two_numbers = len(profile.texts) == 2 and profile.is_integer and not profile.pointed
    if kind_of_cells(profile, classes) != "number" or (are_two_numbers and len(classes) == 2):
        return "label"
    return "score"


def partner_scores(column: CandidateColumn, view: TruthView) -> list[str]:
    """Return the columns of scores that labels cut at one threshold, without copies."""
    set_columns = [name for model in view.sets for name in model.columns]
    partners: list[str] = []
    score_of_same_name = view.scores_of_one_name.get(column.name)
    if any(model.name == score_of_same_name for model in view.sets):
        return []
    if (
        score_of_same_name is not None
        and view.facts.upper_label(column.name, score_of_same_name) is not None
    ):
        return [score_of_same_name]
    for score in view.free:
        if score.kind != "number" or view.facts.upper_label(column.name, score.name) is None:
            continue
        if not any(view.facts.are_equal(name, score.name) for name in (*set_columns, *partners)):
            partners.append(score.name)
    return partners


def may_be_confidence(column: CandidateColumn, view: TruthView) -> bool:
    """Return whether numbers may be the probabilities of a predicted class.

    No threshold on them gives the labels of a column.
    """
    label_columns = view.predicted_labels
    is_constant = len(column.profile.texts) < 2  # a setting
    if column.kind != "number" or not label_columns or column.profile.is_integer or is_constant:
        return False
    highest_number = {"unit": 1.0, "percent": 100.0}.get(column.scale)
    if highest_number is None:
        return False
    lowest = highest_number / max(len(view.classes), 2) - 1e-9
    highest = highest_number * (1 + ROUNDED)
    if not all(lowest <= number <= highest for number in column.profile.numbers):
        return False
    return all(view.facts.upper_label(labels.name, column.name) is None for labels in label_columns)


def claims_weight(column: CandidateColumn, view: TruthView) -> bool:
    """Return whether a column is named like row weights, and has no negative number."""
    if "weight" not in column.tags or view.roles.weight is not None:
        return False
    has_weights = column.profile.mostly_numeric and column.profile.is_nonnegative
    is_label_w = column.name.strip().casefold() == "w" and column.kind == "label"
    return has_weights and not is_label_w


def claims_count(column: CandidateColumn) -> bool:
    """Return whether a column is named like counts of equal rows, and has whole numbers."""
    is_named_count = "count" in column.tags and column.kind != "label"
    return is_named_count and column.profile.is_integer and column.profile.is_nonnegative


def claims_run(column: CandidateColumn) -> bool:
    """Return whether a column is named like runs or seeds, and has a few values."""
    return "run" in column.tags and 1 < len(column.profile.texts) <= MOST_RUNS


def claims_cluster(column: CandidateColumn) -> bool:
    """Return whether a column is named like clusters, and has repeated values."""
    profile = column.profile
    return "cluster" in column.tags and not profile.distinct and len(profile.texts) > 2


def claims_id(column: CandidateColumn) -> bool:
    """Return whether a column is named like the ids of rows, and repeats none where it may not."""
    if "id" in column.tags:
        return True
    is_index_like = bool(column.tags & {"index", "like an id"})
    return is_index_like and column.profile.distinct


Predicate = Callable[[CandidateColumn, TruthView], bool]


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a role requires of a column: a predicate, and the words for a column that breaks it."""

    role: Role
    holds: Predicate
    words: str


def _is_model_by_values(column: CandidateColumn, view: TruthView) -> bool:  # noqa: ARG001
    """Labels and numbers may be predictions; other texts may not."""
    return column.kind in ("label", "number")


def _is_no_other_coding(column: CandidateColumn, view: TruthView) -> bool:
    return not is_coded(column, view)


def _is_no_number_of_rows(column: CandidateColumn, view: TruthView) -> bool:
    """Whole numbers that number the rows are a model only if they are called so, or alone.

    Alone, and called ids of rows, they are none either.
    """
    if column.kind == "label" or column.predicts:
        return True
    is_named_id = bool(column.tags & {"id", "index", "like an id"})
    if len(view.free) == 1:
        return not (is_named_id and column.counts_rows)
    return not (is_named_id or column.counts_rows)


def _has_several_values(column: CandidateColumn, view: TruthView) -> bool:
    """A column of one number, such as a setting, is a model only if it is called so, or alone.

    A model that predicts one label in all rows is kept.
    """
    if column.kind == "label" or column.predicts or not view.has_other_models(column):
        return True
    return len(column.profile.texts) > 1 or column.profile.rows < MOST_CLASSES


def _has_no_other_claim(column: CandidateColumn, view: TruthView) -> bool:
    """A column that is called like weights, runs, ids or dates is a model only if it is alone."""
    if column.predicts or len(view.free) == 1:
        return True
    if column.tags & {"date", "error"}:
        return False
    if not view.has_other_models(column):
        return True
    return not (
        claims_weight(column, view)
        or claims_count(column)
        or claims_run(column)
        or claims_cluster(column)
        or claims_id(column)
    )


def _is_no_covariate(column: CandidateColumn, view: TruthView) -> bool:
    """A covariate by its name is a model only among labels, or where nothing else can be."""
    if column.name in view.scores_with_labels:
        return True
    if column.predicts or "covariate" not in column.tags or not view.has_other_models(column):
        return True
    return column.kind == "label" and not view.strong_scores


def _suits_the_classes(column: CandidateColumn, view: TruthView) -> bool:
    """A score ranks two classes: next to labels of three it is no model of its own."""
    if column.kind != "number" or not view.many_classes or view.roles.kind:
        return True
    return not (view.labels or view.sets)


def _has_its_own_name(column: CandidateColumn, view: TruthView) -> bool:
    """A score called like a model of class probabilities is one of its numbers, no other model."""
    return column.kind != "number" or column.name not in {
        prediction_set.name for prediction_set in view.sets
    }


def _is_no_cut(column: CandidateColumn, view: TruthView) -> bool:
    """Labels that a threshold on one score gives are labels of that model."""
    return not is_paired(column, view)


def partner_sets(column: CandidateColumn, view: TruthView) -> list[ModelColumns]:
    """Return the models of class probabilities whose labels a column has.

    These are the most probable classes, or of two classes those at a threshold.
    """
    partners = []
    for model in view.sets:
        is_largest = view.facts.are_largest(column.name, model.columns, model.classes)
        upper_labels = [view.facts.upper_label(column.name, name) for name in model.columns]
        if (is_largest and len(model.columns) > 1) or (
            len(model.columns) <= 2 and any(upper_labels)
        ):
            partners.append(model)
    return partners


def is_paired(column: CandidateColumn, view: TruthView) -> bool:
    """Return whether a column of labels is the cut of exactly one score, and no coincidence."""
    if column.kind != "label" or view.roles.kind or column.name in view.roles.model:
        return False
    has_claim = column.predicts or column.name in view.scores_of_one_name
    if "covariate" in column.tags or not (has_claim or view.rows >= FEW_ROWS):
        return False
    return len(partner_scores(column, view)) + len(partner_sets(column, view)) == 1


def _is_in_doubt(column: CandidateColumn, view: TruthView) -> bool:
    """Return whether a column that may be a model may as well be none."""
    if view.roles.kind or column.predicts or column.name in view.scores_with_labels:
        return False
    if column.kind == "label":
        is_named_copy = copied_name(column.name) == view.truth
        if is_named_copy and view.facts.are_equal(view.truth, column.name):
            return True  # a copy of truth is hardly a perfect model
        is_flag = {text.casefold() for text in column.profile.texts} <= FLAGS
        is_among_scores = bool(view.strong_scores or view.sets)
        return is_flag and is_among_scores and not is_paired(column, view)
    if column.kind != "number":
        return False
    if "share" in column.tags or column.may_count_rows:
        return view.has_other_models(column)
    base_scales = view.base_scales or ({""} if view.labels or view.sets else set[ScoreScale]())
    return bool(base_scales) and column.scale not in base_scales


def _may_be_unused(column: CandidateColumn, view: TruthView) -> bool:
    """Not used are columns that cannot be predictions, and those of which this is in doubt."""
    if column.kind in ("empty", "text"):
        has_few_texts = 1 < len(column.profile.texts) <= MOST_CLASSES
        return not ("prediction" in column.tags and has_few_texts) or column.kind == "empty"
    model_requirements = [
        requirement for requirement in REQUIREMENTS if requirement.role == "model"
    ]
    if any(
        not requirement.holds(column, view)
        for requirement in model_requirements
        if requirement.holds is not _is_no_cut
    ):
        return not (is_coded(column, view) and column.predicts)
    return _is_in_doubt(column, view)


def _may_be_confidence(column: CandidateColumn, view: TruthView) -> bool:
    if view.roles.kind or claims_weight(column, view):
        return False
    return may_be_confidence(column, view)


def _may_be_weight(column: CandidateColumn, view: TruthView) -> bool:
    if not view.has_other_models(column):
        return False
    return view.roles.weight is None and (claims_weight(column, view) or claims_count(column))


def _may_be_run(column: CandidateColumn, view: TruthView) -> bool:
    is_unasked = not view.roles.by and view.roles.run is None
    return view.runs and is_unasked and view.has_other_models(column) and claims_run(column)


def _may_be_cluster(column: CandidateColumn, view: TruthView) -> bool:
    return view.roles.cluster is None and claims_cluster(column)


def _may_be_id(column: CandidateColumn, view: TruthView) -> bool:
    if view.roles.id is not None or claims_cluster(column):
        return False
    return claims_id(column) and (view.has_other_models(column) or "id" in column.tags)


REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "model", _is_model_by_values, "its values are neither classes of truth nor numbers"
    ),
    Requirement("model", _is_no_other_coding, "its two numbers are not the classes of truth"),
    Requirement("model", _is_no_number_of_rows, "each row has its own whole number"),
    Requirement("model", _has_several_values, "all its numbers are the same"),
    Requirement("model", _has_no_other_claim, "its name is that of another role"),
    Requirement("model", _is_no_covariate, "its name is that of a property of the rows"),
    Requirement("model", _suits_the_classes, "one number does not rank three classes"),
    Requirement("model", _has_its_own_name, "a model of class probabilities has its name"),
    Requirement("model", _is_no_cut, "its labels are those of a score at one threshold"),
    Requirement("labels", is_paired, "no threshold on exactly one score gives its labels"),
    Requirement("confidence", _may_be_confidence, "it is not a probability of the predicted class"),
    Requirement("weight", _may_be_weight, "it is not a column of weights"),
    Requirement("run", _may_be_run, "it is not a column of runs"),
    Requirement("cluster", _may_be_cluster, "it is not a column of clusters"),
    Requirement("id", _may_be_id, "it is not a column of ids"),
    Requirement("unused", _may_be_unused, "it may be a model"),
)
ROLES: tuple[Role, ...] = (
    "labels",
    "model",
    "confidence",
    "weight",
    "run",
    "cluster",
    "id",
    "unused",
)


def possible_roles(column: CandidateColumn, view: TruthView) -> tuple[Role, ...]:
    """Return the roles of which a column meets every requirement, in the order they are offered."""
    if column.name in view.roles.named_models and column.kind in ("label", "number"):
        return ("model",)
    broken_roles = {
        requirement.role for requirement in REQUIREMENTS if not requirement.holds(column, view)
    }
    roles: list[Role] = [role for role in ROLES if role not in broken_roles]
    is_confidence = view.roles.confidences or "confidence" in column.tags
    if "confidence" in roles and is_confidence:
        roles = ["confidence"]
    if {"confidence", "model"} <= {*roles} and view.rows >= FEW_SCORES:
        roles = ["confidence", "unused"]  # scores of the positive class would be low as well
    if "id" in roles:
        roles = ["id"]
    return _with_declined(column, roles, view)


def _with_declined(
    column: CandidateColumn, roles: Sequence[Role], view: TruthView
) -> tuple[Role, ...]:
    """Return roles with "unused" where a claim by name is offered both ways, else without it."""
    claimed_roles: list[Role] = [role for role in roles if role != "unused"]
    row_claims = {"run", "cluster"} & {*claimed_roles}
    if row_claims or ("weight" in claimed_roles and _is_doubtful_weight(column, view)):
        return (*claimed_roles, "unused")
    return ("weight",) if "weight" in claimed_roles else tuple(roles)


def _is_doubtful_weight(column: CandidateColumn, view: TruthView) -> bool:
    """Return whether a weight may be counts of rows, or a property of the rows as others are."""
    other_columns = (rival for rival in view.free if rival is not column)
    has_rivals = any({"covariate", "weight"} & rival.tags for rival in other_columns)
    return claims_count(column) or has_rivals


def broken_words(column: CandidateColumn, view: TruthView, role: Role) -> str:
    """Return the words of the first requirement of a role that a column breaks; "" if none."""
    role_requirements = [requirement for requirement in REQUIREMENTS if requirement.role == role]
    return next(
        (
            requirement.words
            for requirement in role_requirements
            if not requirement.holds(column, view)
        ),
        "",
    )

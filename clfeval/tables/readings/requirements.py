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
        roles: InputOptions,
        facts: PairFacts,
        *,
        sets: Sequence[ModelColumns] = (),
    ) -> TruthView:
        """Build the view of a truth; free: the columns without a role; sets: of probabilities."""
        classes = frozenset(known_labels(profiles[truth].texts, roles))
        columns = []
        for name in free:
            profile = profiles[name]
            kind = kind_of_cells(profile, classes)
            scale = scale_of(profile) if kind == "number" else ""
            columns.append(CandidateColumn(name, tags_of(name), profile, kind, scale))
        beside_scores = any(column.scale == "unit" for column in columns)
        for position, column in enumerate(columns):
            unlike_truth = beside_scores and not column.profile.texts & classes
            if unlike_truth or roles.has_threshold(column.name):
                columns[position] = _with_sure_scores(column)
        rows = profiles[truth].rows
        return cls(truth, classes, columns, roles, facts, rows, sets, roles.runs)

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
            plain = column.scale == "unit" and not column.tags & BARRED
            if column.kind == "number" and (column.predicts or plain):
                scores.append(column)
        return [column for column in scores if not is_coded(column, self)]

    @cached_property
    def labels(self) -> list[CandidateColumn]:
        """The columns of truth's labels that have no other part by their names."""
        labels = [column for column in self.free if column.kind == "label"]
        return [column for column in labels if column.predicts or not column.tags & BARRED]

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
        paired = [column for column in self.free if is_paired(column, self)]
        return {name for column in paired for name in partner_scores(column, self)}

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
        return bool(self.sets) or len(self.likely_models - {column.name}) > 0


def _with_sure_scores(column: CandidateColumn) -> CandidateColumn:
    """Return a column of 0 and 1 as scores if it is written with a point, as by a sure tree.

    For columns next to other scores in 0 to 1, and unlike truth, or with a threshold.
    """
    profile = column.profile
    if column.kind == "label" and profile.pointed and {*profile.numbers} <= {0.0, 1.0}:
        return replace(column, kind="number", scale="unit")
    return column


def is_coded(column: CandidateColumn, table: TruthView) -> bool:
    """Return whether a column has two whole numbers that are not the two classes of truth.

    0 and 1 are scores if they are written with a point next to other scores in 0 to 1.
    """
    profile = column.profile
    if column.kind != "number" or len(profile.texts) > 2 or not profile.is_integer:
        return False
    if table.roles.kind == "score" or len(table.classes) != 2:
        return False
    bits = profile.pointed and {*profile.numbers} <= {0.0, 1.0}
    has_threshold = table.roles.has_threshold(column.name)
    beside_scores = any(score is not column for score in table.unit_scores)
    return not (bits and (has_threshold or beside_scores))


def kind_of_predictions(
    profile: ColumnProfile, classes: Collection[str], roles: InputOptions
) -> Kind:
    """Return "score" for predictions of numbers, "label" for labels and for two other numbers."""
    if roles.kind_of_models is not None:
        return roles.kind_of_models
    two_numbers = len(profile.texts) == 2 and profile.is_integer and not profile.pointed
    if kind_of_cells(profile, classes) != "number" or (two_numbers and len(classes) == 2):
        return "label"
    return "score"


def partner_scores(column: CandidateColumn, table: TruthView) -> list[str]:
    """Return the columns of scores that labels cut at one threshold, without copies."""
    set_columns = [name for model in table.sets for name in model.columns]
    partners: list[str] = []
    same_name = table.scores_of_one_name.get(column.name)
    if any(model.name == same_name for model in table.sets):
        return []
    if same_name is not None and table.facts.upper_label(column.name, same_name) is not None:
        return [same_name]
    for score in table.free:
        if score.kind != "number" or table.facts.upper_label(column.name, score.name) is None:
            continue
        if not any(table.facts.are_equal(name, score.name) for name in (*set_columns, *partners)):
            partners.append(score.name)
    return partners


def may_be_confidence(column: CandidateColumn, table: TruthView) -> bool:
    """Return whether numbers may be the probabilities of a predicted class.

    No threshold on them gives the labels of a column.
    """
    predicted = table.labels
    predictions = [labels for labels in predicted if labels.predicts]
    predicted = predictions or predicted
    is_constant = len(column.profile.texts) < 2  # a setting
    if column.kind != "number" or not predicted or column.profile.is_integer or is_constant:
        return False
    most = {"unit": 1.0, "percent": 100.0}.get(column.scale)
    if most is None:
        return False
    lowest = most / max(len(table.classes), 2) - 1e-9
    highest = most * (1 + ROUNDED)
    if not all(lowest <= number <= highest for number in column.profile.numbers):
        return False
    return all(table.facts.upper_label(labels.name, column.name) is None for labels in predicted)


def claims_weight(column: CandidateColumn, table: TruthView) -> bool:
    """Return whether a column is named like row weights, and has no negative number."""
    if "weight" not in column.tags or table.roles.weight is not None:
        return False
    number = column.profile.mostly_numeric and column.profile.is_nonnegative
    alone = column.name.strip().casefold() == "w" and column.kind == "label"
    return number and not alone


def claims_count(column: CandidateColumn) -> bool:
    """Return whether a column is named like counts of equal rows, and has whole numbers."""
    is_called_so = "count" in column.tags and column.kind != "label"
    return is_called_so and column.profile.is_integer and column.profile.is_nonnegative


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
    index_like = bool(column.tags & {"index", "like an id"})
    return index_like and column.profile.distinct


Predicate = Callable[[CandidateColumn, TruthView], bool]


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a role requires of a column: a predicate, and the words for a column that breaks it."""

    role: Role
    holds: Predicate
    words: str


def _is_model_by_values(column: CandidateColumn, table: TruthView) -> bool:  # noqa: ARG001
    return column.kind in ("label", "number")


def _is_no_other_coding(column: CandidateColumn, table: TruthView) -> bool:
    return not is_coded(column, table)


def _is_no_number_of_rows(column: CandidateColumn, table: TruthView) -> bool:
    """Whole numbers that number the rows are a model only if they are called so, or alone.

    Alone, and called ids of rows, they are none either.
    """
    if column.kind == "label" or column.predicts:
        return True
    is_called_so = bool(column.tags & {"id", "index", "like an id"})
    if len(table.free) == 1:
        return not (is_called_so and column.counts_rows)
    return not (is_called_so or column.counts_rows)


def _has_several_values(column: CandidateColumn, table: TruthView) -> bool:
    """A column of one number, such as a setting, is a model only if it is called so, or alone.

    A model that predicts one label in all rows is kept.
    """
    if column.kind == "label" or column.predicts or not table.has_other_models(column):
        return True
    return len(column.profile.texts) > 1 or column.profile.rows < MOST_CLASSES


def _has_no_other_claim(column: CandidateColumn, table: TruthView) -> bool:
    if column.predicts or len(table.free) == 1:
        return True
    if column.tags & {"date", "error"}:
        return False
    if not table.has_other_models(column):
        return True
    return not (
        claims_weight(column, table)
        or claims_count(column)
        or claims_run(column)
        or claims_cluster(column)
        or claims_id(column)
    )


def _is_no_covariate(column: CandidateColumn, table: TruthView) -> bool:
    """A covariate by its name is a model only among labels, or where nothing else can be."""
    if column.name in table.scores_with_labels:
        return True
    if column.predicts or "covariate" not in column.tags or not table.has_other_models(column):
        return True
    return column.kind == "label" and not table.strong_scores


def _suits_the_classes(column: CandidateColumn, table: TruthView) -> bool:
    """A score ranks two classes: next to labels of three it is no model of its own."""
    if column.kind != "number" or not table.many_classes or table.roles.kind:
        return True
    return not (table.labels or table.sets)


def _has_its_own_name(column: CandidateColumn, view: TruthView) -> bool:
    """A score called like a model of class probabilities is one of its numbers, no other model."""
    return column.kind != "number" or column.name not in {
        prediction_set.name for prediction_set in view.sets
    }


def _is_no_cut(column: CandidateColumn, table: TruthView) -> bool:
    """Labels that a threshold on one score gives are labels of that model."""
    return not is_paired(column, table)


def partner_sets(column: CandidateColumn, table: TruthView) -> list[ModelColumns]:
    """Return the models of class probabilities whose labels a column has.

    These are the most probable classes, or of two classes those at a threshold.
    """
    partners = []
    for model in table.sets:
        largest = table.facts.are_largest(column.name, model.columns, model.classes)
        cuts = [table.facts.upper_label(column.name, name) for name in model.columns]
        if (largest and len(model.columns) > 1) or (len(model.columns) <= 2 and any(cuts)):
            partners.append(model)
    return partners


def is_paired(column: CandidateColumn, table: TruthView) -> bool:
    """Return whether a column of labels is the cut of exactly one score, and no coincidence."""
    if column.kind != "label" or table.roles.kind or column.name in table.roles.model:
        return False
    claimed = column.predicts or column.name in table.scores_of_one_name
    if "covariate" in column.tags or not (claimed or table.rows >= FEW_ROWS):
        return False
    return len(partner_scores(column, table)) + len(partner_sets(column, table)) == 1


def _is_in_doubt(column: CandidateColumn, table: TruthView) -> bool:
    """Return whether a column that may be a model may as well be none."""
    if table.roles.kind or column.predicts or column.name in table.scores_with_labels:
        return False
    if column.kind == "label":
        copied = copied_name(column.name) == table.truth
        if copied and table.facts.are_equal(table.truth, column.name):
            return True  # a copy of truth is hardly a perfect model
        flag = {text.casefold() for text in column.profile.texts} <= FLAGS
        among_scores = bool(table.strong_scores or table.sets)
        return flag and among_scores and not is_paired(column, table)
    if column.kind != "number":
        return False
    if "share" in column.tags or column.may_count_rows:
        return table.has_other_models(column)
    base = table.base_scales or ({""} if table.labels or table.sets else set[ScoreScale]())
    return bool(base) and column.scale not in base


def _may_be_unused(column: CandidateColumn, table: TruthView) -> bool:
    """Not used are columns that cannot be predictions, and those of which this is in doubt."""
    if column.kind in ("empty", "text"):
        few_words = 1 < len(column.profile.texts) <= MOST_CLASSES
        return not ("prediction" in column.tags and few_words) or column.kind == "empty"
    possible = [requirement for requirement in REQUIREMENTS if requirement.role == "model"]
    if any(
        not requirement.holds(column, table)
        for requirement in possible
        if requirement.holds is not _is_no_cut
    ):
        return not (is_coded(column, table) and column.predicts)
    return _is_in_doubt(column, table)


def _may_be_confidence(column: CandidateColumn, table: TruthView) -> bool:
    if table.roles.kind or claims_weight(column, table):
        return False
    return may_be_confidence(column, table)


def _may_be_weight(column: CandidateColumn, table: TruthView) -> bool:
    if not table.has_other_models(column):
        return False
    return table.roles.weight is None and (claims_weight(column, table) or claims_count(column))


def _may_be_run(column: CandidateColumn, table: TruthView) -> bool:
    unasked = not table.roles.by and table.roles.run is None
    return table.runs and unasked and table.has_other_models(column) and claims_run(column)


def _may_be_cluster(column: CandidateColumn, table: TruthView) -> bool:
    return table.roles.cluster is None and claims_cluster(column)


def _may_be_id(column: CandidateColumn, table: TruthView) -> bool:
    if table.roles.id is not None or claims_cluster(column):
        return False
    return claims_id(column) and (table.has_other_models(column) or "id" in column.tags)


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


def possible_roles(column: CandidateColumn, table: TruthView) -> tuple[Role, ...]:
    """Return the roles of which a column meets every requirement, in the order they are offered."""
    if column.name in table.roles.named_models and column.kind in ("label", "number"):
        return ("model",)
    broken = {
        requirement.role for requirement in REQUIREMENTS if not requirement.holds(column, table)
    }
    possible: list[Role] = [role for role in ROLES if role not in broken]
    is_said = table.roles.confidences or "confidence" in column.tags
    if "confidence" in possible and is_said:
        possible = ["confidence"]
    if {"confidence", "model"} <= {*possible} and table.rows >= FEW_SCORES:
        possible = ["confidence", "unused"]  # scores of the positive class are low as well
    if "id" in possible:
        possible = ["id"]
    return _with_declined(column, possible, table)


def _with_declined(
    column: CandidateColumn, possible: Sequence[Role], table: TruthView
) -> tuple[Role, ...]:
    """Return roles with "unused" where a claim by name is offered both ways, else without it."""
    claimed: list[Role] = [role for role in possible if role != "unused"]
    claims = {"run", "cluster"} & {*claimed}
    if claims or ("weight" in claimed and _is_doubtful_weight(column, table)):
        return (*claimed, "unused")
    return ("weight",) if "weight" in claimed else tuple(possible)


def _is_doubtful_weight(column: CandidateColumn, table: TruthView) -> bool:
    """Return whether a weight may be counts of rows, or a property of the rows as others are."""
    others = (rival for rival in table.free if rival is not column)
    rivals = any({"covariate", "weight"} & rival.tags for rival in others)
    return claims_count(column) or rivals


def broken_words(column: CandidateColumn, table: TruthView, role: Role) -> str:
    """Return the words of the first requirement of a role that a column breaks; "" if none."""
    of_role = [requirement for requirement in REQUIREMENTS if requirement.role == role]
    return next((part.words for part in of_role if not part.holds(column, table)), "")

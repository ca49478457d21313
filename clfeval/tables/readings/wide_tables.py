"""Readings of wide tables: a column of truth, and a role for each of the others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, pairwise, product

from clfeval.errors import UsageError
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace
from clfeval.tables.columns import Columns, ModelColumns
from clfeval.tables.input import ColumnNames, InputOptions, find_column, match_names
from clfeval.tables.profiles import ColumnProfiles
from clfeval.tables.readings.candidate_columns import CandidateColumn
from clfeval.tables.readings.class_columns import (
    merge_labels_with_scores,
    pairs_of_one_name,
    probability_models,
    spare_complement,
)
from clfeval.tables.readings.confidences import with_confidence, with_doubtful_truth
from clfeval.tables.readings.labels import known_labels
from clfeval.tables.readings.pair_facts import PairFacts
from clfeval.tables.readings.positive import positive_choices, positive_question, with_upper_label
from clfeval.tables.readings.reading import Reading
from clfeval.tables.readings.requirements import (
    MOST_CLASSES,
    Role,
    TruthView,
    broken_words,
    partner_scores,
    partner_sets,
    possible_roles,
)
from clfeval.tables.readings.role_words import Assignment, answers
from clfeval.tables.readings.truths import TruthCandidate, truth_candidates
from clfeval.tables.readings.weights import with_weight_kind

MOST_READINGS = 64  # of one truth
MOST_TRUTHS = 8


@dataclass(frozen=True, slots=True)
class Decision:
    """Columns that are decided together, and the roles they may have.

    choices: the role of each column, for each way to decide; if empty, all have the same role.
    """

    columns: tuple[CandidateColumn, ...]
    roles: tuple[Role, ...]
    choices: tuple[Mapping[str, Role], ...] = ()

    def assignments(self) -> list[Mapping[str, Role]]:
        """Return the possible roles by column."""
        if self.choices:
            return list(self.choices)
        return [{column.name: role for column in self.columns} for role in self.roles]


def wide_readings(
    file: str, profiles: ColumnProfiles, input_options: InputOptions
) -> list[Reading]:
    """Return the readings of a table with a column for each model; none if there is no truth."""
    facts = PairFacts(profiles, frozenset(input_options.denied))
    readings: list[Reading] = []
    for candidate in truth_candidates(profiles, input_options, facts)[:MOST_TRUTHS]:
        readings += _readings_of_truth(file, profiles, input_options, facts, candidate)
    return readings


def probability_readings(
    file: str, profiles: ColumnProfiles, input_options: InputOptions
) -> list[Reading]:
    """Return the readings with columns of class probabilities."""
    readings = wide_readings(file, profiles, input_options)
    return [
        reading
        for reading in readings
        if any(model.kind == "classes" for model in reading.columns.models)
    ]


def _readings_of_truth(
    file: str,
    profiles: ColumnProfiles,
    input_options: InputOptions,
    facts: PairFacts,
    candidate: TruthCandidate,
) -> list[Reading]:
    """Return the readings with a column as truth, those that leave no model are gone."""
    truth = candidate.name
    excluded = {
        truth,
        input_options.id,
        input_options.weight,
        *input_options.by,
        input_options.cluster,
        "",
    }
    free = {name: profile for name, profile in profiles.items() if name not in excluded}
    classes = frozenset(known_labels(profiles[truth].texts, input_options))
    sets = probability_models(free, classes, input_options, facts)
    in_sets = {column for model in sets for column in model.columns}
    other_columns = [name for name in free if name not in in_sets]
    view = TruthView.from_profiles(truth, profiles, other_columns, input_options, facts, sets=sets)
    if input_options.model:
        possible_readings = [_named_reading(file, view, sets, profiles, candidate)]
    else:
        possible_readings = [
            _reading(view, sets, profiles, candidate, assignment)
            for assignment in islice(_assignments(view), MOST_READINGS)
        ]
    if input_options.confidences:
        try:
            possible_readings = [with_confidence(reading, view) for reading in possible_readings]
        except UsageError:
            if candidate.claim != "values":
                raise
            return []  # another column is truth
    readings = [reading for reading in possible_readings if reading.columns.models]
    if not readings and candidate.claim != "values":
        readings = _refused_by_name(view, candidate)
    return [
        with_doubtful_truth(answered, profiles)
        for reading in readings
        for answered in _readings_by_positive(reading, profiles, view.roles, facts)
    ]


def _readings_by_positive(
    reading: Reading, profiles: ColumnProfiles, input_options: InputOptions, facts: PairFacts
) -> list[Reading]:
    """Return a reading with each possible positive class."""
    counts = profiles[reading.columns.truth].counts
    label_columns = [model.columns[0] for model in reading.columns.models if model.kind == "label"]
    predicted_labels = {text for name in label_columns for text in profiles[name].texts}
    resolved = with_upper_label(reading, counts, facts)
    return [
        answered
        for weighted in with_weight_kind(resolved, facts, input_options)
        for answered in with_positive(weighted, counts, input_options, predicted=predicted_labels)
    ]


def _assignments(view: TruthView) -> Iterator[Assignment]:
    """Yield the possible roles of all columns together."""
    fixed_roles: dict[str, Role] = {}
    column_groups: dict[object, list[CandidateColumn]] = {}
    roles_of: dict[str, tuple[Role, ...]] = {}
    refused_columns: list[CandidateColumn] = []
    for column in view.free:
        roles = possible_roles(column, view)
        roles_of[column.name] = roles
        if not roles:  # predictions that are not classes of truth
            fixed_roles[column.name] = "unused"
            refused_columns.append(column)
        elif len(roles) == 1:
            fixed_roles[column.name] = roles[0]
        else:
            column_groups.setdefault((roles, column.kind, column.predicts), []).append(column)
    label_pairs = _labels_apart(view, roles_of)
    unmatched_labels = _labels_off_scores(view, roles_of)
    for pair in label_pairs:
        for name in pair:
            fixed_roles.pop(name, None)
        column_groups = {
            key: [column for column in group if column.name not in pair]
            for key, group in column_groups.items()
        }
    unmatched_columns = _labels_off_sets(view, roles_of)
    for column in unmatched_columns:
        fixed_roles.pop(column.name, None)
        column_groups[column.name] = [column]
        roles_of[column.name] = ("unused", "model")
    decisions = [
        _decision_of_group(group, roles_of[group[0].name])
        for group in column_groups.values()
        if group
    ]
    decisions += [_decision_of_pair(view, *pair) for pair in label_pairs]
    decisions += _decisions_on_complements(view, fixed_roles)
    asked_columns = _names_in(
        [decision for decision in decisions if len(decision.assignments()) > 1]
    )
    asked_columns |= {column.name for column in refused_columns}
    separate_labels = frozenset({*unmatched_labels, *(column.name for column in unmatched_columns)})
    for role_of in _combinations(fixed_roles, decisions):
        if not any([*role_of.values()].count(role) > 1 for role in ("weight", "run")):
            yield Assignment(role_of, asked_columns, separate_labels)


def _decision_of_group(columns: Sequence[CandidateColumn], roles: tuple[Role, ...]) -> Decision:
    """Return the decision on columns of one kind: one of them has a role that there is once."""
    single_roles = [role for role in roles if role in ("weight", "run")]
    if not single_roles or len(columns) == 1:
        return Decision(tuple(columns), roles)
    other_roles: list[Role] = [role for role in roles if role not in single_roles]
    choices: list[Mapping[str, Role]] = []
    for other_role in other_roles:
        role_of: dict[str, Role] = {column.name: other_role for column in columns}
        choices += [{**role_of, column.name: role} for column in columns for role in single_roles]
        choices.append(role_of)
    return Decision(tuple(columns), roles, tuple(choices))


def _combinations(
    fixed_roles: Mapping[str, Role], decisions: Sequence[Decision]
) -> Iterator[dict[str, Role]]:
    """Yield the role of every column, for each combination of the choices of decisions."""
    for choices in product(*(decision.assignments() for decision in decisions)):
        yield {**fixed_roles, **{name: role for choice in choices for name, role in choice.items()}}


def _names_in(decisions: Sequence[Decision]) -> frozenset[str]:
    """Return the names of the columns of decisions."""
    return frozenset(column.name for decision in decisions for column in decision.columns)


def side_readings(reading: Reading, view: TruthView, columns: Collection[str]) -> list[Reading]:
    """Return a reading of a long table with each possible part of its other columns.

    These may be weights, runs or clusters; else they are not used.
    """
    fixed_roles: dict[str, Role] = {}
    decisions = []
    for column in view.free:
        side_roles = [
            role for role in possible_roles(column, view) if role in ("weight", "run", "cluster")
        ]
        if column.name not in columns or not side_roles:
            continue
        if possible_roles(column, view) == ("weight",):
            fixed_roles[column.name] = "weight"
        else:
            decisions.append(Decision((column,), (*side_roles, "unused")))
    readings = []
    column_of = {column.name: column for column in view.free}
    for roles_of in _combinations(fixed_roles, decisions):
        assignment = Assignment(roles_of, _names_in(decisions))
        options, words, questions = answers(column_of, assignment, ())
        input_options = replace(
            reading.roles,
            weight=reading.roles.weight or _first(roles_of, "weight"),
            cluster=reading.roles.cluster or _first(roles_of, "cluster"),
        )
        if (run := _first(roles_of, "run")) is not None:
            input_options = input_options.with_runs(run, files=False)
        used_columns = {name for name, role in roles_of.items() if role != "unused"}
        unused = {
            name: reason
            for name, reason in reading.columns.unused.items()
            if name not in used_columns
        }
        readings.append(
            replace(
                reading,
                roles=input_options,
                columns=replace(reading.columns, unused=unused),
                options={**reading.options, **options},
                words=[*reading.words, *words],
                questions=[*reading.questions, *questions],
            )
        )
    return readings


def _labels_apart(
    view: TruthView, roles_of: Mapping[str, tuple[Role, ...]]
) -> list[tuple[str, str]]:
    """Return pairs of labels and scores that are one model by their names, but by no threshold."""
    pairs = []
    column_of = {column.name: column for column in view.free}
    for labels, scores in _pairs_of_one_name(view, roles_of):
        if (
            "model" not in (*roles_of[labels], *roles_of[scores])
            or "confidence" in roles_of[scores]
        ):
            continue
        if len(column_of[labels].profile.texts) != 2 or view.roles.has_threshold(scores):
            continue
        if view.facts.upper_label(labels, scores) is None:
            pairs.append((labels, scores))
    return pairs


def _labels_off_scores(view: TruthView, roles_of: Mapping[str, tuple[Role, ...]]) -> list[str]:
    """Return the labels that are called like scores which no threshold divides as they do."""
    return [
        labels
        for labels, scores in _pairs_of_one_name(view, roles_of)
        if not view.roles.has_threshold(scores)
        and len(view.facts.profiles[labels].texts) == 2
        and view.facts.upper_label(labels, scores) is None
    ]


def _labels_off_sets(
    view: TruthView, roles_of: Mapping[str, tuple[Role, ...]]
) -> list[CandidateColumn]:
    """Return the labels that by their name are those of probabilities, but not the most probable.

    They may be those of a threshold on two probabilities, which is_paired says.
    """
    column_of = {column.name: column for column in view.free}
    label_columns = []
    for labels, scores in _pairs_of_one_name(view, roles_of, "classes"):
        model = next(model_set for model_set in view.sets if model_set.name == scores)
        texts = column_of[labels].profile.texts
        if texts and not view.facts.are_largest(labels, model.columns, model.classes):
            label_columns.append(column_of[labels])
    return label_columns


def _pairs_of_one_name(
    view: TruthView, roles_of: Mapping[str, tuple[Role, ...]], kind: str = "score"
) -> list[tuple[str, str]]:
    """Return the names of labels and of scores (or classes) that are called after one model."""
    if view.roles.kind:
        return []
    models = [
        ModelColumns(column.name, "score" if column.kind == "number" else "label", (column.name,))
        for column in view.free
        if column.kind in ("label", "number") and {"model", "confidence"} & {*roles_of[column.name]}
    ]
    pairs = pairs_of_one_name([*view.sets, *models], view.roles)
    return [(labels.name, scores.name) for _, labels, scores in pairs if scores.kind == kind]


def _decision_of_pair(view: TruthView, labels: str, scores: str) -> Decision:
    """Return the decision on labels and scores of one name: which of them, or two models."""
    columns = tuple(column for column in view.free if column.name in (labels, scores))
    choices: list[Mapping[str, Role]] = [
        {labels: "model", scores: "unused"},
        {labels: "unused", scores: "model"},
        {labels: "model", scores: "model"},
    ]
    return Decision(columns, ("model", "unused"), tuple(choices))


def _decisions_on_complements(view: TruthView, role_of: dict[str, Role]) -> list[Decision]:
    """Return decisions on neighbours that sum to 1: both classes of a model, if no name says so."""
    scores = [
        column
        for column in view.free
        if role_of.get(column.name) == "model" and column.kind == "number" and not view.roles.kind
    ]
    decisions = []
    for first, second in pairwise(scores):
        if role_of.get(first.name) != "model" or role_of.get(second.name) != "model":
            continue
        if not view.facts.are_complements(first.name, second.name):
            continue
        spare_name = spare_complement(first.name, second.name)
        if spare_name is not None:
            role_of[spare_name] = "unused"
            continue
        del role_of[first.name], role_of[second.name]
        choices: list[Mapping[str, Role]] = [
            {first.name: "unused", second.name: "model"},
            {first.name: "model", second.name: "unused"},
            {first.name: "model", second.name: "model"},
        ]
        decisions.append(Decision((first, second), ("model", "unused"), tuple(choices)))
    return decisions


def _reading(
    view: TruthView,
    sets: Sequence[ModelColumns],
    profiles: ColumnProfiles,
    candidate: TruthCandidate,
    assignment: Assignment,
) -> Reading:
    """Return the reading of an assignment of roles."""
    role_of = assignment.roles
    columns = {column.name: column for column in view.free}
    models = _models(view, sets, profiles, assignment)
    ids = [name for name, role in role_of.items() if role == "id"]
    row_id = view.roles.id or find_column(ids, ColumnNames.ID) or next(iter(ids), None)
    weight = view.roles.weight or _first(role_of, "weight")
    cluster = view.roles.cluster or _first(role_of, "cluster")
    unused = {name: _why_unused(columns[name], view) for name in _unused_names(role_of, row_id)}
    options, words, questions = answers(
        columns, assignment, models, two_classes=len(view.classes) == 2
    )
    input_options = replace(view.roles, weight=weight, cluster=cluster)
    if (run := _first(role_of, "run")) is not None:
        input_options = input_options.with_runs(run, files=False)
    table_columns = Columns(candidate.name, row_id, tuple(models), unused=unused)
    return Reading(candidate.claim, table_columns, input_options, options, words, questions)


def _first(role_of: Mapping[str, Role], role: Role) -> str | None:
    return next((name for name, column_role in role_of.items() if column_role == role), None)


def _unused_names(role_of: Mapping[str, Role], row_id: str | None) -> list[str]:
    """Return the columns without a part: declined, confidences, and further ids."""
    return [
        name
        for name, role in role_of.items()
        if role in ("unused", "confidence") or (role == "id" and name != row_id)
    ]


def _why_unused(column: CandidateColumn, view: TruthView) -> str:
    """Return why a column is not used, in a few words."""
    if column.kind == "empty":
        return "it has no values"
    if column.kind == "text":
        return "its values are not classes of truth"
    if "confidence" in possible_roles(column, view):
        return "it is the confidence of the predicted class"
    return broken_words(column, view, "model") or "an option leaves it out"


def _models(
    view: TruthView, sets: Sequence[ModelColumns], profiles: ColumnProfiles, assignment: Assignment
) -> list[ModelColumns]:
    """Return the models of an assignment, in the order of the columns of the table."""
    column_of = {column.name: column for column in view.free}
    model_of_first = {model.columns[0]: model for model in sets}
    labels_of = _labels_of_scores(view, assignment)
    models: list[ModelColumns] = []
    # labels and scores of one name are merged below, under that name
    scores_by_labels = dict(_pairs_of_one_name(view, _any_role(view)))
    scores_by_labels |= dict(_pairs_of_one_name(view, _any_role(view), "classes"))
    merged_labels = {
        labels for labels, scores in scores_by_labels.items() if labels_of.get(scores) == labels
    }
    labels_of = {
        scores: labels for scores, labels in labels_of.items() if labels not in merged_labels
    }
    for name in profiles:
        set_columns = [model for model in sets if name in model.columns]
        if set_columns and set_columns[0] not in [
            replace(known_model, label_column=None) for known_model in models
        ]:
            model = set_columns[0]
            models.append(replace(model, label_column=labels_of.get(model.name)))
        elif name in column_of and (assignment.roles.get(name) == "model" or name in merged_labels):
            kind = view.roles.kind_of_models or (
                "score" if column_of[name].kind == "number" else "label"
            )
            models.append(ModelColumns(name, kind, (name,), label_column=labels_of.get(name)))
    assert len(model_of_first) == len(sets)
    if view.roles.kind:
        return models
    return merge_labels_with_scores(models, view.roles, separate=assignment.separate)


def _any_role(view: TruthView) -> dict[str, tuple[Role, ...]]:
    """Return each free column as one that may be a model."""
    return {column.name: ("model",) for column in view.free}


def _labels_of_scores(view: TruthView, assignment: Assignment) -> dict[str, str]:
    """Return the columns of labels that are those of a score or of probabilities, by its name."""
    labels_of = {}
    for column in view.free:
        if assignment.roles.get(column.name) != "labels":
            continue
        for name in partner_scores(column, view):
            labels_of[name] = column.name
        for model in partner_sets(column, view):
            labels_of[model.name] = column.name
    return labels_of


def _named_reading(
    file: str,
    view: TruthView,
    sets: Sequence[ModelColumns],
    profiles: ColumnProfiles,
    candidate: TruthCandidate,
) -> Reading:
    """Return the reading with the models that --model names, exactly or by glob, in that order."""
    pairs = _pairs_by_name(view.roles.model, profiles)
    role_of: dict[str, Role] = {
        column.name: "model"
        for column in view.free
        if column.name in view.roles.model or possible_roles(column, view) != ("id",)
    }
    assignment = Assignment(role_of)
    view_of_all = replace(view, roles=replace(view.roles, model=()))
    all_models = _models(view_of_all, sets, profiles, assignment)
    named_models = _models(view, sets, profiles, assignment)
    models_by_name = {model.name: model for model in (*all_models, *named_models)}
    models_by_name |= _paired_models(pairs, view)
    names = match_names(file, list(models_by_name), view.roles.model)
    selected = tuple(models_by_name[name] for name in names)
    used_columns = {name for model in selected for name in (*model.columns, model.label_column)}
    ids = [
        column.name
        for column in view.free
        if possible_roles(column, view) == ("id",) and column.name not in used_columns
    ]
    row_id = view.roles.id or find_column(ids, ColumnNames.ID) or next(iter(ids), None)
    unused = {
        column.name: f"{OPTION}--model{END} does not name it"
        for column in view.free
        if column.name not in used_columns and column.name != row_id
    }
    table_columns = Columns(candidate.name, row_id, selected, unused=unused)
    return Reading(candidate.claim, table_columns, view.roles)


def _pairs_by_name(patterns: Sequence[str], profiles: ColumnProfiles) -> dict[str, tuple[str, str]]:
    """Return the two columns of names such as `labels+scores`, which are no columns themselves."""
    pairs = {}
    for pattern in patterns:
        if pattern in profiles:
            continue
        for plus_index in (i for i, character in enumerate(pattern) if character == "+"):
            first_column, second_column = pattern[:plus_index], pattern[plus_index + 1 :]
            if first_column in profiles and second_column in profiles:
                pairs[pattern] = first_column, second_column
    return pairs


def _paired_models(
    pairs: Mapping[str, tuple[str, str]], view: TruthView
) -> dict[str, ModelColumns]:
    """Return a model for each pair of a column of labels and one of scores, by its pattern."""
    kinds = {column.name: column.kind for column in view.free}
    models = {}
    for pattern, (first, second) in pairs.items():
        labels, scores = (first, second) if kinds.get(second) == "number" else (second, first)
        models[pattern] = ModelColumns(scores, "score", (scores,), label_column=labels)
    return models


def _refused_by_name(view: TruthView, candidate: TruthCandidate) -> list[Reading]:
    """Return a reading with columns that cannot be models, so that their cells are refused.

    Those that are called prediction, else those without another part by their names.
    """
    without_role = [column for column in view.free if not possible_roles(column, view)]
    without_role = without_role or [
        column for column in view.free if column.predicts and column.kind != "empty"
    ]
    other_columns = [
        column
        for column in view.free
        if column.kind != "empty" and possible_roles(column, view) not in (("id",), ("weight",))
    ]
    suspect_columns = without_role or [
        column
        for column in other_columns
        if not column.profile.distinct or column.profile.rows <= MOST_CLASSES
    ]
    suspect_columns = suspect_columns or [column for column in view.free if column.kind == "empty"]
    models = tuple(
        ModelColumns(column.name, view.roles.kind_of_models or "label", (column.name,))
        for column in suspect_columns
    )
    if not models:
        return []
    ids = [column.name for column in view.free if possible_roles(column, view) == ("id",)]
    columns = Columns(candidate.name, view.roles.id or next(iter(ids), None), models)
    return [Reading(candidate.claim, columns, view.roles)]


def with_positive(
    reading: Reading,
    counts: Mapping[str, int],
    input_options: InputOptions,
    models: Sequence[ModelColumns] | None = None,
    predicted: Collection[str] = (),
) -> list[Reading]:
    """Return the reading with each possible positive class; models: those of a long table.

    predicted: labels that models predict.
    """
    models = reading.columns.models if models is None else models
    input_options = replace(input_options, positive=reading.roles.positive)
    choices = positive_choices(reading.columns.truth, counts, input_options, models, predicted)
    if len(choices) == 1 and not choices[0].options:
        return [reading]
    question = positive_question(counts)
    return [
        replace(
            reading,
            options={**choice.options, **reading.options},
            roles=replace(reading.roles, **choice.options),
            words=[choice.words, *reading.words],
            questions=[question, *reading.questions],
        )
        for choice in choices
    ]

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
from clfeval.tables.readings.labels import default_positive, known_labels
from clfeval.tables.readings.pair_facts import PairFacts
from clfeval.tables.readings.positive import positive_choices, positive_question
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


def wide_readings(file: str, profiles: ColumnProfiles, roles: InputOptions) -> list[Reading]:
    """Return the readings of a table with a column for each model; none if there is no truth."""
    facts = PairFacts(profiles, frozenset(roles.denied))
    readings: list[Reading] = []
    for candidate in truth_candidates(profiles, roles, facts)[:MOST_TRUTHS]:
        readings += _readings_of_truth(file, profiles, roles, facts, candidate)
    return readings


def probability_readings(file: str, profiles: ColumnProfiles, roles: InputOptions) -> list[Reading]:
    """Return the readings with columns of class probabilities."""
    readings = wide_readings(file, profiles, roles)
    return [
        reading
        for reading in readings
        if any(model.kind == "classes" for model in reading.columns.models)
    ]


def _readings_of_truth(
    file: str,
    profiles: ColumnProfiles,
    roles: InputOptions,
    facts: PairFacts,
    candidate: TruthCandidate,
) -> list[Reading]:
    """Return the readings with a column as truth, those that leave no model are gone."""
    truth = candidate.name
    excluded = {truth, roles.id, roles.weight, *roles.by, roles.cluster, ""}
    free = {name: profile for name, profile in profiles.items() if name not in excluded}
    classes = frozenset(known_labels(profiles[truth].texts, roles))
    sets = probability_models(free, classes, roles, facts)
    in_sets = {column for model in sets for column in model.columns}
    rest = [name for name in free if name not in in_sets]
    view = TruthView.from_profiles(truth, profiles, rest, roles, facts, sets=sets)
    if roles.model:
        candidates_of_models = [_named_reading(file, view, sets, profiles, candidate)]
    else:
        candidates_of_models = [
            _reading(view, sets, profiles, candidate, assignment)
            for assignment in islice(_assignments(view), MOST_READINGS)
        ]
    if roles.confidences:
        try:
            candidates_of_models = [
                with_confidence(reading, view) for reading in candidates_of_models
            ]
        except UsageError:
            if candidate.claim != "values":
                raise
            return []  # another column is truth
    readings = [reading for reading in candidates_of_models if reading.columns.models]
    if not readings and candidate.claim != "values":
        readings = _refused_by_name(view, candidate)
    return [
        with_doubtful_truth(answered, profiles)
        for reading in readings
        for answered in _readings_by_positive(reading, profiles, view.roles, facts)
    ]


def _readings_by_positive(
    reading: Reading, profiles: ColumnProfiles, roles: InputOptions, facts: PairFacts
) -> list[Reading]:
    """Return a reading with each possible positive class."""
    counts = profiles[reading.columns.truth].counts
    labels = [model.columns[0] for model in reading.columns.models if model.kind == "label"]
    predicted = {text for name in labels for text in profiles[name].texts}
    resolved = _with_upper_label(reading, counts, facts)
    return [
        answered
        for weighted in with_weight_kind(resolved, facts, roles)
        for answered in with_positive(weighted, counts, roles, predicted=predicted)
    ]


def _assignments(view: TruthView) -> Iterator[Assignment]:
    """Yield the possible roles of all columns together."""
    fixed: dict[str, Role] = {}
    groups: dict[object, list[CandidateColumn]] = {}
    possible: dict[str, tuple[Role, ...]] = {}
    refused: list[CandidateColumn] = []
    for column in view.free:
        roles = possible_roles(column, view)
        possible[column.name] = roles
        if not roles:  # predictions that are not classes of truth
            fixed[column.name] = "unused"
            refused.append(column)
        elif len(roles) == 1:
            fixed[column.name] = roles[0]
        else:
            groups.setdefault((roles, column.kind, column.predicts), []).append(column)
    label_pairs = _labels_apart(view, possible)
    off_scores = _labels_off_scores(view, possible)
    for pair in label_pairs:
        for name in pair:
            fixed.pop(name, None)
        groups = {
            key: [column for column in group if column.name not in pair]
            for key, group in groups.items()
        }
    off_sets = _labels_off_sets(view, possible)
    for column in off_sets:
        fixed.pop(column.name, None)
        groups[column.name] = [column]
        possible[column.name] = ("unused", "model")
    decisions = [
        _decision_of_group(group, possible[group[0].name]) for group in groups.values() if group
    ]
    decisions += [_decision_of_pair(view, *pair) for pair in label_pairs]
    decisions += _decisions_on_complements(view, fixed)
    asked_columns = _names_in([choice for choice in decisions if len(choice.assignments()) > 1])
    asked_columns |= {column.name for column in refused}
    labels_apart = frozenset({*off_scores, *(column.name for column in off_sets)})
    for role_of in _combinations(fixed, decisions):
        if list(role_of.values()).count("weight") > 1 or list(role_of.values()).count("run") > 1:
            continue
        yield Assignment(role_of, asked_columns, labels_apart)


def _decision_of_group(columns: Sequence[CandidateColumn], roles: tuple[Role, ...]) -> Decision:
    """Return the decision on columns of one kind: one of them has a role that there is once."""
    single = [role for role in roles if role in ("weight", "run")]
    if not single or len(columns) == 1:
        return Decision(tuple(columns), roles)
    rest: list[Role] = [role for role in roles if role not in single]
    choices: list[Mapping[str, Role]] = []
    for others_role in rest:
        others: dict[str, Role] = {column.name: others_role for column in columns}
        choices += [{**others, column.name: role} for column in columns for role in single]
        choices.append(others)
    return Decision(tuple(columns), roles, tuple(choices))


def _combinations(
    fixed: Mapping[str, Role], decisions: Sequence[Decision]
) -> Iterator[dict[str, Role]]:
    """Yield the role of every column, for each combination of the choices of decisions."""
    for choices in product(*(decision.assignments() for decision in decisions)):
        yield {**fixed, **{name: role for choice in choices for name, role in choice.items()}}


def _names_in(decisions: Sequence[Decision]) -> frozenset[str]:
    """Return the names of the columns of decisions."""
    return frozenset(column.name for decision in decisions for column in decision.columns)


def side_readings(reading: Reading, view: TruthView, columns: Collection[str]) -> list[Reading]:
    """Return a reading of a long table with each possible part of its other columns.

    These may be weights, runs or clusters; else they are not used.
    """
    fixed: dict[str, Role] = {}
    decisions = []
    for column in view.free:
        possible = [
            role for role in possible_roles(column, view) if role in ("weight", "run", "cluster")
        ]
        if column.name not in columns or not possible:
            continue
        if possible_roles(column, view) == ("weight",):
            fixed[column.name] = "weight"
        else:
            decisions.append(Decision((column,), (*possible, "unused")))
    side = []
    by_name = {column.name: column for column in view.free}
    for roles_of in _combinations(fixed, decisions):
        assignment = Assignment(roles_of, _names_in(decisions))
        options, words, questions = answers(by_name, assignment, ())
        roles = replace(
            reading.roles,
            weight=reading.roles.weight or _first(roles_of, "weight"),
            cluster=reading.roles.cluster or _first(roles_of, "cluster"),
        )
        if (run := _first(roles_of, "run")) is not None:
            roles = roles.with_runs(run, files=False)
        used = {name for name, role in roles_of.items() if role != "unused"}
        unused = {
            name: reason for name, reason in reading.columns.unused.items() if name not in used
        }
        side.append(
            replace(
                reading,
                roles=roles,
                columns=replace(reading.columns, unused=unused),
                options={**reading.options, **options},
                words=[*reading.words, *words],
                questions=[*reading.questions, *questions],
            )
        )
    return side


def _labels_apart(
    view: TruthView, possible: Mapping[str, tuple[Role, ...]]
) -> list[tuple[str, str]]:
    """Return pairs of labels and scores that are one model by their names, but by no threshold."""
    pairs = []
    by_name = {column.name: column for column in view.free}
    for labels, scores in _pairs_of_one_name(view, possible):
        if (
            "model" not in (*possible[labels], *possible[scores])
            or "confidence" in possible[scores]
        ):
            continue
        if len(by_name[labels].profile.texts) != 2 or view.roles.has_threshold(scores):
            continue
        if view.facts.upper_label(labels, scores) is None:
            pairs.append((labels, scores))
    return pairs


def _labels_off_scores(view: TruthView, possible: Mapping[str, tuple[Role, ...]]) -> list[str]:
    """Return the labels that are called like scores which no threshold divides as they do."""
    return [
        labels
        for labels, scores in _pairs_of_one_name(view, possible)
        if not view.roles.has_threshold(scores)
        and len(view.facts.profiles[labels].texts) == 2
        and view.facts.upper_label(labels, scores) is None
    ]


def _labels_off_sets(
    view: TruthView, possible: Mapping[str, tuple[Role, ...]]
) -> list[CandidateColumn]:
    """Return the labels that by their name are those of probabilities, but not the most probable.

    They may be those of a threshold on two probabilities, which is_paired says.
    """
    by_name = {column.name: column for column in view.free}
    deviating = []
    for labels, scores in _pairs_of_one_name(view, possible, "classes"):
        model = next(group for group in view.sets if group.name == scores)
        texts = by_name[labels].profile.texts
        if texts and not view.facts.are_largest(labels, model.columns, model.classes):
            deviating.append(by_name[labels])
    return deviating


def _pairs_of_one_name(
    view: TruthView, possible: Mapping[str, tuple[Role, ...]], kind: str = "score"
) -> list[tuple[str, str]]:
    """Return the names of labels and of scores (or classes) that are called after one model."""
    if view.roles.kind:
        return []
    models = [
        ModelColumns(column.name, "score" if column.kind == "number" else "label", (column.name,))
        for column in view.free
        if column.kind in ("label", "number") and {"model", "confidence"} & {*possible[column.name]}
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


def _decisions_on_complements(view: TruthView, fixed: dict[str, Role]) -> list[Decision]:
    """Return decisions on neighbours that sum to 1: both classes of a model; by name if it says."""
    scores = [
        column
        for column in view.free
        if fixed.get(column.name) == "model" and column.kind == "number" and not view.roles.kind
    ]
    decisions = []
    for first, second in pairwise(scores):
        if fixed.get(first.name) != "model" or fixed.get(second.name) != "model":
            continue
        if not view.facts.are_complements(first.name, second.name):
            continue
        spare = spare_complement(first.name, second.name)
        if spare is not None:
            fixed[spare] = "unused"
            continue
        del fixed[first.name], fixed[second.name]
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
    roles = replace(view.roles, weight=weight, cluster=cluster)
    if (run := _first(role_of, "run")) is not None:
        roles = roles.with_runs(run, files=False)
    table_columns = Columns(candidate.name, row_id, tuple(models), unused=unused)
    return Reading(candidate.claim, table_columns, roles, options, words, questions)


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
    kinds = {column.name: column for column in view.free}
    first_of = {model.columns[0]: model for model in sets}
    labels_of = _labels_of_scores(view, assignment)
    models: list[ModelColumns] = []
    # labels and scores of one name are merged below, under that name
    scores_by_labels = dict(_pairs_of_one_name(view, _any_role(view)))
    scores_by_labels |= dict(_pairs_of_one_name(view, _any_role(view), "classes"))
    merged = {
        labels for labels, scores in scores_by_labels.items() if labels_of.get(scores) == labels
    }
    labels_of = {scores: labels for scores, labels in labels_of.items() if labels not in merged}
    for name in profiles:
        set_columns = [model for model in sets if name in model.columns]
        if set_columns and set_columns[0] not in [
            replace(known_model, label_column=None) for known_model in models
        ]:
            model = set_columns[0]
            models.append(replace(model, label_column=labels_of.get(model.name)))
        elif name in kinds and (assignment.roles.get(name) == "model" or name in merged):
            kind = view.roles.kind_of_models or (
                "score" if kinds[name].kind == "number" else "label"
            )
            models.append(ModelColumns(name, kind, (name,), label_column=labels_of.get(name)))
    assert len(first_of) == len(sets)
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
    everything: dict[str, Role] = {
        column.name: "model"
        for column in view.free
        if column.name in view.roles.model or possible_roles(column, view) != ("id",)
    }
    plain = Assignment(everything)
    models = _models(replace(view, roles=replace(view.roles, model=())), sets, profiles, plain)
    alone = _models(view, sets, profiles, plain)
    models_by_name = {model.name: model for model in (*models, *alone)}
    models_by_name |= _paired_models(pairs, view)
    names = match_names(file, list(models_by_name), view.roles.model)
    selected = tuple(models_by_name[name] for name in names)
    used = {name for model in selected for name in (*model.columns, model.label_column)}
    ids = [
        column.name
        for column in view.free
        if possible_roles(column, view) == ("id",) and column.name not in used
    ]
    row_id = view.roles.id or find_column(ids, ColumnNames.ID) or next(iter(ids), None)
    unused = {
        column.name: f"{OPTION}--model{END} does not name it"
        for column in view.free
        if column.name not in used and column.name != row_id
    }
    table_columns = Columns(candidate.name, row_id, selected, unused=unused)
    return Reading(candidate.claim, table_columns, view.roles)


def _pairs_by_name(patterns: Sequence[str], profiles: ColumnProfiles) -> dict[str, tuple[str, str]]:
    """Return the two columns of names such as `labels+scores`, which are no columns themselves."""
    pairs = {}
    for pattern in patterns:
        if pattern in profiles:
            continue
        for place in (i for i, sign in enumerate(pattern) if sign == "+"):
            first, second = pattern[:place], pattern[place + 1 :]
            if first in profiles and second in profiles:
                pairs[pattern] = first, second
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
    others = [
        column
        for column in view.free
        if column.kind != "empty" and possible_roles(column, view) not in (("id",), ("weight",))
    ]
    suspects = without_role or [
        column
        for column in others
        if not column.profile.distinct or column.profile.rows <= MOST_CLASSES
    ]
    suspects = suspects or [column for column in view.free if column.kind == "empty"]
    models = tuple(
        ModelColumns(column.name, view.roles.kind_of_models or "label", (column.name,))
        for column in suspects
    )
    if not models:
        return []
    ids = [column.name for column in view.free if possible_roles(column, view) == ("id",)]
    columns = Columns(candidate.name, view.roles.id or next(iter(ids), None), models)
    return [Reading(candidate.claim, columns, view.roles)]


def _with_upper_label(reading: Reading, counts: Mapping[str, int], facts: PairFacts) -> Reading:
    """Return a reading with the label of high scores as positive, if nothing else says which is."""
    roles = reading.roles
    if roles.positive is not None or default_positive(counts) is not None or len(counts) != 2:
        return reading
    uppers = {
        facts.upper_label(model.label_column, model.columns[0])
        for model in reading.columns.models
        if model.label_column is not None and model.kind == "score" and not model.confidence
    }
    uppers |= {model.classes[0] for model in reading.columns.models if len(model.classes) == 1}
    upper_classes = uppers & {*counts}
    if len(upper_classes) != 1:
        return reading
    return replace(reading, roles=replace(roles, positive=upper_classes.pop()))


def with_positive(
    reading: Reading,
    counts: Mapping[str, int],
    roles: InputOptions,
    models: Sequence[ModelColumns] | None = None,
    predicted: Collection[str] = (),
) -> list[Reading]:
    """Return the reading with each possible positive class; models: those of a long table.

    predicted: labels that models predict.
    """
    models = reading.columns.models if models is None else models
    roles = replace(roles, positive=reading.roles.positive)
    choices = positive_choices(reading.columns.truth, counts, roles, models, predicted)
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

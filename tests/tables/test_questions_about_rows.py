"""Rows and columns that were once counted without a question; numbers are from scikit-learn."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, brier_score_loss, roc_auc_score

from tests.computed import computed
from tests.process.program import clfeval as program
from tests.tables.asking import proposals
from tests.tables.door import write
from tests.tables.test_reading_families import Meaning, area, has_values, measures_by_model, sample

TRUTH, PROBABILITIES = sample(20)
ROWS = len(TRUTH)
DICE = np.random.default_rng(21)
CREDIT = np.round(850 - 500 * PROBABILITIES).astype(int)
LABELS = (PROBABILITIES >= 0.5).astype(int)
WORDS = np.where(TRUTH, "pass", "fail")
VERDICTS = np.where(LABELS, "pass", "fail")
TAGS = ["B-ORG", "O", "B-MISC", "O", "O", "B-PER", "I-PER", "B-LOC", "O"] * 4


def result_of(line: str) -> dict[str, Any]:
    """Return the result of a command line of the program."""
    done, result = computed(*shlex.split(line), "-q", "-f", "json")
    assert done.code == 0, done.err
    assert result is not None
    return result


def offers(columns: dict[str, Any], *words: str) -> list[str]:
    """Write a table, see it refused, and return the commands that are offered."""
    write("t.csv", pl.DataFrame(columns).write_csv())
    done = program("report", "t.csv", *words, "-q")
    assert done.code == 3, done.out
    lines = proposals(done.err)
    assert len(lines) <= 4
    return lines


def score_beside(**ids: Any) -> Meaning:
    """Return a table of ids, a truth, and scores of another scale."""
    columns = {**ids, "default": TRUTH, "score": CREDIT}
    return Meaning(columns, {"score": {"roc_auc": area(TRUTH, CREDIT)}})


def repeated(name: str, values: list[str], **columns: Any) -> dict[str, Any]:
    """Return columns once for each value of another column, with noisy scores."""
    noisy = [np.round(np.clip(PROBABILITIES + DICE.normal(0, 0.1, ROWS), 0, 1), 3) for _ in values]
    several = {key: np.tile(cells, len(values)) for key, cells in columns.items()}
    return {**several, "score": np.concatenate(noisy), name: np.repeat(values, ROWS)}


IDS: dict[str, dict[str, Any]] = {
    "numbered": {"account": 1 + np.arange(ROWS)},
    "from an offset": {"client": 70_000 + np.arange(ROWS)},
    "large": {"v": DICE.permutation(np.arange(ROWS)) * 7_919 + 10**9},
    "of another language": {"Kundennummer": DICE.permutation(10**8 + 13 * np.arange(ROWS))},
    "negative": {"ref": 17 * np.arange(ROWS) - 10**9},
    "two": {"order_no": np.arange(ROWS), "line": DICE.permutation(ROWS)},
}


@pytest.mark.parametrize("case", IDS)
def test_ids_of_rows_are_no_models_on_any_scale(case: str) -> None:
    meaning = score_beside(**IDS[case])
    write("t.csv", pl.DataFrame(meaning.columns).write_csv())
    assert has_values(result_of("report t.csv"), meaning.values)


@pytest.mark.parametrize("case", ["numbered", "large"])
def test_ids_alone_are_no_models(case: str) -> None:
    columns = {"account": next(iter(IDS[case].values())), "default": TRUTH}
    assert offers(columns) == []


def test_whole_numbers_that_are_all_different_may_be_fine_scores() -> None:
    points = (1e6 * PROBABILITIES).astype(int) + np.arange(ROWS)
    columns = {"default": TRUTH, "points": points, "rf": PROBABILITIES}
    lines = offers(columns)
    values = {name: {"roc_auc": area(TRUTH, columns[name])} for name in ("points", "rf")}
    assert has_values(result_of(lines[0]), values)
    assert [line.endswith("--ignore points") for line in lines] == [False, True]


COPIES: dict[str, Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]] = {
    "one table after the other": lambda cells: np.tile(cells, 3),
    "row by row": lambda cells: np.repeat(cells, 3),
    "shuffled": lambda cells: np.tile(cells, 3)[np.random.default_rng(1).permutation(3 * ROWS)],
}


@pytest.mark.parametrize("numbered", [False, True])
@pytest.mark.parametrize("case", COPIES)
def test_copies_of_rows_are_counted_once_or_said_to_be_rows(case: str, numbered: bool) -> None:
    columns = {"diagnosis": TRUTH, "rf": PROBABILITIES, "hard": LABELS}
    write("single.csv", pl.DataFrame(columns).write_csv())
    copied: dict[str, Any] = {name: COPIES[case](cells) for name, cells in columns.items()}
    lines = offers({"row": np.arange(3 * ROWS), **copied} if numbered else copied)
    assert [line.rpartition(" --where ")[2] for line in lines] == ["'copy = 1'", "'copy >= 1'"]
    once, single = result_of(lines[0]), result_of("report single.csv")
    assert once["tables"]["models"] == single["tables"]["models"]
    assert result_of(lines[1])["summary"]["rows"] == 3 * ROWS


@pytest.mark.parametrize("numbered", [False, True])
@pytest.mark.parametrize("order", ["one table after the other", "shuffled"])
def test_copies_are_found_in_a_table_longer_than_what_is_read_first(
    order: str, numbered: bool
) -> None:
    rows = 8000
    dice = np.random.default_rng(2)
    truth = dice.integers(0, 2, rows)
    place = np.tile(np.arange(rows), 2)
    if order == "shuffled":
        place = dice.permutation(place)
    scores = np.round(dice.random(rows) / 2 + truth / 3, 6)
    columns = {"diagnosis": truth[place], "rf": scores[place]}
    lines = offers({"row": np.arange(2 * rows), **columns} if numbered else columns)
    assert [line.rpartition(" --where ")[2] for line in lines] == ["'copy = 1'", "'copy >= 1'"]
    assert result_of(lines[0])["summary"]["rows"] == rows
    write("single.csv", pl.DataFrame({"diagnosis": truth, "rf": scores}).write_csv())
    assert result_of("report single.csv")["summary"]["rows"] == rows


def test_labels_that_repeat_in_order_are_copies_and_ties_of_scores_are_none() -> None:
    columns = {"truth": np.tile(TRUTH, 2), "a": np.tile(LABELS, 2)}
    assert result_of(offers(columns)[0])["summary"]["rows"] == ROWS
    coarse = {"truth": np.tile(TRUTH, 2), "p": np.round(DICE.random(2 * ROWS), 2)}
    write("t.csv", pl.DataFrame(coarse).write_csv())
    assert result_of("report t.csv")["summary"]["rows"] == 2 * ROWS


def test_a_condition_on_copies_keeps_rows_that_were_equal_before() -> None:
    rows = [("1", ".9"), ("1", ".9"), ("0", ".4"), ("0", ".9"), ("0", ".9"), ("0", ".9")]
    doubled = "".join(f"{truth},{score}\n" for truth, score in rows * 2)
    write("t.csv", f"truth,score\n{doubled}")
    summary = result_of("report t.csv --where 'copy = 1'")["summary"]
    assert (summary["rows"], summary["positives"]) == (6, 2)


@pytest.mark.parametrize("name", ["w", "weight", "sample_weight", "gewicht"])
def test_whole_weights_are_counts_or_sampling_weights(name: str) -> None:
    weights = np.where(TRUTH, 1, 20)
    columns = {"truth": TRUTH, "score": PROBABILITIES, name: weights}
    lines = offers(columns)
    kinds = [line.rpartition(f" --weight {name}:")[2] for line in lines]
    assert kinds == ["counts", "sampling"]
    assert offers(columns, "--weight", name) != []
    write("many.csv", pl.DataFrame(columns).select(pl.all().repeat_by(name).explode()).write_csv())
    counts, sampling = (result_of(line)["tables"]["models"][0]["roc_auc"] for line in lines)
    repeats = result_of("report many.csv --where 'copy >= 1' --ignore " + name)
    expected = roc_auc_score(TRUTH, PROBABILITIES, sample_weight=weights)
    assert counts["value"] == pytest.approx(expected) == sampling["value"]
    assert counts["low"] == pytest.approx(repeats["tables"]["models"][0]["roc_auc"]["low"])
    assert sampling["low"] < counts["low"]


@pytest.mark.parametrize(
    ("name", "weights"),
    [("survey_weight", DICE.integers(50, 900, ROWS)), ("weight", np.round(DICE.random(ROWS), 2))],
)
def test_weights_that_can_only_be_those_of_samples_are_not_asked_about(
    name: str, weights: Any
) -> None:
    write("t.csv", pl.DataFrame({"truth": TRUTH, "p": PROBABILITIES, name: weights}).write_csv())
    expected = roc_auc_score(TRUTH, PROBABILITIES, sample_weight=weights)
    assert measures_by_model(result_of("report t.csv"))["p"]["roc_auc"] == pytest.approx(expected)


ABSTENTIONS = [
    "I cannot judge this.",
    "unsure",
    "ich weiß es nicht",
    "no sé",
    "Sorry, I am unable.",
]


@pytest.mark.parametrize("text", ABSTENTIONS)
def test_abstentions_of_a_judge_are_left_out_or_errors(text: str) -> None:
    abstains = np.arange(ROWS) % 20 == 3
    judged = np.where(abstains, text, VERDICTS)
    lines = offers({"label": WORDS, "judge": judged})
    assert len(lines) == 2
    without, as_class = (result_of(line) for line in lines)
    assert without["summary"]["rows"] == (~abstains).sum()
    accuracy = accuracy_score(WORDS[~abstains], judged[~abstains])
    row = without["tables"]["models"][0]
    assert (row["tp"] + row["tn"]) / (~abstains).sum() == pytest.approx(accuracy)
    assert measures_by_model(as_class)["judge"]["accuracy"] == pytest.approx(
        accuracy_score(WORDS, judged)
    )
    assert all("--positive" not in line for line in lines)


def test_a_code_for_no_verdict_is_no_score_without_a_question() -> None:
    codes = np.where(np.arange(ROWS) % 20 == 3, -1, LABELS)
    lines = offers({"label": TRUTH, "rater": codes})
    assert [line.partition(" -q ")[2] for line in lines] == [
        "--null-value=-1 --missing drop",
        "--kind score",
    ]


@pytest.mark.parametrize("code", [99, -9])
def test_a_code_next_to_three_classes_leaves_no_model_out(code: int) -> None:
    grades = np.arange(ROWS) % 3
    rated = np.where(np.arange(ROWS) % 20 == 3, code, grades)
    [line, *_] = offers({"truth": grades, "first": grades, "second": rated})
    assert {row["model"] for row in result_of(line)["tables"]["models"]} == {"first", "second"}


def test_a_flag_of_no_and_yes_beside_scores_is_asked_about() -> None:
    flag = np.where(np.arange(ROWS) % 3, "no", "yes")
    words = np.where(TRUTH, "yes", "no")
    lines = offers({"diagnosis": words, "score": PROBABILITIES, "prior_mi": flag})
    results = [result_of(line)["tables"]["models"] for line in lines]
    assert sorted(len(models) for models in results) == [1, 2]


def test_typing_errors_are_no_abstentions() -> None:
    judged = np.where(np.arange(ROWS) % 50 == 3, "passs", VERDICTS)
    assert offers({"label": WORDS, "judge": judged}) == []


@pytest.mark.parametrize("name", ["llm", "prompt", "engine", "Modell"])
def test_rows_of_each_value_of_a_column_are_models_or_parts(name: str) -> None:
    values = ["alpha", "beta"]
    columns = repeated(name, values, question=[f"q{i}" for i in range(ROWS)], truth=TRUTH)
    first, *parts = offers(columns)
    scores = columns["score"].reshape(2, ROWS)
    areas = {value: area(TRUTH, scores[i]) for i, value in enumerate(values)}
    assert has_values(result_of(first), {value: {"roc_auc": areas[value]} for value in values})
    for value, line in zip(values, parts, strict=True):
        assert has_values(result_of(line), {"score": {"roc_auc": areas[value]}})


def test_a_column_of_one_value_in_each_file_is_no_setting_of_repeated_rows() -> None:
    kinds = np.where(TRUTH, "cat", "dog")
    for part, order in (("a", 1), ("b", -1)):
        columns = {"truth": kinds[::order], "rf": PROBABILITIES[::order], "wing": [part] * ROWS}
        write(f"{part}.csv", pl.DataFrame(columns).write_csv())
    lines = proposals(program("report", "a.csv", "b.csv", "--join", "none", "-q").err)
    assert [line.rpartition(" --positive ")[2] for line in lines] == ["cat", "dog"]
    assert result_of(lines[0])["summary"]["rows"] == 2 * ROWS


def test_seeds_are_runs_of_rows_without_ids() -> None:
    columns = repeated("seed", ["1", "2"], truth=TRUTH)
    scores = columns["score"].reshape(2, ROWS)
    areas = [area(TRUTH, seed_scores) for seed_scores in scores]
    values = [measures_by_model(result_of(line))["score"]["roc_auc"] for line in offers(columns)]
    assert values == pytest.approx([np.mean(areas), *areas])


@pytest.mark.parametrize("name", ["x", "sureness", "prediction_probability", "top1", "score"])
def test_the_probability_of_the_predicted_class_is_no_score(name: str) -> None:
    surest = np.maximum(PROBABILITIES, np.round(1 - PROBABILITIES, 4))
    columns = {"truth": WORDS, "label_pred": VERDICTS, name: surest}
    for line in offers(columns, "--positive", "pass"):
        values = measures_by_model(result_of(line))
        assert len(values) == 1
        [of_model] = values.values()
        assert of_model["roc_auc"] == pytest.approx(area(TRUTH, PROBABILITIES))


PERCENT = np.round(100 * PROBABILITIES, 2)


@pytest.mark.parametrize(
    ("columns", "at_once"),
    [
        ({"pop": PERCENT}, True),
        ({"Wahrscheinlichkeit (%)": PERCENT}, True),
        ({"p0": 100 - PERCENT, "p1": PERCENT}, True),
        ({"risk": PERCENT}, False),
        ({"score": PERCENT}, False),
    ],
)
def test_percentages_are_divided_by_100(columns: dict[str, Any], at_once: bool) -> None:
    table = {"truth": TRUTH, **columns}
    write("t.csv", pl.DataFrame(table).write_csv())
    [line] = ["report t.csv"] if at_once else offers(table)
    result = result_of(f"{line} --measure brier")
    [of_model] = measures_by_model(result).values()
    assert of_model["brier"] == pytest.approx(brier_score_loss(TRUTH, PERCENT / 100))
    assert [n["code"] for n in result["warnings"] if n["code"] == "percentages"] == ["percentages"]


def test_a_threshold_of_percentages_leaves_them_as_they_are() -> None:
    write("t.csv", pl.DataFrame({"truth": TRUTH, "pop": PERCENT}).write_csv())
    row = result_of("report t.csv --threshold 30")["tables"]["models"][0]
    assert row["tp"] == ((PERCENT >= 30) & (TRUTH == 1)).sum()


def test_the_first_sentence_says_that_all_models_rank_in_reverse() -> None:
    columns = {"y": TRUTH, "rf": 1 - PROBABILITIES, "fico": CREDIT}
    write("t.csv", pl.DataFrame(columns).write_csv())
    result = result_of("report t.csv --model rf --model fico")
    first = result["answer"][0]["text"]
    assert first.startswith("All models rank in reverse: ")
    assert "highest" not in first
    turned = "report t.csv --model rf:reversed --model fico:reversed --threshold fico=600"
    result = result_of(f"{turned} --measure brier")
    values = measures_by_model(result)
    assert values["rf"]["brier"] == pytest.approx(brier_score_loss(TRUTH, PROBABILITIES))
    assert values["fico"]["roc_auc"] == pytest.approx(1 - area(TRUTH, CREDIT))
    flagged = {row["model"]: row["tp"] for row in result["tables"]["models"]}["fico"]
    assert flagged == ((CREDIT <= 600) & (TRUTH == 1)).sum()


@pytest.mark.parametrize(
    ("tags", "noted"),
    [
        (TAGS, True),
        ([tag.replace("-", "_") for tag in TAGS], True),
        (["-".join(tag.split("-")[::-1]) for tag in TAGS], True),
        ([tag[0] for tag in TAGS], True),
        (["O", "B-X", "L-X", "U-X"] * 9, True),
        (["A", "B", "AB", "O"] * 9, False),
        (["O", "B", "other"] * 12, False),
    ],
)
def test_tags_of_entities_are_said_to_be_counted_by_tokens(tags: list[str], noted: bool) -> None:
    write("t.csv", pl.DataFrame({"gold": tags, "pred": tags}).write_csv())
    warnings = result_of("report t.csv")["warnings"]
    assert ("tokens-counted" in [warning["code"] for warning in warnings]) is noted


SUMMARIES: dict[str, tuple[str, str]] = {
    "total": ("Total,64,80.1", "\"id\" <> 'Total'"),
    "mean": ("Mean,0.4,.5", "\"id\" <> 'Mean'"),
    "another language": ("Gesamt,64,80.1", "\"id\" <> 'Gesamt'"),
    "header": ("id,truth,p", "\"id\" <> 'id'"),
    "line": ("---,---,---", "\"id\" <> '---'"),
}


@pytest.mark.parametrize("case", SUMMARIES)
def test_rows_that_are_no_observations_are_left_out_when_asked(case: str) -> None:
    row, condition = SUMMARIES[case]
    columns = {"id": np.arange(ROWS), "truth": TRUTH, "p": PROBABILITIES}
    write("t.csv", pl.DataFrame(columns).write_csv() + row + "\n")
    done = program("report", "t.csv", "-q")
    [line] = proposals(done.err)
    assert shlex.split(line)[-1] == condition
    assert has_values(result_of(line), {"p": {"roc_auc": area(TRUTH, PROBABILITIES)}})


@pytest.mark.parametrize("number", [int(TRUTH.sum()), float(TRUTH.mean())])
def test_a_row_with_the_sum_or_the_mean_of_truth_is_no_observation(number: float) -> None:
    rows = pl.DataFrame({"truth": TRUTH, "p": PROBABILITIES}).write_csv()
    write("t.csv", f"{rows}{number},0.5\n")
    [line] = proposals(program("report", "t.csv", "-q").err)
    assert has_values(result_of(line), {"p": {"roc_auc": area(TRUTH, PROBABILITIES)}})


def test_a_row_of_totals_below_a_truth_of_no_listed_name_is_left_out_with_its_name() -> None:
    rows = pl.DataFrame({"delirium": WORDS, "fail": 1 - PROBABILITIES, "pass": PROBABILITIES})
    write("t.csv", f"{rows.write_csv()}All,64,80.1\n")
    [line] = proposals(program("report", "t.csv", "--positive", "pass", "-q").err)
    [of_model] = measures_by_model(result_of(line)).values()
    assert of_model["roc_auc"] == pytest.approx(area(TRUTH, PROBABILITIES))


STRATA = DICE.choice([3, 10, 25, 40], ROWS)
WEIGHTED_AUC = roc_auc_score(TRUTH, PROBABILITIES, sample_weight=STRATA)


@pytest.mark.parametrize("score", ["percent", "score_pct", "rf"])
@pytest.mark.parametrize("name", ["inv_prob", "expansion_factor", "survey_weight", "ipw"])
def test_weights_of_a_sample_are_no_models_beside_any_score(name: str, score: str) -> None:
    scale = 1 if score == "rf" else 100
    columns = {"truth": TRUTH, score: np.round(scale * PROBABILITIES, 2), name: STRATA}
    write("t.csv", pl.DataFrame(columns).write_csv())
    done = program("report", "t.csv", "-q", "-f", "json")
    result = json.loads(done.out) if done.code == 0 else result_of(proposals(done.err)[0])
    expected = roc_auc_score(TRUTH, columns[score], sample_weight=STRATA)
    assert {key: of["roc_auc"] for key, of in measures_by_model(result).items()} == {
        score: pytest.approx(expected)
    }
    assert "effective_rows" in result["summary"]


def test_offers_that_name_models_keep_the_weights() -> None:
    surest = np.maximum(PROBABILITIES, np.round(1 - PROBABILITIES, 4))
    columns = {"default": WORDS, "predicted": VERDICTS, "prediction": surest, "weight": STRATA / 7}
    for line in offers(columns, "--positive", "pass"):
        assert "--weight weight" in line
        [of_model] = measures_by_model(result_of(line)).values()
        assert of_model["roc_auc"] == pytest.approx(WEIGHTED_AUC)


@pytest.mark.parametrize("name", ["label", "decision"])
def test_labels_with_their_probabilities_are_no_truth_without_a_question(name: str) -> None:
    surest = np.maximum(PROBABILITIES, np.round(1 - PROBABILITIES, 4))
    [line] = offers({name: VERDICTS, "score": surest}, "--positive", "pass")
    assert f"--truth {name}" in line
    write("t.csv", pl.DataFrame({name: WORDS, "score": PROBABILITIES}).write_csv())
    expected = {"score": {"roc_auc": area(TRUTH, PROBABILITIES)}}
    assert has_values(result_of("report t.csv --positive pass"), expected)


def test_a_setting_of_one_value_is_no_confidence() -> None:
    columns = {"obs": WORDS, "pred": VERDICTS, "cp": np.full(ROWS, 0.5)}
    write("t.csv", pl.DataFrame(columns).write_csv())
    expected = {"pred": {"accuracy": accuracy_score(WORDS, VERDICTS)}}
    assert has_values(result_of("report t.csv --positive pass"), expected)


def test_whole_numbers_of_a_property_are_no_percentages() -> None:
    tenure = DICE.integers(1, 71, ROWS)
    lines = offers({"truth": TRUTH, "rf": LABELS, "tenure": tenure})
    assert all("percent" not in line for line in lines)


def test_properties_of_rows_in_the_file_of_truth_are_no_models() -> None:
    ids = np.arange(ROWS)
    age = DICE.integers(20, 90, ROWS)
    write("labels.csv", pl.DataFrame({"id": ids, "delirium": TRUTH, "age": age}).write_csv())
    for name in ("new", "old"):
        write(f"{name}.csv", pl.DataFrame({"id": ids, "prediction": LABELS}).write_csv())
    result = result_of("report labels.csv new.csv old.csv --join id --truth delirium")
    assert {*measures_by_model(result)} == {"new", "old"}


def test_unknown_metrics_next_to_measures_need_a_direction() -> None:
    rows = "a,.8,.7,.75,.3\nb,.82,.69,.7,.1\nc,.7,.6,.6,.8\n"
    write("t.csv", f"model,accuracy,f1,recall,foo\n{rows}")
    done = program("mlcps", "t.csv", "-q")
    assert done.code == 3
    lines = [line.partition(" -q ")[2] for line in proposals(done.err)]
    assert lines == ["--ignore foo", "--direction foo=max", "--direction foo=min"]

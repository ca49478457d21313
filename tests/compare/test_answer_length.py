"""Answers keep their limits of length; what is worse never falls without a word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clfeval.compare.answer_length import CODE, FINDINGS, UNIMPORTANT, shorten_answer
from clfeval.document import Answer
from clfeval.placeholders import fill_for_shell
from tests.computed import computed
from tests.samples import logistic
from tests.thoroughness import thinned

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
SITES, ROWS = 6, 700


@pytest.fixture(scope="module")
def folder_of_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables of six models and a rule, with six sites, one of which is shifted."""
    folder = tmp_path_factory.mktemp("tables")
    for name, seed in (("new.csv", 1), ("old.csv", 2)):
        random = np.random.default_rng(seed)
        ill = random.random(ROWS) < 0.3
        site = random.integers(SITES, size=ROWS)
        marker = random.normal(size=ROWS) + 1.6 * ill + (0.6 if name == "old.csv" else 0.0) * ill
        columns = {
            "ill": np.where(ill, "yes", "no"),
            "site": [f"s{number}" for number in site],
            "rule": np.where(marker > 1.9, "yes", "no"),
        }
        for number in range(6):
            noise = random.normal(size=ROWS) * (0.3 + 0.35 * number)
            score = marker + noise + 1.5 * ((site == 2) & (number < 3))
            risk = logistic((score - 1.8) * (1.2 if number % 2 else 2.2))
            columns[f"model_{number}"] = [f"{value:.4f}" for value in risk]
        lines = [
            ",".join(columns),
            *(",".join(cells) for cells in zip(*columns.values(), strict=True)),
        ]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


CANCER = "FIXTURES/breast-cancer/scores.csv --positive malignant"
LABELS = "FIXTURES/breast-cancer/labels.csv --positive malignant"
NEW = "TABLES/new.csv --truth ill --positive yes"
METRICS = "FIXTURES/metrics/test.csv"
WITHOUT_OPTIONS = (
    f"report {CANCER}",
    f"report {LABELS}",
    f"report {NEW} --ignore site",
    "report FIXTURES/digits/probabilities.csv",
    f"mars {CANCER}",
    f"mars {LABELS}",
    f"mars {NEW} --ignore site",
    f"phidelta {CANCER}",
    f"phidelta {NEW} --ignore site",
    f"tune-jpt {CANCER}",
    f"tune-jpt {NEW} --ignore site",
    f"mlcps {METRICS}",
    f"mlcps {NEW} --ignore site --from predictions",
    "history FIXTURES/history/weeks.jsonl",
    "batch FIXTURES/suite/suite.yaml --dry-run",
)
BASELINE = "--baseline TABLES/old.csv"
WITH_OPTIONS = (
    f"report {NEW} --by site",
    f"report {NEW} --by site --reference rule",
    f"report {NEW} --by site --reference best",
    f"report {NEW} --by site --reference all-pairs --prevalence 0.02",
    f"report {NEW} --by site --reference rule --prevalence 0.01",
    f"report {NEW} --by site --reference model_5 --prevalence 0.01 {BASELINE}",
    f"report {NEW} --by site --reference rule --prevalence 0.01 {BASELINE} --fail-under auc=.95",
    f"report {NEW} --by site --reference rule --best-threshold sens>=.9 --fail-under roc_auc=.95",
    f"report {NEW} --ignore site {BASELINE} --max-drop roc_auc=.01 --prevalence 0.02",
    f"report {CANCER} --reference svm --best-threshold sens>=.9",
    f"report {CANCER} --best-threshold ppv>=.9 --prevalence 0.05",
    f"mars {NEW} --by site --reference model_5",
    f"mars {LABELS} --reference svm --best 3 --max-effort 100",
    f"mars {NEW} --ignore site --reference rule --best 2",
    f"mars {LABELS} --group trees=tree,forest --fail-under recall=0.99",
    f"phidelta {CANCER} --curve --reference svm --prevalence 1:100",
    f"phidelta {NEW} --by site --reference model_5 --prevalence 0.01",
    f"tune-jpt {NEW} --ignore site --prevalence 0.01..0.1 --reference model_4",
    f"tune-jpt {NEW} --by site --prevalence 0.01 --prevalence 0.3 --fail-under tar=0.99",
    f"tune-jpt {CANCER} --measure cost:fp=1,fn=10 --prevalence 0.01..0.2",
    f"tune-jpt {CANCER} --reference svm --measure ppv --measure npv --prevalence 0.001",
    f"mlcps {NEW} --ignore site --from predictions --reference model_5",
    f"mlcps {METRICS} --compare FIXTURES/metrics/train.csv --fail-under mlcps=3",
)


def _answer(command: str, folder: Path) -> list[dict[str, str]]:
    """Return the answer of a command, without the tables that its output would show."""
    words = command.replace("FIXTURES", str(FIXTURES)).replace("TABLES", str(folder)).split()
    done, result = computed(*words, "--format", "json")
    assert done.code in (0, 1), done.err
    assert result is not None
    return list(result["answer"])


def _words(answer: list[dict[str, str]]) -> int:
    return sum(len(sentence["text"].split()) for sentence in answer)


@pytest.mark.parametrize("command", WITHOUT_OPTIONS)
def test_answers_without_options_have_at_most_90_words(
    command: str, folder_of_tables: Path
) -> None:
    answer = _answer(command, folder_of_tables)
    assert answer
    assert _words(answer) <= 90


@pytest.mark.parametrize("command", thinned(WITH_OPTIONS, WITH_OPTIONS[::2]))
def test_answers_with_options_have_at_most_120_words(command: str, folder_of_tables: Path) -> None:
    answer = _answer(command, folder_of_tables)
    assert _words(answer) <= 120
    names = {name for _, name in FINDINGS.values()}
    for sentence in answer:
        if sentence["code"] == CODE and "tables" in sentence["text"]:
            assert any(name in sentence["text"] for name in names)


def test_every_finding_that_falls_names_a_table_of_the_result(folder_of_tables: Path) -> None:
    command = f"report {NEW} --by site --reference rule --prevalence 0.01"
    words = command.replace("TABLES", str(folder_of_tables)).split()
    done, document = computed(*words, "-f", "json")
    assert document is not None, done.err
    (last,) = (part["text"] for part in document["answer"] if part["code"] == CODE)
    _, _, listed = last.rpartition("tables ")
    names = listed.partition(" (")[0].replace(" and ", ", ").split(", ")
    assert names
    assert {*names} <= {*document["tables"]}


def answer_of(code: str, words: int, *, brief: int = 0, harm: bool = False) -> Answer:
    short = " ".join([code] * brief)
    return Answer(code, " ".join([code] * words), brief=short, harm=harm)


ANSWER = (
    answer_of("best", 20),
    answer_of("slices", 30, brief=15, harm=True),
    answer_of("probabilities", 20, harm=True),
    answer_of("helps", 10),
    answer_of("resolution", 10),
)
# the limit, and the words of each sentence that is kept; a last sentence names what fell
CASES = [
    (90, {"best": 20, "slices": 30, "probabilities": 20, "helps": 10, "resolution": 10}),
    (89, {"best": 20, "slices": 30, "probabilities": 20, "helps": 10}),
    (79, {"best": 20, "slices": 30, "probabilities": 20}),
    (64, {"best": 20, "slices": 15, "probabilities": 20}),
    (62, {"best": 20, "slices": 15, "helps": 10}),  # which fits after a longer one fell
]


@pytest.mark.parametrize(("limit", "kept"), CASES)
@pytest.mark.usefixtures("long_names")
def test_the_least_important_sentence_falls_first(limit: int, kept: dict[str, int]) -> None:
    short = shorten_answer(ANSWER, limit)
    words = {part.code: len(part.text.split()) for part in short}
    reference = words.pop(CODE, 0)
    assert words == kept
    assert bool(reference) == bool({"probabilities", "helps"} - {*kept})
    assert sum(words.values()) + reference <= limit


@pytest.mark.usefixtures("long_names")
def test_a_harm_without_room_is_named_in_the_last_sentence() -> None:
    text = fill_for_shell(shorten_answer(ANSWER, 62)[-1].text)
    assert text == (
        "Also worse: calibration. More results are in table calibration_tests (--show NAME)."
    )


@pytest.mark.usefixtures("long_names")
def test_an_answer_that_is_shortened_again_keeps_what_fell() -> None:
    first = shorten_answer(ANSWER, 64)
    gate = answer_of("gates-missed", 1, harm=True)
    again = shorten_answer((gate, *first), 65)
    assert again[1:] == first
    assert [part.code for part in again[-1].left_out] == ["helps"]


@pytest.mark.parametrize("codes", [FINDINGS, UNIMPORTANT])
@pytest.mark.usefixtures("long_names", "quoted_words")
def test_the_first_sentence_always_stays(codes: tuple[str, ...]) -> None:
    for code in codes:
        (first, *_) = shorten_answer((answer_of(code, 40), answer_of("helps", 40)), 5)
        assert first.code == code


def test_intervals_go_before_a_harm_does() -> None:
    text = "svm has lower sensitivity (-0.1, adjusted 95% CI -0.2 to -0.0, p 0.02)."
    value = "It has PPV 0.1 (95% CI 0.0 to 0.2) and slope (slope 0.5, 95% CI 0.4 to 0.6)."
    parts = (Answer("operating-point", text, harm=True), Answer("slices", value, harm=True))
    assert [part.text for part in shorten_answer((Answer("best", text), *parts), 34)] == [
        text,
        "svm has lower sensitivity (-0.1, p 0.02).",
        "It has PPV 0.1 and slope (slope 0.5).",
    ]

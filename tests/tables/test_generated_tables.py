"""Tables of known meaning: read right at once, or offered with nothing but true readings.

`python -m tests.tables.generated 600` prints the counts and every failure.
"""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Iterable

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from tests.process.runner import Done
from tests.tables.command_check import Command, command_complaints
from tests.tables.generated import GeneratedTable, generate
from tests.tables.model_facts import model_facts, rank_auc, reading_differences
from tests.tables.reading_judge import (
    Tally,
    at_once,
    describe,
    folder_of_files,
    judge,
    judge_offers,
    judge_seed,
    model_names,
    offers_of,
    order_differences,
    run_report,
)
from tests.tables.row_questions import ROW_QUESTIONS
from tests.tables.table_drafts import BASES, Meaning, Model
from tests.tables.tool_tables import TOOLS
from tests.thoroughness import full, thinned

TABLES, CHUNK, GATE_CHUNKS = 600, 10, (3,)
GATE_TOOLS = ("Weka", "submissions", "one-hot", "detections")
GATE_QUESTIONS = ("fine id", "abstentions", "last rows")
MOST_QUESTIONS = 0.05
FLAG_SEEDS = range(24)


@pytest.mark.parametrize("chunk", thinned(range(TABLES // CHUNK), GATE_CHUNKS))
def test_tables_are_right_at_once_or_offered_by_true_readings_only(chunk: int) -> None:
    verdicts = [judge_seed(seed) for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK)]
    failures = [describe(verdict) for verdict in verdicts if verdict.failures]
    assert not failures, "\n".join([*Tally.from_verdicts(verdicts).lines(), *failures])


def assert_all_right(tables: Iterable[GeneratedTable]) -> None:
    """Assert that no table is read wrongly."""
    failures = []
    for table in tables:
        with folder_of_files(table.files, table.heading):
            verdict = judge(table)
        failures += [describe(verdict)] if verdict.failures else []
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("tool", thinned(TOOLS, GATE_TOOLS))
def test_tables_of_a_tool_are_right_at_once_or_offered(tool: str) -> None:
    seeds = range(2000, 2012) if full() else range(2000, 2001)
    assert_all_right(generate(seed, base=tool, extra="none") for seed in seeds)


@pytest.mark.parametrize("question", thinned(ROW_QUESTIONS, GATE_QUESTIONS))
def test_rows_that_leave_a_question_are_asked_about(question: str) -> None:
    base = "score" if question == "reversal" else "labels"
    seeds = range(3000, 3012) if full() else range(3000, 3001)
    tables = (generate(seed, base=base, extra=question) for seed in seeds)
    assert_all_right(table for table in tables if table.traits["coding"] == "same")


def test_a_table_of_a_tool_has_its_header_above_its_rows() -> None:
    table = generate(7, base="Orange")
    with folder_of_files(table.files, table.heading) as folder:
        [path] = [folder / name for name in table.files]
        names, types, parts, *rows = csv.reader(
            path.read_text().splitlines(), delimiter=table.heading.delimiter
        )
    assert names == [*table.files[path.name]]
    assert parts[names.index(table.truth)] == "class"
    assert len(types) == len(names) == len(rows[0])
    assert len(rows) == len(table.accepted[0].truth)


@pytest.mark.slow
def test_clear_tables_are_rarely_asked_about() -> None:
    clear = [table for table in map(generate, range(TABLES)) if table.clear]
    assert len(clear) > 100
    questions = []
    for table in clear:
        with folder_of_files(table.files, table.heading):
            verdict = judge(table)
        if not at_once(verdict):
            questions.append(describe(verdict))
    assert len(questions) <= MOST_QUESTIONS * len(clear), "\n".join(questions)


@pytest.mark.parametrize("seed", FLAG_SEEDS if full() else FLAG_SEEDS[:6])
def test_a_covariate_of_two_values_beside_labels_is_a_model_and_stated(seed: int) -> None:
    table = generate(seed, base="labels", extra="flag")
    flags = [name for name, role in table.roles.items() if role == "possible model"]
    if not flags or [meaning.words for meaning in table.accepted] != ["with the flag"]:
        return  # its values are not those of truth
    with folder_of_files(table.files, table.heading):
        finished = run_report([*table.files, *table.words])
    if finished.code == 0:
        assert flags[0] in model_names(finished)
    else:
        assert flags[0] in finished.err, describe(judge_seed(seed))


@pytest.mark.parametrize("base", thinned(BASES, ("labels", "scores", "probabilities", "joined")))
def test_order_of_rows_changes_no_reading(base: str) -> None:
    rows = 20_000 if full() else 6_000
    extras = ["none", "covariate", "run"] if full() else ["none"]
    for number, extra in enumerate(extras):
        if "joined" in base and extra == "run":
            continue
        table = generate(1000 + number, base=base, extra=extra, rows=rows)
        assert order_differences(table) == []


def test_half_of_the_tables_have_a_listed_name_of_truth() -> None:
    tables = [generate(seed) for seed in range(TABLES // 2)]
    names = {name for table in tables for name in table.roles}
    tables = [table for table in tables if table.traits["base"] in BASES]
    assert 0.45 < np.mean([table.name_listed for table in tables]) < 0.55
    assert len(names) >= 150
    assert len({table.truth for table in tables}) >= 50


def test_a_table_depends_on_its_seed_only() -> None:
    first, second = generate(31), generate(31)
    assert first.files == second.files
    assert first.files != generate(32).files


def test_rank_auc_equals_scikit_learn() -> None:
    dice = np.random.default_rng(3)
    truth, weight = dice.integers(0, 2, 200), dice.integers(1, 5, 200)
    score = np.round(dice.random(200) + 0.2 * truth, 1)
    assert rank_auc(truth, score) == pytest.approx(roc_auc_score(truth, score))
    weighted = roc_auc_score(np.repeat(truth, weight), np.repeat(score, weight))
    assert rank_auc(truth, score, weight) == pytest.approx(weighted)


def test_means_over_runs_are_means_of_each_run() -> None:
    truth, label = np.array([1, 0, 1, 0, 1]), np.array([1, 0, 1, 1, 1])
    model = Model("a", label=label)
    runs = np.array([3, 3, 2, 2, 2])
    meaning = Meaning("mean of runs", truth, (model,), ("0", "1"), runs=runs)
    facts = model_facts(meaning, model)
    assert (facts["tp"], facts["fp"], facts["fn"], facts["tn"]) == (1.5, 0.5, 0, 0.5)
    assert facts["specificity"] == 0.5


def test_commands_are_split_into_files_and_options() -> None:
    line = "clfeval report a.csv b=c.csv -f json -q --truth 'my truth' --ignore 'x*' --positive=-1"
    command = Command.parse(line)
    assert command.files == ["a.csv", "b=c.csv"]
    assert command.value("--truth") == "my truth"
    assert command.value("--positive") == "-1"
    assert command.names("--ignore", ["x1", "y"]) == {"x1"}
    with pytest.raises(ValueError, match="clfeval report"):
        Command.parse("clfeval mars a.csv")


def test_other_numbers_than_those_of_the_options_are_noticed() -> None:
    """A result of other options is no result of these: truth, positive class, rows."""
    tables = (generate(seed, base="labels", extra="none") for seed in range(20))
    table = next(table for table in tables if table.traits["coding"] == "same")
    negative, positive = table.traits["classes"].split("/")
    words = [*table.files, f"--truth={table.truth}", f"--positive={positive}"]
    line = shlex.join(["clfeval", "report", *words])
    with folder_of_files(table.files, table.heading):
        result = run_result(words)
        reversed_result = run_result([*words[:-1], f"--positive={negative}"])
    assert reading_differences(result, table.accepted[0]) == []
    assert command_complaints(table, line, result) == []
    assert reading_differences(reversed_result, table.accepted[0]) != []
    assert command_complaints(table, line, reversed_result) != []
    model = next(name for name, role in table.roles.items() if role == "label")
    assert command_complaints(table, f"{line} --ignore '{model}'", result) != []
    condition = shlex.quote(f"\"{model}\" = '{positive}'")
    assert command_complaints(table, f"{line} --where {condition}", result) != []


def counts_table() -> tuple[GeneratedTable, list[dict[str, str]]]:
    """Return a table of counted labels, and the readings with and without the counts."""
    table = generate(5, base="labels", extra="counts")
    count = next(name for name, role in table.roles.items() if role == "count")
    positive = table.traits["classes"].split("/")[1]
    start = ["clfeval", "report", *table.files, f"--truth={table.truth}", f"--positive={positive}"]
    return table, [
        {
            "meaning": f"each row stands for `{count}` rows",
            "command": shlex.join([*start, f"--weight={count}"]),
        },
        {
            "meaning": f"each row is one row, without the counts of `{count}`",
            "command": shlex.join([*start, f"--ignore={count}"]),
        },
    ]


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        ("none", set()),
        ("silent loss", {"loss not told", "words do not name an option"}),
        ("without the right one", {"right reading not offered"}),
        ("one twice", {"one reading offered twice"}),
        ("five", {"more than four offers", "one reading offered twice"}),
        ("another command", {"offer is no report"}),
        ("no such file", {"offer ends with code 3", "words do not name an option"}),
    ],
)
def test_faults_of_a_list_of_offers_are_noticed(change: str, kinds: set[str]) -> None:
    table, readings = counts_table()
    if change == "silent loss":
        readings = [reading | {"meaning": "rows"} for reading in readings]
    elif change == "without the right one":
        readings = readings[1:]
    elif change == "one twice":
        readings.append(readings[0])
    elif change == "five":
        readings = [readings[0]] * 5
    elif change == "another command":
        readings.append(readings[0] | {"command": "clfeval mars preds.csv"})
    elif change == "no such file":
        readings.append(readings[0] | {"command": "clfeval report absent.csv"})
    refusal = Done(3, "", json.dumps({"readings": readings, "try": None, "exit_code": 3}))
    with folder_of_files(table.files, table.heading):
        verdict = judge_offers(table, refusal, offers_of(refusal))
    assert {kind for kind, _ in verdict.failures} == kinds
    assert verdict.outcome == ("failed" if kinds else "offered")


def run_result(words: list[str]) -> dict[str, object]:
    """Return the result of a report that is accepted."""
    finished = run_report(words)
    assert finished.code == 0, finished.err
    return dict(json.loads(finished.out))

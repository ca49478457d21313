"""Three baselines, one word: a table, a saved result, none yet; and what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clfeval import report
from tests.process.program import clfeval, json_document, piped
from tests.texts import check_text, numbers_in

READ = ("--id", "id", "-q")


def write_table(
    name: str, models: dict[str, Sequence[Any]], ids: Sequence[Any] | None = None
) -> None:
    """Write a table of 100 rows, the first 50 positive."""
    ids = range(100) if ids is None else ids
    lines = [",".join(["id", "truth", *models])]
    for i, key in enumerate(ids):
        lines.append(",".join(map(str, [key, int(i < 50), *(one[i] for one in models.values())])))
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def labels_wrong_in(*wrong: int) -> list[int]:
    """Return labels that are the truth but in these rows."""
    return [int(i < 50) ^ (i in wrong) for i in range(100)]


def compared_with_then(*words: str) -> dict[str, Any]:
    """Return the report on now.csv with then.csv, joined by row, as its baseline."""
    words = (*READ, "-f", "json", "--baseline", "then.csv", *words)
    return json_document(clfeval("report", "now.csv", *words))


def changes(found: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the rows of changes by model and measure."""
    rows = found["tables"]["comparisons"]
    return {(row["model"], row["measure"]): row for row in rows if row["against"] == "baseline"}


def change(found: dict[str, Any], model: str, measure: str) -> dict[str, Any]:
    return changes(found)[model, measure]


def sentence_of(found: dict[str, Any], code: str = "baseline") -> str:
    (text,) = [one["text"] for one in found["answer"] if one["code"] == code]
    return str(text)


def significant(command: str, baseline: str, **options: Any) -> tuple[int, dict[str, Any]]:
    """Hold now.csv to drops that must be significant; return the exit code and the document."""
    run = {"command": command, "input": "now.csv", "id": "id", "baseline": baseline, **options}
    batch = {"version": 1, "runs": {"r": {**run, "significant": True, "save": "r.json"}}}
    Path("s.yaml").write_text(json.dumps(batch), encoding="utf-8")
    code = clfeval("batch", "s.yaml", "-q").code
    return code, json.loads(Path("r.json").read_text(encoding="utf-8"))


def test_a_table_is_joined_row_by_row_and_what_is_newly_wrong_is_listed() -> None:
    write_table("then.csv", {"m": labels_wrong_in(*range(10))})
    write_table("now.csv", {"m": labels_wrong_in(*range(3, 20))})
    found = compared_with_then("--max-drop", "m:accuracy=0.05")
    row = change(found, "m", "accuracy")
    # 10 of 100 wrong then, 17 now; rows 10 to 19 are newly wrong, 0 to 2 newly right
    assert (row["old"]["value"], row["new"]["value"]) == (0.9, 0.83)
    assert row["difference"]["value"] == pytest.approx(-0.07)
    assert row["paired"] is True
    wrong = [one["id"] for one in found["tables"]["baseline_changes"]]
    assert wrong == [str(i) for i in range(10, 20)]
    check_text(
        [sentence_of(found), sentence_of(found, "baseline-rows"), found["answer"][0]["text"]]
    )
    assert {100, 0.5} <= {*numbers_in(sentence_of(found, "baseline-rows"))}
    assert 0.05 < row["p"] < 0.1  # of .07 / sqrt(.1251 / 99) = 1.97 errors, a little more of each
    (gate,) = found["gates"]
    assert (gate["value"], gate["reason"]) == (pytest.approx(0.07), "not_significant")
    assert found["answer"][0]["code"] == "gates-missed"
    # the difference of one row: (newly right - newly wrong) / 100; of its mean of 100 rows the
    # standard error is sqrt(((13 + 1)/100 - .07**2) / 99), far from that of two tables of rows
    width = row["difference"]["high"] - row["difference"]["low"]
    assert width == pytest.approx(2 * 2.06 * np.sqrt((0.14 - 0.0049) / 99), rel=0.05)


def test_models_that_are_renamed_missing_and_in_another_order() -> None:
    write_table(
        "then.csv",
        {"a": labels_wrong_in(1), "b": labels_wrong_in(2, 60), "gone": labels_wrong_in(3, 4, 5)},
    )
    write_table(
        "now.csv",
        {
            "c": labels_wrong_in(2, 60),
            "new": labels_wrong_in(*range(8)),
            "a": labels_wrong_in(1, 70),
        },
    )
    done = clfeval("report", "now.csv", *READ, "-f", "json", "--baseline", "then.csv")
    found = json_document(done)
    assert done.code == 0
    verdicts = {
        model: (row["verdict"], row["difference"]["reason"])
        for (model, name), row in changes(found).items()
        if name == "accuracy"
    }
    assert verdicts == {
        "c": ("undecided", None),
        "new": (None, "not_in_baseline"),
        "a": ("undecided", None),
        "gone": (None, "not_in_both"),
    }
    assert change(found, "a", "accuracy")["difference"]["value"] == pytest.approx(-0.01)
    check_text(one["message"] for one in found["warnings"] if one["code"] != "baseline-rows")
    for model, reason in (("new", "not_in_baseline"), ("gone", "gone")):
        words = ("--baseline", "then.csv", "--max-drop", f"{model}:accuracy=1", "-f", "json")
        missed = clfeval("report", "now.csv", *READ, *words)
        (gate,) = json_document(missed)["gates"]
        assert (missed.code, gate["model"], gate["reason"]) == (1, model, reason)


def test_rows_of_one_of_the_tables_are_left_out_of_paired_changes_and_counted() -> None:
    write_table("then.csv", {"m": labels_wrong_in(*range(10))})
    write_table("now.csv", {"m": labels_wrong_in(*range(20))}, ids=[*range(95), *range(200, 205)])
    found = compared_with_then()
    (note,) = [one["message"] for one in found["warnings"] if one["code"] == "baseline-rows"]
    check_text(note)
    assert {95, 5} <= {*numbers_in(note)}
    row = change(found, "m", "accuracy")
    # of the first 95 rows 10 are wrong then, 20 now
    assert row["old"]["value"] == pytest.approx(85 / 95)
    assert row["difference"]["value"] == pytest.approx(-10 / 95)
    assert 95 in numbers_in(sentence_of(found))


def test_the_line_on_the_rows_describes_all_rows_of_both_tables() -> None:
    """Means of 0 to .99 and of the same with five rows of 1 in place of .95 to .99."""
    scores = [i / 100 for i in range(100)]
    write_table("then.csv", {"m": scores})
    write_table("now.csv", {"m": [*scores[:95], *[1.0] * 5]}, ids=[*range(95), *range(200, 205)])
    found = compared_with_then()
    now = (sum(scores[:95]) + 5) / 100  # .4965, as against .495
    said = sentence_of(found, "baseline-rows")
    check_text(said)
    assert {0.495, round(now, 3)} <= {*numbers_in(said)}


def test_changes_in_pairs_are_those_of_a_report_of_the_joined_tables_to_the_last_digit() -> None:
    rng = np.random.default_rng(3)
    truth = [1] * 50 + [0] * 50
    for name, apart in (("then.csv", 0.4), ("now.csv", 0.3)):
        scores = {m: (apart * np.array(truth) + 0.5 * rng.random(100)).round(3) for m in "mn"}
        write_table(name, scores)
    more = [
        word
        for name in ("calibration_slope", "calibration_in_the_large", "oe_ratio", "mean_score")
        for word in ("--measure", name)
    ]
    joined = clfeval(
        "report",
        "new=now.csv",
        "old=then.csv",
        "--join",
        "id",
        "--reference",
        "old:*",
        "-q",
        "-f",
        "json",
        *more,
    )
    found = changes(compared_with_then())
    known = ("old", "new", "difference", "p", "rows")
    rows = json_document(joined)["tables"]["comparisons"]
    assert len(rows) == 2 * 15
    for row in rows:
        mine = found[row["model"].removeprefix("new:"), row["measure"]]
        assert mine["paired"]
        assert {name: mine[name] for name in known} == {name: row[name] for name in known}
    tested = {name for (_, name), row in found.items() if row["p_adjusted"] is not None}
    assert tested == {row["measure"] for row in rows} - {"mean_score"}


@pytest.mark.parametrize(
    ("now", "then", "shared"),
    [
        (range(20, 120), range(100), 80),
        (range(21, 121), range(100), 79),
        (range(80), range(101), 80),
        (range(60, 160), range(200), 100),
    ],
)
def test_rows_are_compared_in_pairs_where_four_of_five_of_both_tables_are_shared(
    now: range, then: range, shared: int
) -> None:
    for name, ids in (("then.csv", then), ("now.csv", now)):
        lines = [f"{i},{i % 2},{i % 2 if i % 7 else 1 - i % 2}" for i in ids]
        Path(name).write_text("\n".join(["id,truth,m", *lines, ""]), encoding="utf-8")
    found = compared_with_then("--max-drop", "accuracy=0.5")
    paired = shared >= 0.8 * max(len(now), len(then))
    assert change(found, "m", "accuracy")["paired"] == paired
    notes = {one["code"]: one["message"] for one in found["warnings"]}
    assert ("baseline-unpaired" in notes) == (not paired)
    assert shared in numbers_in(sentence_of(found))
    check_text(notes.get("baseline-unpaired", sentence_of(found)))


def test_an_interval_of_a_change_allows_for_the_rows_of_both() -> None:
    # half the rows of both tables are the same and answered alike: Var(new - old) of n rows each is
    # 2 Var / n less 2 (n / 2) Var / n², half of what it is of tables that share none; and a little
    # more, for of the shared rows none differs, which is known of 0 of n only
    right = [0, 1, 1, 1, 1] * 120
    lines = [f"{i},{i % 2},{i % 2 if one else 1 - i % 2}" for i, one in enumerate(right)]
    other = [line.replace(",", "x,", 1) for line in lines]
    tables = {"then.csv": lines[:400], "now.csv": lines[200:], "others.csv": other[200:]}
    for name, rows in tables.items():
        Path(name).write_text("\n".join(["id,truth,m", *rows, ""]), encoding="utf-8")
    widths = []
    for name in ("now.csv", "others.csv"):
        words = ("--baseline", "then.csv", "--max-drop", "accuracy=0.5")
        found = json_document(clfeval("report", name, *READ, "-f", "json", *words))
        difference = change(found, "m", "accuracy")["difference"]
        widths.append(difference["high"] - difference["low"])
    assert widths[0] ** 2 / widths[1] ** 2 == pytest.approx(1 / 2, rel=0.06)


SCORES = np.random.default_rng(7).random(160).round(3)


def overlapping(first: int, rows: int = 100) -> None:
    """Write then.csv of rows 0 to 99, and now.csv of rows from `first` on with other scores."""
    for name, ids, shift in (
        ("then.csv", range(100), 0.0),
        ("now.csv", range(first, first + rows), 0.1),
    ):
        lines = [f"{i},{int(i % 5 < 2)},{SCORES[i] * (1 - shift):.4f}" for i in ids]
        Path(name).write_text("\n".join(["id,truth,m", *lines, ""]), encoding="utf-8")


@pytest.mark.parametrize("first", [0, 10, 50], ids=["all shared", "paired", "half shared"])
def test_a_change_has_one_interval_whether_or_not_a_gate_names_its_measure(first: int) -> None:
    overlapping(first)
    limits = ("kappa", "brier_skill", "mcc")
    named = compared_with_then(*(word for name in limits for word in ("--max-drop", f"{name}=1")))
    assert [gate["passed"] for gate in named["gates"]] == [True] * 3
    assert changes(compared_with_then()) == changes(named)


@pytest.mark.parametrize("first", [10, 50], ids=["paired", "half shared"])
def test_the_changes_of_prevalence_and_mean_score_of_all_rows_allow_for_shared_rows(
    first: int,
) -> None:
    """Of n rows each k are shared: Var(new - old) = (1 - k / n) 2 Var / n, if those are alike."""
    overlapping(first)
    shared = compared_with_then()
    now = Path("now.csv").read_text(encoding="utf-8").replace("\n", "\nx")
    Path("now.csv").write_text(now.removesuffix("x"), encoding="utf-8")
    independent = compared_with_then()
    ratios = []
    for found in (shared, independent):
        (answer,) = [one for one in found["answer"] if one["code"] == "baseline-rows"]
        row = change(found, "m", "prevalence")
        assert answer["value"] == row["difference"]["value"]
        assert (answer["low"], answer["high"]) == (
            row["difference"]["low"],
            row["difference"]["high"],
        )
        ratios.append(answer["high"] - answer["low"])
    assert (ratios[0] / ratios[1]) ** 2 == pytest.approx(first / 100, rel=0.02)


def test_rows_of_the_baseline_alone_count_in_its_mean_score() -> None:
    """All rows now are shared, and ten rows of then, all with a score of 1, are not."""
    for name, ids in (("then.csv", range(100)), ("now.csv", range(90))):
        lines = [f"{i},{i % 2},{SCORES[i] if i < 90 else 1.0}" for i in ids]
        Path(name).write_text("\n".join(["id,truth,m", *lines, ""]), encoding="utf-8")
    then, now = (SCORES[:90].sum() + 10) / 100, SCORES[:90].mean()
    said = {*numbers_in(sentence_of(compared_with_then(), "baseline-rows"))}
    assert {round(float(then), 3), round(float(now), 3)} <= said


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (range(500, 600), READ),
        (range(100), ("--ignore", "id", "-q")),
        (range(100), (*READ, "--interval", "none")),
        (range(100), ()),
    ],
)
def test_rows_that_cannot_be_joined_count_as_others_with_a_warning(
    ids: Sequence[int], words: tuple[str, ...]
) -> None:
    write_table("then.csv", {"m": labels_wrong_in(*range(10))})
    write_table("now.csv", {"m": labels_wrong_in(*range(20))}, ids=ids)
    text, asked = Path("now.csv").read_bytes(), (*words, "-f", "json", "--baseline", "then.csv")
    done = clfeval("report", "now.csv", *asked) if words else piped(text, "report", "-", *asked)
    found = json_document(done)
    (note,) = [one["message"] for one in found["warnings"] if one["code"] == "baseline-unpaired"]
    check_text(note)
    assert not any(row["paired"] for row in changes(found).values())


def test_a_truth_that_changed_is_refused_with_its_row() -> None:
    write_table("then.csv", {"m": labels_wrong_in(1)})
    write_table("now.csv", {"m": labels_wrong_in(2)})
    text = Path("then.csv").read_text().replace("\n7,1,", "\n7,0,")
    Path("then.csv").write_text(text)
    done = clfeval("report", "now.csv", *READ, "--baseline", "then.csv")
    assert (done.code, done.out) == (3, "")
    assert "conflicting-truth" in done.err


@pytest.mark.parametrize("words", ["--positive 0", "--level 0.9", "--threshold 0.3"])
def test_a_result_of_other_settings_is_refused_with_the_one_that_differs(words: str) -> None:
    write_table("then.csv", {"m": [i / 100 for i in range(100)]})
    assert clfeval("report", "then.csv", *READ, *words.split(), "--save", "then.json").code == 0
    done = clfeval("report", "then.csv", *READ, "--baseline", "then.json")
    assert (done.code, done.out, words.split()[0] in done.err) == (2, "", True)
    check_text(done.err)


def test_a_result_of_an_older_schema_is_compared() -> None:
    write_table("then.csv", {"m": labels_wrong_in(1, 2)})
    older = json.loads(report("then.csv", id="id").to_json())
    older["schema"] = "clfeval.result/0"
    del older["answer"]
    Path("older.json").write_text(json.dumps(older))
    words = ("--baseline", "older.json", "--max-drop", "accuracy=0")
    assert clfeval("report", "then.csv", *READ, *words).code == 0


def test_no_baseline_yet_fails_or_is_skipped() -> None:
    missing = ("--baseline", "none.csv", "--max-drop", "recall=0.1", "--fail-under", "a:recall=0")
    done = clfeval("report", "t.csv", *READ, *missing, "--save", "now.json")
    assert done.code == 1
    check_text(done.err)
    assert Path("now.json").exists()
    done = clfeval("report", "t.csv", *READ, *missing, "--baseline-missing", "skip")
    assert done.code == 0
    assert "none.csv" in done.out
    done = clfeval("report", "t.csv", *READ, "--baseline-missing", "skip")
    assert (done.code, "--baseline" in done.err) == (2, True)


def test_thresholds_weights_and_slices_of_both_tables() -> None:
    rng = np.random.default_rng(1)
    scores = rng.random(100).round(3)
    extra = {"site": ["x", "y"] * 50, "w": [1, 2] * 50}
    write_table("then.csv", {"m": scores, "n": scores[::-1], **extra})
    write_table("now.csv", {"m": (scores * 0.9).round(4), "n": scores[::-1], **extra})
    words = ("--by", "site", "--weight", "w", "--threshold", "m=0.4", "--threshold", "0.6")
    done = clfeval(
        "report",
        "now.csv",
        *READ,
        *words,
        "-f",
        "json",
        "--baseline",
        "then.csv",
        "--max-drop",
        "accuracy[site=*]=1",
        "--max-drop",
        "kappa=1",
    )
    found = json_document(done)
    assert done.code == 0, done.err
    assert change(found, "m", "kappa")["paired"]
    assert change(found, "n", "accuracy")["difference"]["value"] == 0
    assert change(found, "m", "roc_auc")["difference"]["value"] == 0  # the order is as it was
    right = [
        (y == (s >= 0.4)) * w
        for y, s, w in zip([1] * 50 + [0] * 50, scores, [1, 2] * 50, strict=True)
    ]
    assert change(found, "m", "accuracy")["old"]["value"] == pytest.approx(sum(right) / 150)


def test_within_a_slice_the_same_rows_are_compared_too() -> None:
    """Of 50 rows 8 are newly wrong, none newly right: -.16 -+ 2.06 sqrt((.18 - .16²) / 49), .116.

    As of other rows the 40 right of then and the 32 of now make -.16 -+ about .17.
    """
    site = {"site": ["x", "y"] * 50}
    write_table("then.csv", {"m": labels_wrong_in(*range(0, 20, 2)), **site})
    write_table("now.csv", {"m": labels_wrong_in(*range(0, 36, 2)), **site})
    told = {"by": "site", "max-drop": {"accuracy[site=*]": 0.1}}
    assert clfeval("report", "then.csv", *READ, "--by", "site", "--save", "then.json").code == 0
    for command in ("report", "mars"):
        code, by_row = significant(command, "then.csv", **told)
        assert (code, [(one["slice"], one["passed"]) for one in by_row["gates"]]) == (
            1,
            [("site=x", False), ("site=y", True)],
        )
    code, saved = significant("report", "then.json", **told)
    assert (code, saved["gates"][0]["reason"]) == (0, "not_significant")
    words = (*READ, "--by", "site", "--baseline", "then.csv", "--fail-under")
    for low, ends in ((-0.30, 0), (-0.26, 1)):
        limit = f"accuracy[site=x].change.low={low}"
        assert clfeval("report", "now.csv", *words, limit).code == ends


def test_what_has_not_moved_may_still_be_lower_by_what_none_of_n_rows_shows() -> None:
    """Of 50 rows of a class none differs: at most 1 - .025**(1/50) of all, .071 (two-sided)."""
    scores = [round(0.3 + 0.4 * (i < 50) + (i * 37 % 100) / 400, 3) for i in range(100)]
    for name in ("then.csv", "now.csv"):
        write_table(name, {"m": scores})
    limit = 1 - 0.025 ** (1 / 50)
    for below, code in ((0.001, 0), (-0.001, 1)):
        words = ("--baseline", "then.csv", "--fail-under", f"roc_auc.change.low={-limit - below}")
        assert clfeval("report", "now.csv", *READ, *words).code == code


@pytest.mark.parametrize("command", ["mars", "phidelta", "mlcps"])
def test_every_command_takes_a_table(command: str) -> None:
    write_table("then.csv", {"m": labels_wrong_in(*range(10)), "n": labels_wrong_in(1, 60, 61)})
    write_table("now.csv", {"m": labels_wrong_in(*range(20)), "n": labels_wrong_in(1, 60, 62)})
    words = ("--from", "predictions") if command == "mlcps" else ()
    done = clfeval(command, "now.csv", *READ, *words, "-f", "json", "--baseline", "then.csv")
    found = json_document(done)
    assert done.code == 0, done.err
    paired = {name for (_, name), row in changes(found).items() if row["paired"]}
    assert ("recall" in paired) == (command == "mars")


def test_a_gate_may_limit_the_change_of_a_measure_of_mars_alone() -> None:
    """Of m's 40 and 30 of 50 positives, 0 of n's: the share only m detects is 1 in both."""
    write_table("then.csv", {"m": labels_wrong_in(*range(10)), "n": [0] * 100})
    write_table("now.csv", {"m": labels_wrong_in(*range(20)), "n": [0] * 100})
    words = ("--baseline", "then.csv", "--max-drop", "m:shine_through=0.1", "-f", "json")
    done = clfeval("mars", "now.csv", *READ, *words)
    assert done.code == 0, done.err
    found = json_document(done)
    assert found["gates"][0]["value"] == 0
    assert change(found, "m", "recall")["paired"]
    assert not change(found, "m", "shine_through")["paired"]


def test_each_model_of_joined_files_is_compared_with_its_namesake() -> None:
    site = {"site": ["x", "y"] * 50}
    write_table("then.csv", {"m": labels_wrong_in(*range(10)), "n": labels_wrong_in(1), **site})
    write_table("now.csv", {"n": labels_wrong_in(1, 2), "m": labels_wrong_in(*range(13)), **site})
    done = clfeval(
        "report",
        "new=now.csv",
        "old=then.csv",
        "--join",
        "id",
        "-q",
        "-f",
        "json",
        "--reference",
        "old:*",
        "--by",
        "site",
        "--measure",
        "accuracy",
    )
    found = json_document(done)
    # of 50 rows each: of m 10 and 12 are newly wrong in x, 11 in y, of n 2 in x
    differences = {
        (row["slice"], row["model"], row["reference"]): row["difference"]["value"]
        for row in found["tables"]["comparisons"]
        if (row["measure"], row["against"]) == ("accuracy", "reference") and row["slice"]
    }
    assert differences == {
        ("site=x", "new:m", "old:m"): pytest.approx(-0.04),
        ("site=x", "new:n", "old:n"): pytest.approx(-0.02),
        ("site=y", "new:m", "old:m"): pytest.approx(-0.02),
        ("site=y", "new:n", "old:n"): 0,
    }
    (text,) = [one["text"] for one in found["answer"] if one["code"] == "within"]
    check_text(text)
    nothing = clfeval("report", "now.csv", *READ, "--by", "site", "--reference", "old:*")
    assert (nothing.code, "old:*" in nothing.err) == (2, True)


def test_measures_that_are_listed_are_no_setting() -> None:
    """A gate adds its measure, which moves no number of another; an alias adds no second row."""
    write_table("then.csv", {"m": labels_wrong_in(*range(10))})
    write_table("now.csv", {"m": labels_wrong_in(*range(17))})
    assert clfeval("report", "then.csv", *READ, "--save", "plain.json").code == 0
    more = ("--measure", "recall", "--measure", "f_beta:beta=2")
    assert clfeval("report", "then.csv", *READ, *more, "--save", "more.json").code == 0
    # the first 50 rows are positive: 10 of them are missed then, 17 now
    for name in ("plain.json", "more.json"):
        done = clfeval(
            "report",
            "now.csv",
            *READ,
            "--baseline",
            name,
            "--max-drop",
            "recall=0.139",
            "-f",
            "json",
        )
        assert done.code == 1, done.err
        found = json_document(done)
        (gate,) = found["gates"]
        assert (gate["metric"], gate["value"]) == ("sensitivity", pytest.approx(40 / 50 - 33 / 50))
        assert not {"recall"} & {row["measure"] for row in found["tables"]["measures"]}
    fine = clfeval(
        "report", "now.csv", *READ, *more, "--baseline", "plain.json", "--max-drop", "recall=0.141"
    )
    assert (fine.code, fine.err) == (0, "")
    lacks = clfeval(
        "report", "now.csv", *READ, "--baseline", "plain.json", "--max-drop", "f_beta:beta=2=0.5"
    )
    assert (lacks.code, "not_in_baseline" in lacks.err) == (1, True)


def test_a_gate_that_was_added_leaves_a_history_comparable() -> None:
    write_table("t.csv", {"m": labels_wrong_in(1)})
    kept = ("--append", "h.jsonl", "--label")
    assert clfeval("report", "t.csv", *READ, *kept, "w1").code == 0
    limit = ("--fail-under", "f_beta:beta=2=0.5")
    assert clfeval("report", "t.csv", *READ, *kept, "w2", *limit).code == 0
    lines = [json.loads(line) for line in Path("h.jsonl").read_text().splitlines()]
    assert lines[0]["settings"] == lines[1]["settings"]
    done = clfeval("report", "t.csv", *READ, *limit, "--baseline", "h.jsonl")
    assert done.code == 0, done.err
    old = Path("h.jsonl").read_text().replace("|level:", "|measures:f1|level:")  # as it was once
    Path("h.jsonl").write_text(old)
    again = clfeval("report", "t.csv", *READ, "--baseline", "h.jsonl")
    assert again.code == 0, again.err


def test_where_prevalence_fell_what_it_does_not_move_is_named_first() -> None:
    # specificity .9 then, .7 now; precision 8 / 9 then, and 160 of 400 now, changes far more
    for name, cells in (("then.csv", (400, 100, 50, 450)), ("now.csv", (160, 40, 240, 560))):
        kinds = zip(("1,1", "1,0", "0,1", "0,0"), cells, strict=True)
        lines = [line for line, n in kinds for _ in range(n)]
        Path(name).write_text("\n".join(["truth,m", *lines, ""]), encoding="utf-8")
    words = ("--kind", "label", "--positive", "1", "--baseline", "then.csv", "-f", "json")
    found = json_document(clfeval("report", "now.csv", *words))
    (said,) = [one for one in found["answer"] if one["code"] == "baseline"]
    assert (said["measure"], said["value"]) == ("specificity", pytest.approx(0.7 - 0.9))
    check_text(said["text"])
    assert {0.7, 0.75, 0.4} <= {*numbers_in(said["text"])}

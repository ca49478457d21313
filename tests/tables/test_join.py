"""One file per model: rows are joined on their ids, whatever their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.api.mars import mars
from clfeval.result import Result, Row
from tests.process.program import clfeval as program
from tests.process.program import piped
from tests.tables.door import MARS, confusion, opened, write
from tests.thoroughness import thinned

NEW = "id,truth,score\na,1,.9\nb,0,.2\nc,1,.4\nd,0,.6\n"
OLD = "truth,id,pred\n0,d,0\n1,c,1\n0,b,1\n1,a,1\n"
# new finds a, calls d too; old finds a and c, calls b too
BOTH = {"new": (1, 1, 1, 1), "old": (2, 1, 0, 1)}
PAIR = ["new=new.csv", "old=old.csv"]


@pytest.fixture(autouse=True)
def _files() -> None:
    write("new.csv", NEW)
    write("old.csv", OLD)


def joined(*tables: str, **options: Any) -> dict[str, tuple[int, int, int, int]]:
    return confusion(mars(list(tables), join="id", **options))


def refused(**options: Any) -> str:
    return str(MARS.refusal(options.pop("tables", PAIR), **{"join": "id", **options}))


def statistic(result: Result) -> str:
    """Return the digest of what was counted, which the order of rows does not change."""
    return next(part for part in result.signature.split("|") if part.startswith("stats:"))


def test_files_of_a_model_each_are_one_table() -> None:
    assert joined(*PAIR) == BOTH
    assert opened(PAIR, join="id").described() == (
        "new.csv + old.csv: 4 ids joined on 'id'; truth 'truth'; labels of 'old'; scores of 'new'"
    )


def test_files_without_a_name_are_called_as_they_are() -> None:
    assert joined("new.csv", "old.csv") == BOTH
    assert joined("one=new.csv", "old.csv") == {"one": BOTH["new"], "old": BOTH["old"]}


def test_a_mapping_names_files_and_frames() -> None:
    frame = pl.read_csv("new.csv")
    for tables in ({"new": frame, "old": "old.csv"}, {"new": frame.to_pandas(), "old": "old.csv"}):
        assert confusion(mars(tables, join="id")) == BOTH


def test_a_file_of_several_models_names_them_with_its_own() -> None:
    write("old.csv", "id,truth,rf,svm\na,1,1,0\nb,0,1,0\nc,1,1,1\nd,0,0,0\n")
    rf, svm = (2, 1, 0, 1), (1, 0, 1, 2)
    assert joined(*PAIR) == {"new": BOTH["new"], "old:rf": rf, "old:svm": svm}
    assert joined("new.csv", "old.csv") == {"score": BOTH["new"], "rf": rf, "svm": svm}
    write("new.csv", NEW.replace("score", "rf"))
    assert joined("new.csv", "old.csv") == {"new:rf": BOTH["new"], "old:rf": rf, "svm": svm}
    assert joined(*PAIR, model=("old:*",)) == {"old:rf": rf, "old:svm": svm}
    assert joined(*PAIR, ignore=("old:svm",)) == {"new": BOTH["new"], "old": rf}


def test_class_probabilities_and_labels_beside_scores_are_one_model() -> None:
    write("new.csv", "id,truth,.pred_0,.pred_1,.pred_class\na,1,.1,.9,1\nb,0,.8,.2,0\n"
          "c,1,.6,.4,0\nd,0,.4,.6,1\n")  # fmt: skip
    assert joined(*PAIR) == BOTH
    write("new.csv", "id,truth,y_pred,y_prob\na,1,1,.9\nb,0,0,.2\nc,1,0,.4\nd,0,1,.6\n")
    assert joined(*PAIR) == BOTH


def test_percentages_and_decimal_commas_are_read_as_in_one_table() -> None:
    write("new.csv", "id,truth,score\na,1,90%\nb,0,20%\nc,1,40%\nd,0,60%\n")
    assert joined(*PAIR) == BOTH
    write("new.csv", 'id,truth,score\na,1,"0,9"\nb,0,"0,2"\nc,1,"0,4"\nd,0,"0,6"\n')
    assert joined(*PAIR, decimal=",") == BOTH


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "ndjson", "csv.gz"])
def test_any_format_joins_any_other(suffix: str) -> None:
    import gzip

    frame = pl.read_csv("new.csv")
    if suffix == "csv.gz":
        write(f"new.{suffix}", gzip.compress(NEW.encode()))
    else:
        writer = {"arrow": "write_ipc"}.get(suffix, f"write_{suffix}")
        getattr(frame, writer)(f"new.{suffix}")
    assert joined(f"new.{suffix}", "old.csv") == BOTH


@pytest.mark.parametrize(
    ("ids", "others"),
    [
        ([1, 2, 3, 4], ["4", "3", "2", "1"]),
        ([1.0, 2.0, 3.0, 4.0], [4, 3, 2, 1]),
        (["x1", "x2", "x3", "x 4"], ["x 4", "x3", "x2", "x1"]),
        ([2**62, 2**62 + 1, 5, 4], [str(4), "5", str(2**62 + 1), str(2**62)]),
    ],
)
def test_ids_of_numbers_and_texts_that_are_alike_join(ids: list[Any], others: list[Any]) -> None:
    new = pl.read_csv("new.csv").with_columns(pl.Series("id", ids))
    old = pl.read_csv("old.csv").with_columns(pl.Series("id", others))
    assert confusion(mars({"new": new, "old": old}, join="id")) == BOTH


COMMANDS: dict[str, Callable[..., Result]] = {
    "mars": lambda table, **more: clfeval.mars(table, **more),
    "phidelta": lambda table, **more: clfeval.phidelta(table, **more),
    "tune-jpt": lambda table, **more: clfeval.tune_jpt(table, prevalence=0.1, **more),
    "report": lambda table, **more: clfeval.report(table, reference="old", **more),
    "mlcps": lambda table, **more: clfeval.mlcps(table, source="predictions", **more),
}


def tables_of(rows: int = 200) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return a wide table, and the same as two files in other orders, made by arithmetic."""
    i = pl.arange(rows, eager=True)
    wide = pl.DataFrame(
        {
            "id": i,
            "truth": (i * 7 % 5 < 2).cast(pl.Int8),
            "site": pl.select(pl.when(i % 3 == 0).then(pl.lit("A")).otherwise(pl.lit("B")))
            .to_series(),
            "n": 1 + i % 2,
            "patient": i // 4,
            "new": (i * 37 % 101) / 101,
            "old": (i * 53 % 97) / 97,
        }
    )  # fmt: skip
    new = wide.drop("old").rename({"new": "score"}).reverse()
    old = wide.drop("new", "site", "n").rename({"old": "p"}).sort((i * 61) % rows)
    return wide, new, old


WAYS: list[dict[str, str]] = [{}, {"by": "site"}, {"weight": "n"}, {"cluster": "patient"}]


@pytest.mark.parametrize(
    ("command", "more"),
    thinned(
        product(COMMANDS, WAYS), [(name, WAYS[i % len(WAYS)]) for i, name in enumerate(COMMANDS)]
    ),
)
def test_a_join_says_what_the_same_wide_table_says(command: str, more: dict[str, str]) -> None:
    if command == "mlcps":  # which takes weights of rows only
        more = {"weight": "n"} if "weight" in more else {}
    wide, new, old = tables_of()
    ask = COMMANDS[command]
    left = [name for name in ("site", "n", "patient") if name not in more.values()]
    one = ask(wide.drop(left), id="id", **more)
    two = ask(
        {"new": new.drop(left), "old": old.drop(name for name in left if name in old.columns)},
        join="id", **more,
    )  # fmt: skip
    assert dict(two.tables) == dict(one.tables)
    assert two.summary == one.summary
    assert statistic(two) == statistic(one)


def test_neither_the_order_of_rows_nor_that_of_files_matters() -> None:
    _, new, old = tables_of()
    new, old = new.drop("site", "n", "patient"), old.drop("patient")
    first, *others = (
        mars(tables, join="id", list="found")
        for tables in (
            {"new": new, "old": old},
            {"new": new.sort("score"), "old": old.sort("id")},
            {"old": old.reverse(), "new": new},
        )
    )
    for again in others:
        assert statistic(again) == statistic(first)
        for name in ("models", "exclusive"):
            assert in_order(again.tables[name]) == in_order(first.tables[name])


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Return rows by model, where files came in another order."""
    return sorted(
        ({k: v for k, v in row.items() if k != "file"} for row in rows),
        key=lambda row: str(row["model"]),
    )


def test_several_files_need_not_be_two() -> None:
    write("third.csv", "id,truth,p\nd,0,1\nc,1,0\nb,0,0\na,1,1\n")
    assert joined(*PAIR, "third.csv") == {**BOTH, "third": (1, 1, 1, 1)}


def test_ids_that_a_file_lacks_are_counted_on_both_sides() -> None:
    write("old.csv", "truth,id,pred\n0,x,0\n1,c,1\n0,y,1\n1,a,1\n0,z,0\n")
    assert refused() == (
        "new.csv:3: column 'id': 'b' and 1 more of 4 ids, are not among the 5 of old.csv "
        "[unequal-ids]\n"
        "old.csv:2: column 'id': 'x' and 2 more of 5 ids, are not among the 4 of new.csv "
        "[unequal-ids]\n"
        "hint: --missing drop leaves out the ids that some file lacks, and says how many"
    )
    result = mars(PAIR, join="id", missing="drop")
    assert confusion(result) == {"new": (1, 0, 1, 0), "old": (2, 0, 0, 0)}
    assert [(file.rows, file.dropped) for file in result.inputs] == [(2, 5), (0, 0)]
    assert [one.message for one in result.warnings if one.code == "dropped"] == [
        "5 rows without an id, or with one that some file lacks, were left out"
    ]
    assert "2 ids joined on 'id', 5 left out that some file lacks" in opened(
        PAIR, join="id", missing="drop"
    ).described()  # fmt: skip


def test_ids_that_are_in_no_other_file_are_no_join() -> None:
    write("old.csv", "truth,id,pred\n0,x,0\n1,y,1\n")
    for missing in ("error", "drop"):
        said = refused(missing=missing)
        assert "new.csv:2: column 'id': 'a' and 3 more of 4 ids, are not among the 2" in said
        assert said.endswith("hint: no id is in all files: is 'id' the column of ids in each?")


def test_an_id_written_otherwise_is_another_id() -> None:
    write("new.csv", "id,truth,score\n01,1,.9\n2,0,.2\n")
    write("old.csv", "id,truth,pred\n1,1,1\n2,0,0\n")
    hint = "hint: ids are compared as they are written, and '01' is not the '1' of old.csv:2: "
    said = refused()
    assert "new.csv:2: column 'id': '01', one of 2 ids, is not among the 2 of old.csv" in said
    assert hint + "write them alike in all files" in said
    typed = pl.DataFrame({"id": [1, 2], "truth": [1, 0], "p": [1, 0]})
    said = refused(tables={"new": "new.csv", "typed": typed})
    assert "'01' is not the '1' of <typed>:1: write them alike in all files" in said


def test_repeated_ids_are_named_in_both_files() -> None:
    write("new.csv", NEW + "a,1,.3\n")
    write("old.csv", OLD.replace("0,b", "0,d"))
    assert refused() == (
        "new.csv:6: column 'id': 'a' stands in new.csv:2 already [duplicate-id]\n"
        "old.csv:4: column 'id': 'd' stands in old.csv:2 already [duplicate-id]\n"
        "hint: an id names one row of each file"
    )


def test_another_truth_of_an_id_is_refused() -> None:
    write("old.csv", OLD.replace("0,b", "1,b"))
    assert refused() == (
        "old.csv:4: column 'truth': '1' for id 'b', and '0' in new.csv:3 [conflicting-truth]\n"
        "hint: 1 of 4 ids have another truth: mend the file that is wrong"
    )


def test_an_id_of_two_truths_counts_once() -> None:
    write("old.csv", OLD.replace("0,b", "1,b"))
    write("third.csv", OLD.replace("0,b", "1,b"))
    said = refused(tables=[*PAIR, "third.csv"])
    assert "third.csv:4: column 'truth': '1' for id 'b', and '0' in new.csv:3" in said
    assert said.endswith("hint: 1 of 4 ids have another truth: mend the file that is wrong")


def test_a_truth_that_is_spelt_otherwise_is_told_to_be() -> None:
    old = pl.read_csv("old.csv").with_columns(pl.col("truth").cast(pl.Boolean))
    said = refused(tables={"new": "new.csv", "old": old})
    assert "<old>:2: column 'truth': 'true' for id 'c', and '1' in new.csv:4" in said
    assert said.endswith("hint: no id has the same truth: is it written alike in all files?")


def test_a_truth_that_one_file_lacks_is_missing() -> None:
    write("old.csv", OLD.replace("0,b", ",b"))
    assert "old.csv:4: column 'truth': missing for id 'b', and '0' in new.csv:3" in refused()
    assert joined(*PAIR, missing="drop") == {"new": (1, 1, 1, 0), "old": (2, 0, 0, 1)}


def test_rows_without_an_id_are_named_or_left_out() -> None:
    write("old.csv", OLD + "1,,1\n")
    assert "old.csv:6: column 'id': missing [missing-value]" in refused()
    assert joined(*PAIR, missing="drop") == BOTH
    assert (
        "joined on 'id', rows without an id left out: 1; truth"
        in opened(PAIR, join="id", missing="drop").described()
    )


def test_slices_may_stand_in_any_file_and_agree() -> None:
    write("old.csv", "id,truth,site,pred\na,1,A,1\nb,0,B,1\nc,1,B,1\nd,0,A,0\n")
    result = mars(PAIR, join="id", by="site")
    sliced = {(row["model"], row["slice"]): row["tp"] for row in result.tables["models"]}
    assert sliced["new", "site=A"] == 1
    assert sliced["new", "site=B"] == 0
    assert sliced["old", "site=B"] == 1
    write("new.csv", "id,truth,site,score\na,1,A,.9\nb,0,B,.2\nc,1,A,.4\nd,0,A,.6\n")
    assert refused(by="site") == (
        "old.csv:4: column 'site': 'B' for id 'c', and 'A' in new.csv:4 [conflicting-value]\n"
        "hint: slices, weights and clusters belong to the id: they are the same in all files that "
        "have them"
    )
    assert "no column 'town'" in refused(by="town")


def test_bad_cells_are_named_where_they_stand() -> None:
    write("new.csv", NEW.replace(".4", "x").replace("b,0,.2", "b,0,"))
    assert refused() == (
        "new.csv:3: column 'score': missing [missing-value]\n"
        "new.csv:4: column 'score': 'x' is not a number [bad-number]\n"
        "hint: fill the cells, or add --missing drop to leave such rows out"
    )
    write("new.csv", NEW)
    write("old.csv", OLD.replace("1,c,1", "1,c,maybe"))
    assert "old.csv:3: column 'pred': 'maybe' is not among truth's labels '0', '1'" in refused()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (OLD + "1,e\n", "old.csv:6: "),
        (OLD + "1,e,1,1\n", "old.csv:6: 4 fields where the header has 3 [long-row]"),
        (OLD.replace("id", "key"), "old.csv: no column 'id'; columns: 'truth', 'key', 'pred'"),
        (OLD.replace("truth", "what"), "old.csv: no truth column"),
        ("id,model,prediction,truth\na,m,1,1\n", "old.csv: a long table, and --join takes"),
        ("truth,id\n1,a\n", "new.csv:3: column 'id': 'b' and 2 more of 4 ids, are not among"),
        ("", "old.csv: the file is empty (0 bytes)"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_of_it(content: str, said: str) -> None:
    write("old.csv", content)
    assert refused().startswith(said)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tables": ["new=new.csv"]}, "--join joins several files, and there is one"),
        ({"tables": PAIR, "id": "truth"}, "--join 'id' and --id 'truth' both name the rows"),
        ({"tables": ["m=new.csv", "m=old.csv"]}, "two files are called 'm'"),
        ({"tables": PAIR, "layout": "long"}, "--join is for files of a row for each id"),
        ({"tables": PAIR, "join": None}, "'new', 'old': files with a name are joined"),
        ({"tables": {"new": "new.csv"}, "join": None}, "'new': files with a name are joined"),
        ({"tables": ["new=gone.csv", "old.csv"]}, "gone.csv: no such file"),
    ],
)
def test_what_cannot_be_joined_is_refused(options: dict[str, Any], said: str) -> None:
    assert said in refused(**options)


def test_a_file_that_is_there_under_the_whole_name_wins() -> None:
    write("a=new.csv", NEW)
    write("b=c.csv", OLD)
    assert joined("a=new.csv", "old=b=c.csv") == {"a=new": BOTH["new"], "old": BOTH["old"]}


def test_names_that_two_would_have_are_refused() -> None:
    write("old.csv", "id,truth,rf,svm\na,1,1,0\nb,0,1,0\nc,1,1,1\nd,0,0,0\n")
    write("c.csv", "id,truth,old:rf,p\na,1,1,0\nb,0,1,0\nc,1,1,1\nd,0,0,0\n")
    assert "two models would be called 'old:rf'" in refused(tables=["old=old.csv", "c.csv"])
    write("new.csv", "id,truth,rf,rf:x\na,1,1,0\nb,0,1,0\nc,1,1,1\nd,0,0,0\n")
    write("c.csv", "id,truth,old:rf\na,1,1\nb,0,1\nc,1,1\nd,0,0\n")
    said = refused(tables=["new=new.csv", "old=old.csv", "c=c.csv"])
    assert "two columns would be called 'old:rf'" in said
    assert "of 'rf', 'old:rf' two are one column of old.csv" in refused(by=("rf", "old:rf"))


def test_a_column_nobody_asked_for_is_asked_about_by_its_name() -> None:
    write("old.csv", "id,truth,patient,pred\na,1,x,1\nb,0,x,1\nc,1,y,1\nd,0,y,0\n")
    said = refused()
    assert "old.csv: column 'patient': no value is one of truth's labels '0', '1'" in said
    assert "--cluster 'patient'" in said
    assert joined(*PAIR, cluster="patient") == BOTH


def test_model_names_may_be_awkward() -> None:
    named = {"new model, ä": "new.csv", "--old:b=2": "old.csv"}
    assert confusion(mars(named, join="id")) == dict(zip(named, BOTH.values(), strict=True))
    assert joined("new model, ä=new.csv", "x=old.csv")["new model, ä"] == BOTH["new"]


def test_a_shell_joins_and_says_so() -> None:
    done = program("mars", *PAIR, "--join", "id", "-f", "json", "--fail-under", "old:recall=.9")
    assert done.code == 0, done.err
    assert done.err.startswith("new.csv + old.csv: 4 ids joined on 'id'; truth 'truth'")
    from_pipe = piped(NEW.encode(), "mars", "new=-", "old=old.csv", "--join", "id", "-q")
    assert from_pipe.code == 0, from_pipe.err
    dry = program("report", *PAIR, "--join", "id", "--dry-run")
    assert "score   scores of 'new'  its values are numbers" in dry.out
    write("old.csv", OLD.replace("0,b", "0,e"))
    missing = program("report", *PAIR, "--join", "id")
    assert missing.code == 3
    assert "hint: --missing drop leaves out the ids that some file lacks" in missing.err
    assert "try:" not in missing.err  # what is proposed deletes no rows
    assert program("report", *PAIR, "--join", "id", "--missing", "drop").code == 0


def test_a_result_is_not_saved_over_a_joined_file() -> None:
    done = program("mars", *PAIR, "--join", "id", "--save", "new.csv")
    assert done.code == 2
    assert (pl.read_csv("new.csv").columns) == ["id", "truth", "score"]

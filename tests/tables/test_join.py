"""One file per model: rows are joined on their ids, whatever their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.api.commands import mars
from clfeval.api.result import Result
from clfeval.document.cells import Row
from tests.process.program import clfeval as program
from tests.process.program import piped
from tests.results import rows_by, warning_messages
from tests.tables.door import MARS, confusion, opened, spots, write
from tests.texts import check_text, numbers_in
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


def refused(*, kept: bool = True, **options: Any) -> str:
    error = MARS.refusal(options.pop("tables", PAIR), **{"join": "id", **options})
    if kept:
        check_text(str(error))
    return spots(error)


def statistic(result: Result) -> str:
    """Return the digest of what was counted, which the order of rows does not change."""
    return next(part for part in result.signature.split("|") if part.startswith("stats:"))


def test_files_of_a_model_each_are_one_table() -> None:
    assert joined(*PAIR) == BOTH
    check_text(opened(PAIR, join="id").described())


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


def test_class_probabilities_and_labels_with_scores_are_one_model() -> None:
    write(
        "new.csv",
        "id,truth,.pred_0,.pred_1,.pred_class\na,1,.1,.9,1\nb,0,.8,.2,0\n"
        "c,1,.6,.4,0\nd,0,.4,.6,1\n",
    )
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
            "site": pl.select(
                pl.when(i % 3 == 0).then(pl.lit("A")).otherwise(pl.lit("B"))
            ).to_series(),
            "n": 1 + i % 2,
            "patient": i // 4,
            "new": (i * 37 % 101) / 101,
            "old": (i * 53 % 97) / 97,
        }
    )
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
        join="id",
        **more,
    )
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
    assert refused() == "new.csv:3:id unequal-ids, old.csv:2:id unequal-ids"
    result = mars(PAIR, join="id", missing="drop")
    assert confusion(result) == {"new": (1, 0, 1, 0), "old": (2, 0, 0, 0)}
    assert [(file.rows, file.dropped) for file in result.inputs] == [(2, 5), (0, 0)]
    (note,) = warning_messages(result, "dropped")
    assert numbers_in(note) == [5]
    check_text(opened(PAIR, join="id", missing="drop").described())


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_ids_that_are_in_no_other_file_are_no_join(missing: str) -> None:
    write("old.csv", "truth,id,pred\n0,x,0\n1,y,1\n")
    assert refused(missing=missing) == "new.csv:2:id unequal-ids, old.csv:2:id unequal-ids"


def test_an_id_written_otherwise_is_another_id() -> None:
    write("new.csv", "id,truth,score\n01,1,.9\n2,0,.2\n")
    write("old.csv", "id,truth,pred\n1,1,1\n2,0,0\n")
    assert refused() == "new.csv:2:id unequal-ids, old.csv:2:id unequal-ids"
    typed = pl.DataFrame({"id": [1, 2], "truth": [1, 0], "p": [1, 0]})
    said = refused(tables={"new": "new.csv", "typed": typed})
    assert said == "new.csv:2:id unequal-ids, <typed>:1:id unequal-ids"


BOOLEANS = pl.DataFrame({"id": list("dcba"), "truth": [False, True, False, True], "pred": [0] * 4})
ODD_TRUTH = OLD.replace("0,b", "1,b")
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "ids twice": (
        OLD.replace("0,b", "0,d"),
        {"tables": ["new=twice.csv", "old=old.csv"]},
        "twice.csv:6:id duplicate-id, old.csv:4:id duplicate-id",
    ),
    "another truth": (ODD_TRUTH, {}, "old.csv:4:truth conflicting-truth"),
    "an id of two truths": (
        OLD,
        {"tables": [*PAIR, "odd.csv"]},
        "odd.csv:4:truth conflicting-truth",
    ),
    "no truth": (OLD.replace("0,b", ",b"), {}, "old.csv:4:truth missing-value"),
    "no id": (OLD + "1,,1\n", {}, "old.csv:6:id missing-value"),
    "no label": (OLD.replace("1,c,1", "1,c,maybe"), {}, "old.csv:3:pred unknown-label"),
    "a short row": (OLD + "1,e\n", {}, "old.csv:6:pred short-row"),
    "a long row": (OLD + "1,e,1,1\n", {}, "old.csv:6 long-row"),
    "no such id": (OLD.replace("id", "key"), {}, "old.csv unknown-column"),
    "no truth column": (
        OLD.replace("truth", "what"),
        {},
        "old.csv no-truth, new.csv:truth which-role",
    ),
    "a long table": ("id,model,prediction,truth\na,m,1,1\n", {}, "old.csv wrong-layout"),
    "truth alone": ("truth,id\n1,a\n", {}, "new.csv:3:id unequal-ids"),
    "nothing": ("", {}, "old.csv empty-table"),
    "no slice": (OLD, {"by": "town"}, "new.csv + old.csv unknown-column"),
    "one file": (OLD, {"tables": ["new=new.csv"]}, "bad-option"),
    "join and id": (OLD, {"id": "truth"}, "bad-option"),
    "one name twice": (OLD, {"tables": ["m=new.csv", "m=old.csv"]}, "bad-option"),
    "layout": (OLD, {"layout": "long"}, "bad-option"),
    "names without join": (OLD, {"join": None}, "bad-option"),
    "a name without join": (OLD, {"tables": {"new": "new.csv"}, "join": None}, "bad-option"),
    "no such file": (OLD, {"tables": ["new=gone.csv", "old.csv"]}, "gone.csv no-such-file"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_joined_is_refused(case: str) -> None:
    content, options, expected = REFUSED[case]
    write("old.csv", content)
    write("twice.csv", NEW + "a,1,.3\n")
    write("odd.csv", ODD_TRUTH)
    assert refused(**options) == expected


def test_a_truth_that_is_spelt_otherwise_is_refused() -> None:
    expected = [f"<old>:{row}:truth conflicting-truth" for row in range(1, 5)]
    assert refused(tables={"new": "new.csv", "old": BOOLEANS}) == ", ".join(expected)


def test_rows_without_a_truth_or_an_id_can_be_dropped() -> None:
    write("old.csv", OLD.replace("0,b", ",b"))
    assert joined(*PAIR, missing="drop") == {"new": (1, 1, 1, 0), "old": (2, 0, 0, 1)}
    write("old.csv", OLD + "1,,1\n")
    assert joined(*PAIR, missing="drop") == BOTH
    check_text(opened(PAIR, join="id", missing="drop").described())


def test_slices_may_stand_in_any_file_and_agree() -> None:
    write("old.csv", "id,truth,site,pred\na,1,A,1\nb,0,B,1\nc,1,B,1\nd,0,A,0\n")
    result = mars(PAIR, join="id", by="site")
    sliced = rows_by(result, "models", "model", "slice")
    assert sliced["new", "site=A"]["tp"] == 1
    assert sliced["new", "site=B"]["tp"] == 0
    assert sliced["old", "site=B"]["tp"] == 1
    write("new.csv", "id,truth,site,score\na,1,A,.9\nb,0,B,.2\nc,1,A,.4\nd,0,A,.6\n")
    assert refused(by="site") == "old.csv:4:site conflicting-value"


@pytest.mark.parametrize("files", [("truth.csv", *PAIR), ("new=new.csv", "old=lean.csv")])
@pytest.mark.parametrize("truth", [None, "ill"])
def test_one_file_may_give_truth_slices_and_clusters(
    files: tuple[str, ...], truth: str | None
) -> None:
    """A file of truth, sites and patients, or one of them with a model, beside scores alone."""
    name = truth or "truth"
    about = f"id,{name},site,patient\na,1,x,p\nb,0,x,q\nc,?,y,r\nd,0,y,s\ne,1,y,s\n"
    write("truth.csv", about)
    scores = ("score", ".9", ".2", ".4", ".6", ".1")
    lines = zip(about.split(), scores, strict=True)
    own = files[0] == "truth.csv"
    write(
        "new.csv",
        "".join(f"{line.split(',')[0] if own else line},{score}\n" for line, score in lines),
    )
    for file in ("old.csv", "lean.csv"):
        write(file, "id,pred\na,1\nb,1\nc,1\nd,0\ne,0\n")
    found = mars(
        list(files),
        join="id",
        by=("site",),
        cluster="patient",
        null_value=("?",),
        missing="drop",
        positive="1",
        truth=truth,
    )
    # c has no truth; new finds a and flags d, old finds a and flags b; both miss e
    assert confusion(found) == {"new": (1, 1, 1, 1), "old": (1, 1, 1, 1)}
    assert [row["slice"] for row in found.tables["slices"]] == ["site=x", "site=y"]
    assert found.summary["clusters"] == 3


def test_bad_cells_are_named_where_they_stand() -> None:
    write("new.csv", NEW.replace(".4", "x").replace("b,0,.2", "b,0,"))
    expected = "new.csv:3:score missing-value, new.csv:4:score bad-number"
    assert refused(kept=False) == expected


def test_a_file_that_is_there_under_the_whole_name_wins() -> None:
    write("a=new.csv", NEW)
    write("b=c.csv", OLD)
    assert joined("a=new.csv", "old=b=c.csv") == {"a=new": BOTH["new"], "old": BOTH["old"]}


def test_names_that_two_would_have_are_refused() -> None:
    write("old.csv", "id,truth,rf,svm\na,1,1,0\nb,0,1,0\nc,1,1,1\nd,0,0,0\n")
    write("c.csv", "id,truth,old:rf,p\na,1,1,0\nb,0,1,0\nc,1,1,1\nd,0,0,0\n")
    refused(tables=["old=old.csv", "c.csv"])
    write("new.csv", "id,truth,rf,rf:x\na,1,1,0\nb,0,1,0\nc,1,1,1\nd,0,0,0\n")
    write("c.csv", "id,truth,old:rf\na,1,1\nb,0,1\nc,1,1\nd,0,0\n")
    refused(tables=["new=new.csv", "old=old.csv", "c=c.csv"])
    refused(by=("rf", "old:rf"))


def test_texts_of_no_class_are_no_models_of_a_joined_file() -> None:
    write("old.csv", "id,truth,patient,pred\na,1,x,1\nb,0,x,1\nc,1,y,1\nd,0,y,0\n")
    assert joined(*PAIR) == joined(*PAIR, cluster="patient") == BOTH


def test_model_names_may_be_awkward() -> None:
    named = {"new model, ä": "new.csv", "--old:b=2": "old.csv"}
    assert confusion(mars(named, join="id")) == dict(zip(named, BOTH.values(), strict=True))
    assert joined("new model, ä=new.csv", "x=old.csv")["new model, ä"] == BOTH["new"]


def test_a_shell_joins_and_says_so() -> None:
    done = program("mars", *PAIR, "--join", "id", "-f", "json", "--fail-under", "old:recall=.9")
    assert done.code == 0, done.err
    check_text(done.err)
    from_pipe = piped(NEW.encode(), "mars", "new=-", "old=old.csv", "--join", "id", "-q")
    assert from_pipe.code == 0, from_pipe.err
    dry = program("report", *PAIR, "--join", "id", "--dry-run")
    check_text(dry.out)
    write("old.csv", OLD.replace("0,b", "0,e"))
    missing = program("report", *PAIR, "--join", "id")
    assert missing.code == 3
    assert "--missing drop" in missing.err
    assert "try:" not in missing.err  # what is proposed deletes no rows
    assert program("report", *PAIR, "--join", "id", "--missing", "drop").code == 0


def test_a_result_is_not_saved_over_a_joined_file() -> None:
    done = program("mars", *PAIR, "--join", "id", "--save", "new.csv")
    assert done.code == 2
    assert (pl.read_csv("new.csv").columns) == ["id", "truth", "score"]

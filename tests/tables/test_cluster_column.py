"""--cluster: a column that is no model, has a value in every row, and is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from clfeval.api.commands import mars, phidelta, tune_jpt
from clfeval.api.mlcps import mlcps
from clfeval.errors import UsageError
from tests.results import row_of, warning_codes, warning_messages
from tests.tables.door import mars_confusion, places, refusal, told, write
from tests.texts import check_text

WIDE = "id,patient,truth,a\n1,x,1,1\n2,x,0,0\n3,y,1,0\n4,z,0,1\n"
LONG = (
    "id,patient,model,prediction,truth\n1,x,a,1,1\n2,x,a,0,0\n3,y,a,0,1\n4,z,a,1,0\n"
    "1,x,b,1,1\n2,x,b,0,0\n3,y,b,0,1\n4,z,b,1,0\n"
)
SCORES = "patient,truth,rf:1,rf:0\nx,1,.9,.1\nx,0,.2,.8\ny,1,.4,.6\nz,0,.7,.3\n"


def test_it_is_no_model_in_any_layout() -> None:
    assert mars_confusion(write("w.csv", WIDE), cluster="patient") == {"a": (1, 1, 1, 1)}
    assert mars_confusion(write("l.csv", LONG), cluster="patient")["b"] == (1, 1, 1, 1)
    assert mars_confusion(write("p.csv", SCORES), cluster="patient") == {"rf": (1, 1, 1, 1)}
    # an id that repeats names clusters, and no rows
    assert mars_confusion(write("r.csv", "id,truth,a\n1,1,1\n1,0,0\n2,1,1\n"), cluster="id") == {
        "a": (2, 0, 0, 1)
    }


def test_the_result_names_it() -> None:
    found = mars(write("w.csv", WIDE), cluster="patient")
    assert found.summary["clusters"] == 3
    assert found.parameters["cluster"] == "patient"
    assert "|cluster:patient|" in found.signature
    plain = mars(write("v.csv", "truth,a\n1,1\n0,0\n"))
    check_text(str(one.parameters["independence"]) for one in (found, plain))
    assert "clusters" not in plain.summary
    assert "cluster" not in plain.signature


def test_a_row_of_no_cluster() -> None:
    content = WIDE.replace("3,y", "3,")
    assert told(content, cluster="patient") == "4:patient missing-value"
    assert places(content, cluster="patient", missing="drop") == "4:patient missing-value"
    # a row that is left out needs none
    gone = content.replace("3,,1,0", "3,,1,")
    assert mars_confusion(write("g.csv", gone), cluster="patient", missing="drop") == {
        "a": (1, 1, 0, 1)
    }
    frame = pl.DataFrame({"patient": [1.0, None], "truth": [1, 0], "a": [1, 0]})
    assert places(frame, cluster="patient") == "2:patient missing-value"


def test_rows_of_one_observation_are_of_one_cluster() -> None:
    another, none = LONG.replace("4,z,b", "4,x,b"), LONG.replace("z", "")
    assert "conflicting-value" in places(another, cluster="patient")
    assert "patient missing-value" in places(none, cluster="patient")


def test_a_dry_run_names_its_role() -> None:
    result = mars(write("w.csv", WIDE), cluster="patient", dry_run=True)
    patient = row_of(result, "reading", column="patient")
    assert (patient["taken"], patient["why"]) == ("cluster", "cluster")
    assert row_of(result, "reading", column="id")["taken"] == "id"
    assert row_of(result, "plan", what="clusters")["value"] == "3"
    # called like an id, and without a value twice
    alone = write("i.csv", "case_id,truth,a\n1,1,1\n2,0,0\n3,1,1\n")
    result = mars(alone, cluster="case_id", dry_run=True)
    assert row_of(result, "reading", column="case_id")["taken"] == "cluster"


def test_weights_that_are_fractions_add_up_in_clusters() -> None:
    table = write("f.csv", "patient,truth,a,w\nx,1,1,.5\nx,0,0,.25\ny,1,0,.5\ny,0,1,1\n")
    for command in (mars, phidelta, tune_jpt):
        found = command(table, cluster="patient", weight="w")
        check_text(str(found.parameters["interval_methods"]))
        assert found.summary["clusters"] == 2
        assert found.summary["design_effect"] is None
        # 1 of 2.25, in four rows
        assert found.summary["positives"] == pytest.approx(4 / 2.25)
        plan = command(table, cluster="patient", weight="w", interval="none", dry_run=True)
        assert row_of(plan, "plan", what="negative: '0'")["value"] == "2.2"


@pytest.mark.parametrize("command", [mars, phidelta, tune_jpt])
def test_counts_have_no_rows_to_put_together(command: Callable[..., Any]) -> None:
    table = write("c.csv", "model,patient,tp,fp,fn,tn\na,x,1,1,1,1\n")
    with pytest.raises(UsageError) as caught:
        command(table, cluster="patient")
    check_text(str(caught.value))


def hint_of(content: str, **options: Any) -> str:
    """Write a table and return the hint it is refused with."""
    return refusal(write("t.csv", content), **options).hint or ""


def test_a_repeated_id_points_to_it() -> None:
    assert "--cluster 'patient'" in hint_of("patient,truth,a\nx,1,1\nx,0,0\n", id="patient")


def test_a_column_of_such_a_name_points_to_it() -> None:
    rows = "".join(f"p{i},1,1\n" for i in range(12))
    content = f"patient,truth,a\n{rows}p0,0,0\n"
    assert told(content) == "patient which-role"
    # numbers of patients with scores
    numbers = "patient,truth,a\n" + "".join(f"{i},{i % 2},.{i}\n" for i in range(1, 10)) * 2
    assert told(numbers) == "patient which-role"
    assert "--cluster" not in hint_of(numbers.replace("patient", "width"))
    # one row each: that is an id
    once = "patient,truth,a\n" + "".join(f"{i}p,{i % 2},{i % 2}\n" for i in range(12))
    assert row_of(mars(write("t.csv", once)), "models")["tp"] == 6
    again = content + rows
    ignored = mars(write("t.csv", again), ignore="patient")
    assert warning_codes(ignored) == ["one-model", "may-share"]
    (message,) = warning_messages(mars(write("t.csv", again), model="a"), "may-share")
    assert "cluster='patient'" in message
    clustered = mars(write("t.csv", again), model="a", cluster="patient")
    assert sorted(warning_codes(clustered)) == ["few-clusters", "one-model"]


def test_other_commands_and_features_do_without() -> None:
    with pytest.raises(TypeError, match="cluster"):
        mlcps(write("w.csv", WIDE), cluster="patient")
    with pytest.raises(UsageError, match=r"\[bad-option\]"):
        phidelta(write("w.csv", WIDE), cluster="patient", features=True)

"""Gates on slices, gaps, shares of a drop, rows, and who may be the best; warnings; any and all."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.compare.gates.evaluate import evaluate_limits
from clfeval.compare.gates.kinds import KINDS, GateKind
from clfeval.compare.gates.limits import Gates, Limit, parse_limit
from clfeval.document import Gate
from clfeval.document.cells import Estimate
from clfeval.options.declaration import build_group
from clfeval.records import read_record
from clfeval.views.table_layout import gates_to_show
from tests.results import answer_codes, limits_of, row_of, warning_codes
from tests.sources import FILES, PACKAGE, nodes_of
from tests.texts import check_text, numbers_in

SETTINGS = "cmd:report|pos:1|data:1|stats:2|clfeval:0.1.0"


def model_row(model: str, part: str | None = None, **cells: Any) -> dict[str, Any]:
    """Return a row of a model: recall 0.8 of 10 positive rows and 20 in all, unless told."""
    counts = {"tp": 8, "fn": 2, "fp": 1, "tn": 9}
    return {"slice": part, "model": model, **counts, "recall": Estimate(0.8, 0.7, 0.9), **cells}


def report_result(*rows: dict[str, Any], command: str = "report", **tables: Any) -> Result:
    summary = {"rows": 40, "positives": 20, "negatives": 20}
    return Result(command, SETTINGS, (), {"positive": "1"}, summary, {"models": rows, **tables})


SLICED = report_result(
    model_row("rf"),
    model_row("svm"),
    model_row("rf", "site=a", recall=Estimate(0.9, 0.8, 0.95)),
    model_row("svm", "site=a", recall=Estimate(0.85, 0.7, 0.9)),
    model_row("rf", "site=b", recall=Estimate(0.6, 0.5, 0.7), tp=3, fn=2),
    model_row("svm", "site=b", recall=Estimate(0.7, 0.6, 0.8), tp=4, fn=1),
    model_row("rf", "sex=f", recall=Estimate(None, reason="no_positive_truth"), tp=0, fn=0),
    model_row("svm", "sex=f", recall=Estimate(None, reason="no_positive_truth"), tp=0, fn=0),
)


def limit_gates(
    of: Result, kind: Any, *texts: str, baseline: Result | None = None, **more: Any
) -> Any:
    given = build_group(Gates, {**more, "max_drop": texts if kind == "max-drop" else ()})
    return list(
        evaluate_limits(of, [parse_limit(kind, text) for text in texts], baseline, given).gates
    )


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("recall[site=a]=.8", Limit("fail-under", "recall", "value", None, 0.8, "site=a")),
        ("rf:recall[*].low=.8", Limit("fail-under", "recall", "low", "rf", 0.8, "*")),
        ("recall[t=10:30]=1", Limit("fail-under", "recall", "value", None, 1, "t=10:30")),
        (
            "tree [1]:recall[s=[x]].high=1",
            Limit("fail-under", "recall", "high", "tree [1]", 1, "s=[x]"),
        ),
        (
            "f_beta:beta=2[s=a].low=.5",
            Limit("fail-under", "f_beta:beta=2", "low", None, 0.5, "s=a"),
        ),
        ("any:recall=.8", Limit("fail-under", "recall", "value", None, 0.8, any=True)),
        (
            "any:rf*:recall.gap.low=-.1",
            Limit("fail-under", "recall", "gap.low", "rf*", -0.1, any=True),
        ),
        ("all:any:recall=.8", Limit("fail-under", "recall", "value", "any", 0.8)),
        ("recall.extremes.high=.1", Limit("fail-under", "recall", "extremes.high", None, 0.1)),
        ("rf:recall.high=1e-3", Limit("fail-under", "recall", "high", "rf", 0.001)),
        ("a:b=c:recall=-1", Limit("fail-under", "recall", "value", "a:b=c", -1.0)),
        ("v1.low:recall=1", Limit("fail-under", "recall", "value", "v1.low", 1.0)),
        ("rf:f_beta:beta=2=.8", Limit("fail-under", "f_beta:beta=2", "value", "rf", 0.8)),
        ("net_benefit@t:t=0.1.low=0", Limit("fail-under", "net_benefit@t:t=0.1", "low", None, 0.0)),
        (
            "a:b:expected_cost:fp=1,fn=10=2",
            Limit("fail-under", "expected_cost:fp=1,fn=10", "value", "a:b", 2.0),
        ),
    ],
)
def test_parsing(text: str, limit: Limit) -> None:
    assert parse_limit("fail-under", text) == limit


@pytest.mark.parametrize(
    "text",
    [
        "recall[]=1",
        "recall[a=1",
        "recall[a]low=1",
        "[a]=1",
        "any:=1",
        "recall[a].mid=1",
        "recall=5%",
        "recall",
        "recall=",
        "recall=high",
        "=",
        "",
        "recall=nan",
        "recall=inf",
        "recall=-inf",
        "recall=\uff11",
        "recall=0.\u0661",  # digits that are not ASCII
        "recall=1_0e-2",
        "recall=0.1 ",
        "recall= 0.1",
    ],
)
def test_what_is_no_limit_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(clfeval.UsageError, match="bad-gate") as caught:
        parse_limit("fail-under", text)
    assert caught.value.hint


def test_a_slice_is_judged_by_name_or_pattern() -> None:
    found = limit_gates(SLICED, "fail-under", "recall[site=a]=0.9", "svm:recall[site=*].low=0.65")
    assert [(g.model, g.slice, g.metric, g.value, g.passed) for g in found] == [
        ("rf", "site=a", "recall", 0.9, True),
        ("svm", "site=a", "recall", 0.85, False),
        ("svm", "site=a", "recall.low", 0.7, True),
        ("svm", "site=b", "recall.low", 0.6, False),
    ]
    check_text(str(found[3]))


def test_an_undefined_slice_fails_whatever_the_limit() -> None:
    found = limit_gates(SLICED, "fail-under", "rf:recall[*]=0")
    assert [(g.slice, g.passed, g.reason) for g in found] == [
        ("site=a", True, None),
        ("site=b", True, None),
        ("sex=f", False, "no_positive_truth"),
    ]


def test_an_unknown_slice_is_refused_with_what_to_type() -> None:
    with pytest.raises(clfeval.UsageError, match=r"'site=aa'.*unknown-slice") as caught:
        limit_gates(SLICED, "fail-under", "recall[site=aa]=0")
    assert "'site=a'" in str(caught.value.hint)
    with pytest.raises(clfeval.UsageError, match="unknown-slice") as caught:
        limit_gates(report_result(model_row("rf")), "fail-under", "recall[site=a]=0")
    assert "--by " in str(caught.value.hint)
    with pytest.raises(clfeval.UsageError, match=r"'roc_auc'.*unknown-metric"):
        limit_gates(SLICED, "fail-under", "roc_auc[site=a]=0")


def test_any_passes_where_one_model_does_and_is_one_gate() -> None:
    both = report_result(model_row("a", recall=Estimate(0.6)), model_row("b", recall=Estimate(0.9)))
    (found,) = limit_gates(both, "fail-under", "any:recall=0.85")
    assert (found.model, found.value, found.passed, found.among) == ("b", 0.9, True, 2)
    (found,) = limit_gates(both, "fail-under", "any:recall=0.95")
    assert (found.model, found.passed) == ("b", False)
    check_text(str(found))
    (found,) = limit_gates(both, "fail-over", "any:recall=0.7")  # the smallest is the nearest
    assert (found.model, found.passed) == ("a", True)
    assert len(limit_gates(both, "fail-under", "all:recall=0.85")) == 2


def test_any_takes_each_model_by_its_worst_slice() -> None:
    # rf has 0.9 and 0.6, svm 0.85 and 0.7: the worst of svm is the better of the two
    (found,) = limit_gates(SLICED, "fail-under", "any:recall[site=*]=0.75")
    assert (found.model, found.slice, found.value, found.passed) == ("svm", "site=b", 0.7, False)
    assert limit_gates(SLICED, "fail-under", "any:recall[site=*]=0.7")[0].passed


def test_any_of_undefined_values_never_passes() -> None:
    (found,) = limit_gates(SLICED, "fail-under", "any:recall[sex=f]=0")
    assert (found.passed, found.reason) == (False, "no_positive_truth")
    one = report_result(
        model_row("a", recall=Estimate(None, reason="nothing_found")), model_row("b")
    )
    assert limit_gates(one, "fail-under", "any:recall=0.8")[0].model == "b"


def test_a_warning_is_a_gate_that_does_not_fail() -> None:
    of = report_result(model_row("rf"))
    judged = evaluate_limits(
        of, [parse_limit("warn-under", "recall=0.9"), parse_limit("warn-over", "fp=1")]
    )
    assert [(g.severity, g.passed, g.failed) for g in judged.gates] == [
        ("warn", False, False),
        ("warn", True, False),
    ]
    assert judged.passed
    strict = of.check(warn_under={"recall": 0.9}, strict=True)
    assert (strict.gates[0].kind, strict.gates[0].failed) == ("warn-under", True)
    assert not strict.passed
    saved = json.loads(judged.to_json())["gates"]
    assert tuple(read_record(Gate, gate) for gate in saved) == judged.gates


def test_differences_from_a_reference_and_their_ends() -> None:
    frame = pl.DataFrame(
        {"truth": [1] * 10 + [0] * 10, "a": [1] * 9 + [0] * 11, "b": [1] * 6 + [0] * 14}
    )
    run = clfeval.report(frame, reference="a")
    # accuracy 19 of 20 and 16 of 20; recall 0.9 and 0.6
    (found,) = limit_gates(run, "fail-under", "accuracy_difference=-0.14")
    assert (found.model, found.passed) == ("b", False)
    assert found.value == pytest.approx(16 / 20 - 19 / 20)
    (found,) = limit_gates(run, "fail-under", "b:recall_difference=-0.31")
    assert found.passed
    assert found.metric == "sensitivity_difference"
    row = row_of(run, "comparisons", measure="accuracy", slice=None)
    (found,) = limit_gates(run, "fail-under", "accuracy_difference.low=-1")
    assert found.value == limits_of(row["difference"])[0]
    with pytest.raises(clfeval.UsageError, match="unknown-metric") as caught:
        limit_gates(clfeval.report(frame), "fail-under", "accuracy_difference=0")
    assert "--reference" in str(caught.value.hint)


GAPS = [
    {"against": "slice", "slice": name, "measure": "recall", "model": "rf", "difference": found}
    for name, found in (("site=a", Estimate(0.3, 0.1, 0.5)), ("site=b", Estimate(-0.3, -0.5, -0.1)))
]
FAR = [
    {
        "measure": "recall",
        "model": "rf",
        "largest": "site=a",
        "smallest": "site=b",
        "gap": Estimate(0.3, 0.1, 0.5),
        "slices": 2,
    }
]


def test_gaps_of_slices_and_the_largest_of_them() -> None:
    of = replace(SLICED, tables={**SLICED.tables, "comparisons": GAPS, "extremes": FAR})
    found = limit_gates(of, "fail-under", "recall.gap=-0.2", "recall[site=b].gap.low=-0.5")
    assert [(g.slice, g.value, g.passed) for g in found] == [
        ("site=a", 0.3, True),
        ("site=b", -0.3, False),
        ("site=b", -0.5, True),
    ]
    (found_,) = limit_gates(of, "fail-over", "rf:recall.extremes.high=0.4")
    assert (found_.value, found_.passed, found_.slice) == (0.5, False, "site=a less site=b")
    with pytest.raises(clfeval.UsageError, match="unknown-metric"):
        limit_gates(SLICED, "fail-over", "recall.extremes=0.4")


def gate_of_drop(now: float, then: float, *texts: str, **more: Any) -> Gate:
    new, old = (
        report_result(model_row("rf", recall=now)),
        report_result(model_row("rf", recall=then)),
    )
    if "ends" in more:
        low, high = more.pop("ends")
        new = report_result(model_row("rf", recall=Estimate(now, now - low, now + high)))
        old = report_result(model_row("rf", recall=Estimate(then, then - low, then + high)))
    gate: Gate
    (gate,) = limit_gates(new, "max-drop", *texts, baseline=old, **more)
    return gate


def test_a_drop_may_be_a_share_of_the_old_value() -> None:
    # 2 % of 0.8 is 0.016: 0.784 is at the limit, the next number below it is not
    assert gate_of_drop(0.784, 0.8, "recall=2%").passed
    below = gate_of_drop(math.nextafter(0.784, 0), 0.8, "recall=2%")
    assert (below.passed, below.limit) == (False, 0.016)
    assert {2, 0.016} <= {*numbers_in(str(below))}
    assert not gate_of_drop(-0.01, 0.0, "recall=50%").passed  # a share of nothing


def test_of_both_limits_both_must_be_exceeded() -> None:
    both = ("recall=0.01", "recall=5%")  # 5 % of 0.4 is 0.02, of 0.1 it is 0.005
    assert gate_of_drop(0.38, 0.4, *both).passed
    assert not gate_of_drop(math.nextafter(0.38, 0), 0.4, *both).passed
    assert gate_of_drop(0.09, 0.1, *both).passed
    missed = gate_of_drop(math.nextafter(0.09, 0), 0.1, *both)
    assert (missed.passed, missed.limit, missed.limit_text) == (False, 0.01, "0.01 and 5%")
    assert gate_of_drop(0.38, 0.4, *reversed(both)).passed
    new, old = (
        report_result(model_row("rf", recall=0.3)),
        report_result(model_row("rf", recall=0.4)),
    )
    assert len(new.check(baseline=old, max_drop={"recall": [0.2, "5%"]}).gates) == 1


def test_a_drop_that_may_be_chance_passes_where_significance_is_asked() -> None:
    # the change is -0.1, its interval reaches sqrt(2) times as far as that of one: 0.0707, 0.1414
    near = gate_of_drop(0.7, 0.8, "recall=0.01", significant=True, ends=(0.1, 0.1))
    assert (near.passed, near.reason, near.value) == (True, "not_significant", 0.1)
    sure = gate_of_drop(0.7, 0.8, "recall=0.01", significant=True, ends=(0.05, 0.05))
    assert (sure.passed, sure.reason) == (False, None)
    missed = gate_of_drop(0.7, 0.8, "recall=0.01", ends=(0.1, 0.1))
    p = math.erfc(0.1 / math.hypot(0.1, 0.1) * 1.959963984540054 / math.sqrt(2))  # 0.166
    assert (missed.passed, missed.reason, missed.p) == (False, "not_significant", pytest.approx(p))
    check_text([str(missed), str(sure)])
    assert [numbers_in(str(one))[-1] for one in (missed, sure)] == [0.166, 0.006]
    # without an interval nobody knows, and what nobody knows does not pass
    bare = gate_of_drop(0.7, 0.8, "recall=0.01", significant=True)
    assert (bare.passed, bare.reason) == (False, "no_interval")
    assert gate_of_drop(0.8, 0.7, "recall=0", significant=True, ends=(0.01, 0.01)).passed


def test_a_missed_gate_opens_the_answer_and_the_lines_and_a_change_says_its_p() -> None:
    new = report_result(model_row("rf", accuracy=Estimate(1.0)))
    old = report_result(model_row("rf", recall=Estimate(0.9, 0.8, 0.95)))
    limits = ["accuracy=0", "recall.change=-0.05", "recall=0.9"]
    judged = new.check(baseline=old, fail_under=limits)
    first = judged.answer[0]  # .8 [.7, .9] less .9 [.8, .95]: -.1, with hypot(.1, .1) above it
    assert (first.code, first.models, first.measure) == ("gates-missed", ("rf",), "recall")
    check_text(first.text)
    assert {-0.05, 0.166, 1} <= {*numbers_in(first.text)}
    assert [one.failed for one in judged.gates] == [False, True, True]
    assert [one.failed for one in gates_to_show(judged)[0]] == [True, True, False]
    fine = judged.check(fail_under="accuracy=0")
    assert answer_codes(fine) == answer_codes(judged)[1:]


def test_a_slice_that_is_gone_misses_a_drop_that_names_it() -> None:
    then = replace(
        SLICED,
        tables={
            "models": [
                model_row("rf"),
                model_row("rf", "site=a"),
                model_row("svm", "site=b"),
                model_row("rf", "site=b"),
            ]
        },
    )
    now = replace(SLICED, tables={"models": [model_row("rf"), model_row("rf", "site=a")]})
    for text in ("rf:recall[site=*]=0.01", "rf:recall[site=b]=0.01"):
        *_, gone = limit_gates(now, "max-drop", text, baseline=then)
        assert (gone.model, gone.slice, gone.passed, gone.reason) == ("rf", "site=b", False, "gone")
        check_text(str(gone))
    every = limit_gates(now, "fail-under", "recall[*].change=-1", baseline=then)
    assert [(one.model, one.slice, one.passed) for one in every] == [
        ("rf", "site=a", True),
        ("svm", "site=b", False),
        ("rf", "site=b", False),
    ]
    with pytest.raises(clfeval.UsageError, match="'site=b'"):  # which compares nothing
        limit_gates(now, "fail-under", "recall[site=b]=0", baseline=then)


def test_a_drop_of_a_slice() -> None:
    now = replace(
        SLICED,
        tables={
            "models": [model_row("rf"), model_row("rf", "site=a", recall=Estimate(0.88, 0.8, 0.95))]
        },
    )
    (found,) = limit_gates(now, "max-drop", "rf:recall[site=a]=0.01", baseline=SLICED)
    assert found.value == 0.02  # 0.9 then
    assert not found.passed
    gone = replace(SLICED, tables={"models": [model_row("rf")]})
    (found,) = limit_gates(now, "max-drop", "rf:recall[site=a]=0.01", baseline=gone)
    assert (found.passed, found.reason) == (False, "not_in_baseline")


def test_rows_of_the_table_and_of_each_judged_slice() -> None:
    found = limit_gates(SLICED, "fail-under", "rf:recall[site=*]=0", min_rows=20, min_positives=10)
    told = [(g.kind, g.slice, g.value, g.passed) for g in found[2:]]
    assert told == [
        ("min-rows", None, 40, True),
        ("min-rows", "site=a", 20, True),
        ("min-rows", "site=b", 15, False),
        ("min-positives", None, 20, True),
        ("min-positives", "site=a", 10, True),
        ("min-positives", "site=b", 5, False),
    ]
    check_text(str(found[4]))
    assert [g.slice for g in limit_gates(SLICED, "fail-under", min_rows=40)] == [None]
    assert not limit_gates(SLICED, "fail-under", min_rows=41)[0].passed
    unknown = replace(SLICED, summary={"rows": None})
    (one,) = limit_gates(unknown, "fail-under", min_rows=1)
    assert (one.passed, one.value) == (False, None)
    with pytest.raises(clfeval.UsageError, match="min-positives"):
        limit_gates(unknown, "fail-under", min_positives=1)


def test_who_is_still_among_those_that_may_be_the_best() -> None:
    best = [
        {"measure": "roc_auc", "model": "rf", "tied": True},
        {"measure": "roc_auc", "model": "svm", "tied": False},
        {"measure": "brier", "model": "svm", "tied": True},  # not what decides
    ]
    of = report_result(model_row("rf"), model_row("svm"), best=best)
    found = limit_gates(of, "fail-under", still_best=["rf", "svm", "any:*"])
    assert [(g.model, g.metric, g.passed) for g in found] == [
        ("rf", "roc_auc", True),
        ("svm", "roc_auc", False),
        ("rf", "roc_auc", True),
    ]
    check_text(str(found[1]))
    with pytest.raises(clfeval.UsageError, match="unknown-model"):
        limit_gates(of, "fail-under", still_best="sv")
    with pytest.raises(clfeval.UsageError, match=r"still.best"):
        limit_gates(report_result(model_row("rf")), "fail-under", still_best="rf")


def test_a_missing_baseline_is_a_state_with_a_name() -> None:
    of = report_result(model_row("rf"))
    gone = of.check(fail_under="recall=0.5", baseline="no/such.json", max_drop="recall=0.1")
    assert [(g.kind, g.passed, g.reason) for g in gone.gates] == [
        ("fail-under", True, None),
        ("baseline", False, "baseline_missing"),
    ]
    assert not gone.passed
    later = of.check(
        fail_under="recall=0.5",
        baseline="no/such.json",
        max_drop="recall=0.1",
        baseline_missing="skip",
    )
    assert [(g.kind, g.state) for g in later.gates] == [
        ("fail-under", "met"),
        ("baseline", "skipped"),
    ]
    assert later.passed
    assert warning_codes(later) == ["baseline-missing"]
    assert "such.json" in later.warnings[0].message
    assert "no/" not in later.to_json()


def test_only_its_record_and_its_option_name_a_kind_of_gate() -> None:
    home = PACKAGE / "compare" / "gates"
    files = {*FILES} - {home / "kinds.py", home / "limits.py"}
    named = {
        f"{path.relative_to(PACKAGE)}:{node.lineno} {kind.name}"
        for path in files
        for node in nodes_of(path)
        if isinstance(node, ast.expr)
        for kind in KINDS
        if names_kind(node, kind)
    }
    assert named == set()


def names_kind(node: ast.expr, kind: GateKind) -> bool:
    """Return whether code names a kind by a string or by its field of the options.

    A baseline is also a file, a table and a code of messages: for such a word only the field `kind`
    of a gate counts, compared or given.
    """
    if kind.name == kind.option:
        return bool({kind.name} & {*gate_kinds(node)})
    if isinstance(node, ast.Attribute):
        return node.attr == kind.option
    return isinstance(node, ast.Constant) and node.value in (kind.name, kind.option)


def gate_kinds(node: ast.expr) -> Iterator[object]:
    """Yield the constants that `.kind` is compared with, or that a `Gate` has as its kind."""
    if isinstance(node, ast.Compare):
        sides = [ast.unparse(side) for side in (node.left, *node.comparators)]
        if any(side.endswith(".kind") for side in sides):
            yield from (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Gate":
        yield from (part.value for part in node.args[:1] if isinstance(part, ast.Constant))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("gate.kind == 'max-drop'", "max-drop"),
        ("gates.still_best", "still-best"),
        ("getattr(gates, 'min_rows')", "min-rows"),
        ("gate.kind in ('fail-under', 'fail-over')", "fail-over"),
        ("Gate('baseline', name, None)", "baseline"),
        ("gate.kind == 'baseline'", "baseline"),
    ],
)
def test_code_that_names_a_kind_of_gate_is_found(code: str, kind: str) -> None:
    (record,) = (record for record in KINDS if record.name == kind)
    nodes = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.expr))
    assert any(names_kind(node, record) for node in nodes)


def test_every_limit_and_no_other_option_has_a_kind() -> None:
    limits = {*Gates.__annotations__} - {"strict", "baseline_missing", "significant"}
    assert {kind.option for kind in KINDS} == limits

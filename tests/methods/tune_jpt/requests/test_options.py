"""Requests to tune-jpt that are refused before a table is read: populations, measures, costs."""

from __future__ import annotations

import math
from typing import Any

import pytest

from clfeval.errors import UsageError
from tests.methods.tune_jpt.requests.door import (
    CCP,
    COUNTS,
    RF,
    codes,
    command,
    rows_of,
    tuned,
    usage_message,
    value,
)
from tests.thoroughness import thinned

# what is asked -> what the refusal says, its hint included; words are of the command line, and a
# mapping is of options that only Python and batches have
Cases = dict[str, tuple[list[str] | dict[str, Any], list[str]]]
TARGETS: Cases = {
    name: (["--prevalence", text], parts)
    for name, text, parts in (
        ("odds of no negatives", "1:0", ["--prevalence '1:0'", "above 0", "[bad-odds]"]),
        ("odds of no positives", "0:1", ["--prevalence '0:1'", "above 0", "[bad-odds]"]),
        ("odds below nothing", "1:-2", ["--prevalence '1:-2'", "above 0", "[bad-odds]"]),
        ("odds in words", "a:b", ["--prevalence 'a:b'", "two numbers", "[bad-odds]"]),
        ("odds of nan", "nan:1", ["--prevalence 'nan:1'", "[bad-odds]"]),
        ("infinite odds", "inf:1", ["--prevalence 'inf:1'", "[bad-odds]"]),
        ("three of them", "1:2:3", ["--prevalence '1:2:3'", "[bad-odds]"]),
        ("nothing but a colon", ":", ["--prevalence ':'", "[bad-odds]", "--prevalence 1:100"]),
        ("beyond what a number holds", "1e-320:1e10", ["1e-320:1e10", "[bad-odds]"]),
        ("0", "0", ["--prevalence 0 ", "no positives", "[bad-prevalence]", "0.01"]),
        ("1", "1", ["--prevalence 1 ", "no negatives", "[bad-prevalence]", "0.01"]),
        ("in percent", "5", ["--prevalence 5 ", "between 0 and 1", "0.05 for 5 %"]),
        ("all of them in percent", "100%", ["--prevalence 1 ", "no negatives"]),
        ("odds without a colon", "100", ["--prevalence 100 ", "[bad-prevalence]"]),
        ("a share of nothing", "1/0", ["--prevalence '1/0'", "[bad-prevalence]", "1:199"]),
        ("negative", "-0.1", ["--prevalence -0.1 ", "between 0 and 1"]),
        ("no number at all", "nan", ["--prevalence nan", "between 0 and 1"]),
        ("a word", "x", ["--prevalence 'x'", "[bad-prevalence]", "0.5%, 1/200 or 1:199"]),
        ("too small", "1e-320", ["too small", "[bad-prevalence]"]),
        ("a range reversed", "0.02..0.001", ["does not go from lower to higher"]),
        ("a range without width", "0.02..2%", ["does not go from lower to higher"]),
        ("a range from 0", "0..0.02", ["no positives", "[bad-prevalence]"]),
        ("a range to 1", "0.1..1", ["no negatives", "[bad-prevalence]"]),
        ("a range beyond", "0.1..1.5", ["1.5", "between 0 and 1"]),
        ("a range below", "-1..0.5", ["-1", "between 0 and 1"]),
        ("a dash for a range", "0.1-0.2", ["--prevalence '0.1-0.2'", "[bad-prevalence]"]),
        ("half a range", "0.1..", ["--prevalence ''", "[bad-prevalence]"]),
        ("a range of words", "a..b", ["--prevalence 'a'", "[bad-prevalence]"]),
    )
}  # fmt: skip
TARGETS["two ranges"] = (
    ["--prevalence", "0.1..0.2", "--prevalence", "0.3..0.4"], ["takes one range", "[bad-option]"],
)  # fmt: skip

SWEEPS: Cases = {
    name: ({"sweep": text}, [f"--sweep '{text}'", *parts])
    for name, text, parts in (
        ("garbage", "x", ["..", "[bad-odds]", "--sweep 1:1000..1000:1"]),
        ("one end", "1:10", ["[bad-odds]", "--sweep 1:1000..1000:1"]),
        ("empty", "", ["[bad-odds]", "--sweep 1:1000..1000:1"]),
        ("a dash between", "1:10-1:1", ["[bad-odds]"]),
        ("equal ends", "1:2..2:4", ["starts where it ends"]),
        ("three dots", "1:100...1:1", ["[bad-odds]"]),
    )
}
SWEEPS |= {
    "targets": ({"sweep": "0.001..0.1"}, ["--sweep '0.001'", "[bad-odds]"]),
    "an end of 0": ({"sweep": "0:1..1:1"}, ["--sweep '0:1'", "above 0", "[bad-odds]"]),
    "half open": ({"sweep": "1:1.."}, ["--sweep ''", "[bad-odds]"]),
    "one point": ({"points": 1}, ["--points 1 ", "from 2", "[bad-option]"]),
    "no point": ({"points": 0}, ["--points 0 ", "from 2"]),
    "half a point": ({"points": 2.5}, ["--points", "2.5"]),
}

PRIORS: Cases = {
    str(given): ({"prevalence_beta": given}, ["--prevalence-beta", *parts])
    for given, parts in (
        ((-1, 2), ["0.001", "2,98"]), ((1e-9, 2), ["0.001", "2,98"]), ((0, 2), ["0.001"]),
        ((math.inf, 2), ["2,98"]), ((2,), ["[bad-option]"]), ((2, 98, 1), ["[bad-option]"]),
    )
}  # fmt: skip

NUMBERS: Cases = {
    f"{option} {text}": ([f"--{option}", text], [f"--{option} {text}", "[bad-option]"])
    for option, text in (
        ("population", "0"), ("population", "-5"), ("population", "inf"), ("population", "nan"),
        ("level", "0"), ("level", "1"), ("level", "95"), ("level", "nan"),
    )
}  # fmt: skip
NUMBERS |= {
    f"resamples {given}": ({"resamples": given}, [f"--resamples {given} ", "[bad-option]"])
    for given in (0, 99)
}

MEASURES: Cases = {
    name: (["--measure", text], parts)
    for name, text, parts in (
        ("misspelt", "ppw", ["'ppw'", "[unknown-measure]", "did you mean 'ppv'?"]),
        ("unknown", "zzzz", ["'zzzz'", "[unknown-measure]", "tune-jpt --explain measures"]),
        ("of another command", "shine_through",
         ["shine_through is not tuned", "tune-jpt --explain measures"]),
        ("cost unknown", "expected_cost", ["[needs-cost]", "--measure cost:fp=1,fn=10"]),
        ("net benefit too", "net_benefit", ["[needs-cost]", "--measure cost:fp=1,fn=10"]),
        ("free alarms", "cost:fp=0,fn=1", ["--measure cost:fp=0,fn=1", "free", "[bad-option]"]),
        ("free misses", "cost:fp=1,fn=0", ["--measure cost:fp=1,fn=0", "free", "[bad-option]"]),
        ("negative cost", "cost:fp=-1,fn=2", ["fp is a number from 0 up"]),
        ("one cost", "cost:fp=5", ["needs fn", "[bad-option]"]),
        ("costs in words", "cost:fp=a,fn=b", ["'a' is not a number"]),
        ("costs of something else", "cost:fp=1,fn=2,xx=3", ["no parameter 'xx'"]),
        ("infinite cost", "cost:fp=inf,fn=1", ["fp is a number from 0 up", "[bad-option]"]),
        ("benefits alone", "cost:tp=1,tn=1", ["needs fp and fn", "[bad-option]"]),
        ("negative benefit", "cost:fp=1,fn=9,tp=-1", ["tp is a number from 0 up"]),
        ("negative beta", "f_beta:beta=-1", ["beta is a number from 0 to 1e+06"]),
        ("infinite beta", "f_beta:beta=inf", ["beta is a number from 0 to 1e+06"]),
    )
}  # fmt: skip
MEASURES |= {
    "an unknown interval": (["--interval", "wald"], ["--interval", "'wald'", "bootstrap"]),
    "a margin of what does not compare": (
        ["--margin", "mcc=0.1"], ["--margin mcc", "compared by tar", "add --measure mcc"],
    ),
    "a margin of nothing": (["--margin", "tar=0"], ["--margin tar=0 is not a number above 0"]),
}  # fmt: skip

REFUSED = {
    f"{group}, {name}": case
    for group, cases in (
        ("target", TARGETS), ("sweep", SWEEPS), ("beta", PRIORS), ("number", NUMBERS),
        ("measure", MEASURES),
    )
    for name, case in cases.items()
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_request_is_refused_by_its_words_before_a_table_is_read(name: str) -> None:
    asked, parts = REFUSED[name]
    if isinstance(asked, list):
        code, message = command("gone.csv", *asked)
        assert code == 2, message
    else:
        message = usage_message("gone.csv", **{"sweep": "1:10..10:1", **asked})
    assert "gone.csv" not in message
    missing = [part for part in parts if part not in message]
    assert missing == [], message


OPTIONS: dict[str, list[tuple[str, Any]]] = {
    "--prevalence": [("prevalence", 0), ("prevalence", 100), ("prevalence", [0.5, 2]),
                     ("prevalence", ["1:2", "100"]), ("prevalence", "0.2..0.1")],
    "--sweep": [("sweep", "1:10"), ("sweep", "1:1..1:1")],
    "--points": [("points", 1)],
    "--prevalence-beta": [("prevalence_beta", (0, 2)), ("prevalence_beta", (1, 2, 3))],
    "--measure": [("measure", "ppw"), ("measure", ["ppv", "zzz"]), ("measure", "cost:fp=1"),
                  ("measure", "f_beta:beta=inf")],
    "--margin": [("margin", {"tar": -1}), ("margin", 0.1), ("margin", {"mcc": 0.1})],
    "--interval": [("interval", "wald"), ("interval", None)],
    "--level": [("level", 0), ("level", 95)],
    "--resamples": [("resamples", 10)],
    "--population": [("population", 0), ("population", -1), ("population", math.nan)],
}  # fmt: skip
GIVEN = [(option, name, value) for option, given in OPTIONS.items() for name, value in given]


@pytest.mark.parametrize(("option", "name", "given"), GIVEN)
def test_the_function_refuses_what_the_command_refuses(option: str, name: str, given: Any) -> None:
    asked: dict[str, Any] = {"sweep": "1:10..10:1", name: given}
    assert usage_message("gone.csv", **asked).startswith(option)
    with pytest.raises(UsageError) as caught:
        tuned("gone.csv", **asked)
    assert str(caught.value).startswith(name)


ALIASES = {
    "accuracy": "tar", "acc": "tar", "precision": "ppv", "recall": "sensitivity", "f1": "f_beta",
    "PPV": "ppv", "Mcc": "mcc", "tnr": "specificity", "discriminant_power": "dp", "delta": "delta",
}  # fmt: skip


@pytest.mark.parametrize("alias", thinned(ALIASES, ["accuracy", "f1", "Mcc"]))
def test_measures_may_be_called_by_another_name(alias: str) -> None:
    models = {"ccp": CCP, "rf": RF}
    named, plain = (tuned(counts=models, measure=name) for name in (alias, ALIASES[alias]))
    assert named.to_json() == plain.to_json()
    assert named.parameters["compared_by"] == ALIASES[alias]


def test_measures_come_in_the_order_of_columns_and_once() -> None:
    plain = tuned(counts=CCP).parameters["measures"]
    result = tuned(counts=CCP, measure=["kappa", "ppv", "precision", "g_mean", "kappa"])
    assert result.parameters["measures"] == [*plain, "kappa", "g_mean"]
    assert list(rows_of(result, "1:1")["model"])[-2:] == ["kappa", "g_mean"]


def test_a_sweep_may_be_given_from_either_end() -> None:
    there, back = (tuned(counts=CCP, sweep=text) for text in ("1:9..9:1", "9:1..1:9"))
    assert there.to_json() == back.to_json()
    odds = [row["odds"] for row in tuned(counts=CCP, sweep="9:1..1:9", points=3).tables["sweep"]]
    assert odds == ["1:9", "1:1", "9:1"]


def test_the_least_of_everything_is_taken() -> None:
    result = tuned(
        counts=CCP, measure=["cost:fp=1e-9,fn=1e9", "f_beta:beta=1e-3"], sweep="1:2..2:1",
        points=2, level=1e-6, population=1e-3, prevalence=[1e-9, "1e-9..1e-8"],
        prevalence_beta=(0.001, 0.001), resamples=100, seed=0, interval="bootstrap",
    )  # fmt: skip
    assert [row["odds"] for row in result.tables["sweep"]] == ["1:2", "2:1"]
    # of the positives, 67 of 100 are called so; TP and FP stay as 0.67 r : 0.05
    ratio = 1e-9 / (1 - 1e-9)
    assert value(result, "ppv") == pytest.approx(0.67 * ratio / (0.67 * ratio + 0.05), rel=1e-12)


def test_a_target_named_twice_is_one_target() -> None:
    result = tuned(counts=CCP, prevalence=[0.2, 0.2, "1:4", "2:8"])
    targets = [row for row in result.tables["models"] if row["population"] == "target"]
    assert [row["prevalence"] for row in targets] == [0.2]
    assert "no-target" not in codes(result)


@pytest.mark.parametrize("words", [
    ["--counts", COUNTS, "--fail-under", "ppv"], ["--counts", COUNTS, "--save", "r.txt"],
    ["--counts", COUNTS, "--save", "r.xml"], ["--counts", COUNTS, "--digits", "9"],
    ["--counts", COUNTS, "-f", "yaml"], ["--counts", COUNTS, "--nosuch"], ["--counts"],
])  # fmt: skip
def test_shared_options_are_refused_as_everywhere(words: list[str]) -> None:
    code, message = command(*words)
    assert code == 2, message
    assert next(word for word in reversed(words) if word.startswith("-")) in message

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

# words of the command line -> what the refusal says, its hint included
POPULATIONS: dict[str, tuple[list[str], list[str]]] = {
    "odds without a colon": (
        ["--odds", "100"], ["--odds '100'", "[bad-odds]", "1 positive to 100 negatives", "1:100"]
    ),
    "odds as a fraction": (["--odds", "1/100"], ["--odds '1/100'", "[bad-odds]", "--odds 1:100"]),
    "no negatives": (["--odds", "1:0"], ["--odds '1:0'", "above 0", "[bad-odds]"]),
    "no positives": (["--odds", "0:1"], ["--odds '0:1'", "above 0", "[bad-odds]"]),
    "below nothing": (["--odds", "1:-2"], ["--odds '1:-2'", "above 0", "[bad-odds]"]),
    "words": (["--odds", "a:b"], ["--odds 'a:b'", "two numbers", "[bad-odds]"]),
    "nan": (["--odds", "nan:1"], ["--odds 'nan:1'", "[bad-odds]"]),
    "infinite": (["--odds", "inf:1"], ["--odds 'inf:1'", "[bad-odds]"]),
    "three of them": (["--odds", "1:2:3"], ["--odds '1:2:3'", "[bad-odds]"]),
    "empty": (["--odds", ""], ["--odds ''", "[bad-odds]", "--odds 1:100"]),
    "nothing but a colon": (["--odds", ":"], ["--odds ':'", "[bad-odds]"]),
    "beyond what a number holds": (["--odds", "1e-320:1e10"], ["1e-320:1e10", "[bad-odds]"]),
    "prevalence 0": (
        ["--prevalence", "0"], ["--prevalence 0 ", "no positives", "[bad-prevalence]", "0.01"]
    ),
    "prevalence 1": (
        ["--prevalence", "1"], ["--prevalence 1 ", "no negatives", "[bad-prevalence]", "0.01"]
    ),
    "in percent": (["--prevalence", "5"], ["--prevalence 5 ", "between 0 and 1"]),
    "negative": (["--prevalence", "-0.1"], ["--prevalence -0.1 ", "between 0 and 1"]),
    "no number at all": (["--prevalence", "nan"], ["--prevalence nan", "between 0 and 1"]),
    "a word": (["--prevalence", "x"], ["--prevalence", "'x'"]),
    "too small": (["--prevalence", "1e-320"], ["too small", "[bad-prevalence]"]),
}  # fmt: skip

SWEEPS: dict[str, tuple[list[str], list[str]]] = {
    "garbage": (["--sweep", "x"], ["--sweep 'x'", "..", "[bad-odds]", "--sweep 1:1000..1000:1"]),
    "one end": (["--sweep", "1:10"], ["--sweep '1:10'", "[bad-odds]", "--sweep 1:1000..1000:1"]),
    "empty": (["--sweep", ""], ["--sweep ''", "[bad-odds]", "--sweep 1:1000..1000:1"]),
    "a dash between": (["--sweep", "1:10-1:1"], ["--sweep '1:10-1:1'", "[bad-odds]"]),
    "equal ends": (["--sweep", "1:2..2:4"], ["--sweep '1:2..2:4'", "starts where it ends"]),
    "targets": (["--sweep", "0.001..0.1"], ["0.001", "[bad-odds]"]),
    "an end of 0": (["--sweep", "0:1..1:1"], ["0:1", "above 0", "[bad-odds]"]),
    "one point": (["--points", "1"], ["--points 1 ", "from 2", "[bad-option]"]),
    "no point": (["--points", "0"], ["--points 0 ", "from 2"]),
    "half a point": (["--points", "2.5"], ["--points", "'2.5'"]),
}

RANGES: dict[str, tuple[list[str], list[str]]] = {
    "reversed": (["--prevalence-range", "0.02..0.001"], ["does not go from lower to higher"]),
    "no width": (["--prevalence-range", "0.02..0.02"], ["does not go from lower to higher"]),
    "from 0": (["--prevalence-range", "0..0.02"], ["no positives", "[bad-prevalence]"]),
    "to 1": (["--prevalence-range", "0.1..1"], ["no negatives", "[bad-prevalence]"]),
    "beyond": (["--prevalence-range", "0.1..1.5"], ["1.5", "between 0 and 1"]),
    "below": (["--prevalence-range", "-1..0.5"], ["-1", "between 0 and 1"]),
    "a dash": (["--prevalence-range", "0.1-0.2"], ["'0.1-0.2'", "--prevalence-range 0.001..0.02"]),
    "one end": (["--prevalence-range", "0.1"], ["'0.1'", "--prevalence-range 0.001..0.02"]),
    "words": (["--prevalence-range", "a..b"], ["'a..b'", "--prevalence-range 0.001..0.02"]),
    "odds": (["--prevalence-range", "1:9..1:1"], ["'1:9..1:1'", "--prevalence-range 0.001..0.02"]),
    "a negative beta": (["--prevalence-beta", "-1,2"], ["--prevalence-beta", "0.001", "2,98"]),
    "a tiny beta": (["--prevalence-beta", "1e-9,2"], ["--prevalence-beta", "0.001", "2,98"]),
    "an infinite beta": (["--prevalence-beta", "inf,2"], ["--prevalence-beta", "2,98"]),
    "half a beta": (["--prevalence-beta", "2"], ["--prevalence-beta '2'", "2,98"]),
    "beta as odds": (["--prevalence-beta", "2:98"], ["--prevalence-beta '2:98'", "2,98"]),
    "three": (["--prevalence-beta", "2,98,1"], ["--prevalence-beta '2,98,1'", "2,98"]),
}

NUMBERS: dict[str, tuple[list[str], list[str]]] = {
    f"{option} {text}": ([f"--{option}", text], [f"--{option} {text}", "[bad-option]"])
    for option, text in (
        ("population", "0"), ("population", "-5"), ("population", "inf"), ("population", "nan"),
        ("beta", "0"), ("beta", "-1"), ("beta", "inf"), ("level", "0"), ("level", "1"),
        ("level", "95"), ("level", "nan"), ("seed", "-1"),
        ("resamples", "99"), ("resamples", "0"),
    )
}  # fmt: skip

MEASURES: dict[str, tuple[list[str], list[str]]] = {
    "misspelt": (["--measure", "ppw"], ["'ppw'", "[unknown-measure]", "did you mean 'ppv'?"]),
    "unknown": (["--measure", "zzzz"], ["'zzzz'", "[unknown-measure]", "tune-jpt --list-measures"]),
    "of another command": (
        ["--measure", "shine_through"],
        ["shine_through is not tuned", "tune-jpt --list-measures"],
    ),
    "compared_by misspelt": (["--crossover", "tarr"], ["--crossover", "did you mean 'tar'?"]),
    "cost unknown": (["--measure", "expected_cost"], ["[needs-cost]", "--cost FP:FN"]),
    "net benefit too": (["--measure", "net_benefit"], ["[needs-cost]", "--cost FP:FN"]),
    "compared_by of cost": (["--crossover", "expected_cost"], ["[needs-cost]", "--cost 1:10"]),
    "free alarms": (["--cost", "0:1"], ["--cost", "free", "[bad-option]"]),
    "free misses": (["--cost", "1:0"], ["--cost", "free", "[bad-option]"]),
    "negative cost": (["--cost", "-1:2"], ["--cost", "from 0 up"]),
    "one cost": (["--cost", "5"], ["--cost '5'", "--cost 1:10"]),
    "words": (["--cost", "a:b"], ["--cost 'a:b'", "--cost 1:10"]),
    "three": (["--cost", "1:2:3"], ["--cost '1:2:3'", "--cost 1:10"]),
    "infinite": (["--cost", "inf:1"], ["--cost", "[bad-option]"]),
    "a benefit alone": (["--benefit", "1:1"], ["--benefit", "--cost FP:FN", "[bad-option]"]),
    "half a benefit": (["--cost", "1:9", "--benefit", "5"], ["--benefit '5'", "--benefit 5:0"]),
    "negative benefit": (["--cost", "1:9", "--benefit", "-1:0"], ["--benefit", "from 0 up"]),
    "an unknown interval": (["--interval", "wilson"], ["--interval", "'wilson'", "bootstrap"]),
    "an unknown ratio": (["--ratio", "maters"], ["--ratio", "'maters'", "'matters'"]),
}

REFUSED = {
    f"{group}, {name}": case
    for group, cases in (
        ("population", POPULATIONS), ("sweep", SWEEPS), ("range", RANGES), ("number", NUMBERS),
        ("measure", MEASURES),
    )
    for name, case in cases.items()
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_request_is_refused_by_its_words_before_a_table_is_read(name: str) -> None:
    words, parts = REFUSED[name]
    code, message = command("gone.csv", *words)
    assert code == 2, message
    assert "gone.csv" not in message
    missing = [part for part in parts if part not in message]
    assert missing == [], message


OPTIONS: dict[str, list[tuple[str, Any]]] = {
    "--odds": [("odds", 100), ("odds", 0.01), ("odds", ["1:2", "100"]), ("odds", "1:0")],
    "--prevalence": [("prevalence", 0), ("prevalence", 1.0), ("prevalence", [0.5, 2])],
    "--sweep": [("sweep", "1:10"), ("sweep", "1:1..1:1")],
    "--points": [("points", 1)],
    "--prevalence-range": [("prevalence_range", (0.2, 0.1)), ("prevalence_range", (0.1,))],
    "--prevalence-beta": [("prevalence_beta", (0, 2)), ("prevalence_beta", (1, 2, 3))],
    "--cost": [("cost", (0, 1)), ("cost", (1,)), ("cost", (-1, 1)), ("cost", (math.inf, 1))],
    "--benefit": [("benefit", (1, 1))],
    "--measure": [("measure", "ppw"), ("measure", ["ppv", "zzz"])],
    "--crossover": [("compared_by", "tarr")],
    "--interval": [("interval", "wilson"), ("interval", None)],
    "--ratio": [("ratio", "Matters")],
    "--level": [("level", 0), ("level", 95)],
    "--seed": [("seed", -1)],
    "--resamples": [("resamples", 10)],
    "--population": [("population", 0), ("population", -1), ("population", math.nan)],
    "--beta": [("beta", 0), ("beta", math.inf)],
}
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
    assert named.parameters["measures"] == [ALIASES[alias]]
    crossed, plain = (tuned(counts=models, crossover=name) for name in (alias, ALIASES[alias]))
    assert crossed.to_json() == plain.to_json()
    assert crossed.parameters["compared_by"] == ALIASES[alias]


def test_measures_come_in_the_order_of_columns_and_once() -> None:
    result = tuned(counts=CCP, measure=["mcc", "ppv", "precision", "tar"])
    assert result.parameters["measures"] == ["tar", "ppv", "mcc"]
    assert list(rows_of(result, "1:1")["model"])[-3:] == ["tar", "ppv", "mcc"]


def test_a_sweep_may_be_given_from_either_end() -> None:
    there, back = (tuned(counts=CCP, sweep=text) for text in ("1:9..9:1", "9:1..1:9"))
    assert there.to_json() == back.to_json()
    odds = [row["odds"] for row in tuned(counts=CCP, sweep="9:1..1:9", points=3).tables["sweep"]]
    assert odds == ["1:9", "1:1", "9:1"]


def test_the_least_of_everything_is_taken() -> None:
    result = tuned(
        counts=CCP, measure="ppv", sweep="1:2..2:1", points=2, level=1e-6, beta=1e-3,
        population=1e-3, cost=(1e-9, 1e9), prevalence_beta=(0.001, 0.001), prevalence=1e-9,
        prevalence_range=(1e-9, 1e-8), resamples=100, seed=0, interval="bootstrap",
    )  # fmt: skip
    assert [row["odds"] for row in result.tables["sweep"]] == ["1:2", "2:1"]
    # of the positives, 67 of 100 are called so; TP and FP stay as 0.67 r : 0.05
    ratio = 1e-9 / (1 - 1e-9)
    assert value(result, "ppv") == pytest.approx(0.67 * ratio / (0.67 * ratio + 0.05), rel=1e-12)


def test_a_target_named_twice_is_one_target() -> None:
    result = tuned(counts=CCP, odds=["1:4", "2:8"], prevalence=[0.2, 0.2])
    targets = [row for row in result.tables["models"] if row["population"] == "target"]
    assert [row["prevalence"] for row in targets] == [0.2]
    assert "no-target" not in codes(result)


@pytest.mark.parametrize("words", [
    ["--counts", COUNTS, "--fail-under", "ppv"], ["--counts", COUNTS, "--save", "r.txt"],
    ["--counts", COUNTS, "--save", "r.xml"], ["--counts", COUNTS, "--digits", "99"],
    ["--counts", COUNTS, "-f", "yaml"], ["--counts", COUNTS, "--nosuch"], ["--counts"],
])  # fmt: skip
def test_shared_options_are_refused_as_everywhere(words: list[str]) -> None:
    code, message = command(*words)
    assert code == 2, message
    assert next(word for word in reversed(words) if word.startswith("-")) in message

"""Requests to tune-jpt that are refused before a table is read: populations, measures, costs."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.methods.tune_jpt.requests.door import CCP, COUNTS, command, tuned, usage_message
from tests.results import rows_of, value_of, warning_codes
from tests.texts import check_text, problem_places

# what is refused with which code; words are of the command line, and a mapping is of options that
# only Python and batches have
Cases = list[tuple[list[str] | dict[str, Any], str]]
TARGETS = {
    "bad-odds": ["1:0", "0:1", "1:-2", "a:b", "nan:1", "inf:1", "1:2:3", ":", "1e-320:1e10"],
    "bad-prevalence": [
        "0",
        "1",
        "5",
        "100%",
        "100",
        "1/0",
        "-0.1",
        "nan",
        "x",
        "1e-320",
        "0..0.02",
        "0.1..1",
        "0.1..1.5",
        "-1..0.5",
        "0.1-0.2",
        "0.1..",
        "a..b",
    ],
    "bad-option": ["0.02..0.001", "0.02..2%"],
}
SWEEPS = {
    "bad-odds": ["x", "1:10", "", "1:10-1:1", "1:100...1:1", "0.001..0.1", "0:1..1:1", "1:1.."],
    "bad-option": ["1:2..2:4"],
}
MEASURES = {
    "unknown-measure": ["ppw", "zzzz", "ppv,npv", "acuracy", "shine_through"],
    "needs-cost": ["expected_cost", "net_benefit"],
    "bad-option": [
        "cost:fp=0,fn=1",
        "cost:fp=1,fn=0",
        "cost:fp=-1,fn=2",
        "cost:fp=5",
        "cost:fp=a,fn=b",
        "cost:fp=1,fn=2,xx=3",
        "cost:fp=inf,fn=1",
        "cost:tp=1,tn=1",
        "cost:fp=1,fn=9,tp=-1",
        "f_beta:beta=-1",
        "f_beta:beta=inf",
        "f_beta:beta=1e200",
    ],
}
NUMBERS = {"population": ["0", "-5", "inf", "nan"], "level": ["0", "1", "95", "nan"]}
PYTHON: list[dict[str, Any]] = [
    *({"points": n} for n in (0, 1, 2.5)),
    *({"resamples": n} for n in (0, 99)),
    *(
        {"prevalence_beta": two}
        for two in ((-1, 2), (1e-9, 2), (0, 2), (math.inf, 2), (2,), (2, 98, 1))
    ),
    {"interval": "bootstrap", "resamples": 10**12},
    {"points": 10**9},
    {"level": 1 - 1e-16},
]
GROUPS: dict[str, Cases] = {
    "prevalence": [
        *((["--prevalence", text], code) for code, texts in TARGETS.items() for text in texts),
        (["--prevalence", "0.1..0.2", "--prevalence", "0.3..0.4"], "bad-option"),
    ],
    "sweep": [({"sweep": text}, code) for code, texts in SWEEPS.items() for text in texts],
    "measure": [
        *((["--measure", text], code) for code, texts in MEASURES.items() for text in texts),
        (["--margin", "mcc=0.1"], "bad-option"),
        (["--margin", "tar=0"], "bad-option"),
    ],
    "number": [
        *(([f"--{name}", text], "bad-option") for name, texts in NUMBERS.items() for text in texts)
    ],
    "of Python": [(options, "bad-option") for options in PYTHON],
}


@pytest.mark.parametrize("group", GROUPS)
def test_a_request_is_refused_before_a_table_is_read(group: str) -> None:
    messages = []
    for request, code in GROUPS[group]:
        if isinstance(request, list):
            exit_code, message = command("gone.csv", *request)
            assert exit_code == 2, message
            assert request[0] in message
        else:
            message = usage_message("gone.csv", **{"sweep": "1:10..10:1", **request})
            assert f"--{[*request][-1].replace('_', '-')}" in message
        assert "gone.csv" not in message
        codes = [place.split(": ")[-1] for place in problem_places(message)]
        assert codes == [f"[{code}]"], request
        messages.append(message)
    check_text(messages)


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        (["--prevalence", "5"], "0.05"),
        (["--level", "95"], "0.95"),
        (["--measure", "precison"], "'precision'"),
        (["--measure", "acuracy"], "'accuracy'"),
        (["--measure", "recal"], "'recall'"),
        (["--measure", "ppv,npv"], "--measure ppv --measure npv"),
        (["--measure", "expected_cost"], "--measure cost:fp=1,fn=10"),
        (["--measure", "zzzz"], "tune-jpt --explain measures"),
        (["--prevalence", ":"], "--prevalence 1:100"),
        (["--margin", "mcc=0.1"], "--measure mcc"),
    ],
)
def test_the_hint_says_what_to_type(words: list[str], typed: str) -> None:
    assert typed in command("--counts", COUNTS, *words)[1].splitlines()[-1]


def test_a_sweep_may_be_given_from_either_end() -> None:
    rising, falling = (tuned(counts=CCP, sweep=text) for text in ("1:9..9:1", "9:1..1:9"))
    assert rising.to_json() == falling.to_json()
    odds = [row["odds"] for row in tuned(counts=CCP, sweep="9:1..1:9", points=3).tables["sweep"]]
    assert odds == ["1:9", "1:1", "9:1"]


def test_the_least_of_everything_is_taken() -> None:
    result = tuned(
        counts=CCP,
        measure=["cost:fp=1e-9,fn=1e9", "f_beta:beta=1e-3"],
        sweep="1:2..2:1",
        points=2,
        level=1e-6,
        population=1e-3,
        prevalence=[1e-9, "1e-9..1e-8"],
        prevalence_beta=(0.001, 0.001),
        resamples=100,
        seed=0,
        interval="bootstrap",
    )
    assert [row["odds"] for row in result.tables["sweep"]] == ["1:2", "2:1"]
    # of the positives, 67 of 100 are called so; TP and FP stay as 0.67 r : 0.05
    ratio = 1e-9 / (1 - 1e-9)
    row = rows_of(result, "models", population="target")[0]
    ppv = 0.67 * ratio / (0.67 * ratio + 0.05)
    assert value_of(row["ppv"]) == pytest.approx(ppv, rel=1e-12)


def test_a_target_named_twice_is_one_target() -> None:
    result = tuned(counts=CCP, prevalence=[0.2, 0.2, "1:4", "2:8"])
    targets = rows_of(result, "models", population="target")
    assert [row["prevalence"] for row in targets] == [0.2]
    assert "no-target" not in warning_codes(result)

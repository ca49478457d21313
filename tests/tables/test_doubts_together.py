"""Doubts of every kind in one table.

What a refusal proposes is run, and finds nothing more to ask.
"""

from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from tests.process.program import clfeval as program
from tests.tables.asking import proposals
from tests.tables.door import write
from tests.thoroughness import examples

CLASSES = st.sampled_from([("no", "yes"), ("0", "1"), ("-1", "1"), ("Bad ", "good"), ("a", "b")])


@examples(300)
@given(
    classes=CLASSES,
    seed=st.integers(0, 10**6),
    truth=st.sampled_from(["truth", "Class", "label"]),
    kind=st.sampled_from(["labels", "scores", "percent", "margins", "both", "classes"]),
    delimiter=st.sampled_from(",;\t"),
    comma=st.booleans(),
    more=st.sets(
        st.sampled_from(["loan", "row_id", "region", "age", "flag", "twins", "gaps", "halves"])
    ),
)
def test_what_is_proposed_finds_no_further_question(
    classes: tuple[str, str],
    seed: int,
    truth: str,
    kind: str,
    delimiter: str,
    comma: bool,
    more: set[str],
) -> None:
    import random

    chance, rows = random.Random(seed), 40
    votes = [[classes[chance.random() < 0.4] for _ in range(rows)] for _ in range(3)]
    numbers = [[chance.random() for _ in range(rows)] for _ in range(2)]
    columns: dict[str, list[str]] = {truth: votes[0]}
    if "twins" in more:
        columns[truth] = [v.upper() if chance.random() < 0.3 else v for v in columns[truth]]
    point = "," if comma and delimiter != "," else "."

    def number_text(value: float) -> str:
        return f"{value:.3f}".replace(".", point)

    if kind == "labels":
        columns |= {"rf": votes[1], "gb, 2": votes[2]}
    elif kind == "both":
        columns |= {"y_pred": votes[1], "y_prob": [number_text(x) for x in numbers[0]]}
    elif kind == "classes":
        half = 2 if "halves" in more else 1
        columns |= {f"p_{classes[0]}": [number_text(1 - x) for x in numbers[0]]}
        columns |= {f"p_{classes[1]}": [number_text(x / half) for x in numbers[0]]}
    else:
        scale = {"scores": (1, 0), "percent": (100, 0), "margins": (8, 4)}[kind]
        for name, values in zip(("rf", "gb, 2"), numbers, strict=True):
            columns[name] = [number_text(x * scale[0] - scale[1]) for x in values]
    others = {
        "loan": [f"L{i}" for i in range(rows)],
        "row_id": [f"{i}" for i in range(rows)],
        "region": [chance.choice(["north", "south"]) for _ in range(rows)],
        "age": [f"{chance.randrange(20, 90)}" for _ in range(rows)],
        "flag": [f"{chance.randrange(2)}" for _ in range(rows)],
    }
    columns |= {name: others[name] for name in others if name in more}
    if "gaps" in more:
        last = [*columns][1]
        columns[last] = ["" if i % 13 == 5 else v for i, v in enumerate(columns[last])]
    table = [[*columns], *zip(*columns.values(), strict=True)]

    def cell(text: str) -> str:
        return f'"{text}"' if delimiter in text else text

    write("p.csv", "\n".join(delimiter.join(map(cell, row)) for row in table) + "\n")
    # which rows are left out the user says: nothing that is proposed does
    more_options = ["--missing", "drop"] if "gaps" in more else []
    done = program("mars", "p.csv", "-q", "--interval", "none", *more_options)
    if done.code == 0:
        return
    assert done.code == 3, done.err
    offered = proposals(done.err)
    assert offered, done.err
    for command in offered:
        again = program(*shlex.split(command))
        assert again.code == 0, (done.err, again.err)

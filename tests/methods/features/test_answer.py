"""What phidelta says of features: every sentence where it is true, and where it must not be."""

from __future__ import annotations

from typing import Any

import polars as pl

from clfeval.result import Answer
from tests.methods.features.door import features


def table(**counts: tuple[int, int]) -> pl.DataFrame:
    """Return 10 positives and 10 negatives; a feature is true for the first so many of each."""
    columns = {
        name: [1] * tp + [0] * (10 - tp) + [1] * fp + [0] * (10 - fp)
        for name, (tp, fp) in counts.items()
    }
    return pl.DataFrame({"truth": ["p"] * 10 + ["n"] * 10, **columns})


def answered(frame: pl.DataFrame, **options: Any) -> dict[str, Answer]:
    """Return the sentences by code."""
    said = features(frame, positive="p", truth="truth", **options).answer
    assert len({sentence.code for sentence in said}) == len(said) <= 5
    return {sentence.code: sentence for sentence in said}


def test_the_strongest_and_which_class_it_speaks_for() -> None:
    said = answered(table(weak=(6, 5), strong=(1, 9)))
    strongest = said["strongest-feature"]
    assert strongest.text.startswith("strong discriminates most: δ -0.800 [")
    assert strongest.text.endswith("]; where it is true, the negative class is likelier.")
    assert strongest.models == ("strong",)
    assert strongest.value == -0.8
    for_positives = answered(table(strong=(9, 1)), interval="none")["strongest-feature"]
    assert for_positives.text == (
        "strong discriminates most: δ 0.800; where it is true, the positive class is likelier."
    )


def test_the_cut_of_a_numeric_feature_stands_beside_its_name() -> None:
    frame = pl.DataFrame({"truth": ["p"] * 4 + ["n"] * 4, "a, b": [5.5, 6, 7, 8, 1, 2, 3, 4]})
    text = answered(frame, cut="best")["strongest-feature"].text
    assert text.startswith("'a, b' (>= 5.5) discriminates most: δ 1.000")
    soft = answered(frame, cut="soft")["strongest-feature"].text
    assert "where it is high, the positive class is likelier" in soft


def test_what_may_be_chance_is_said_to_be() -> None:
    said = answered(table(weak=(6, 5)))
    assert said["strongest-feature"].text.endswith("class is likelier; that may be chance.")
    assert (
        said["useless-features"].text
        == "1 of 1 feature is not significantly different from chance (δ 0)."
    )
    certain = answered(table(strong=(10, 0)))
    assert "chance" not in certain["strongest-feature"].text
    assert "useless-features" not in certain


def test_the_strongest_of_many_may_be_so_by_chance() -> None:
    """Of 8 and 3 of 10 the limits lie .310 and .303 off, at 1 - .05 / 3 they lie .374 and .359 off.

    δ is .5: above √(.310² + .303²) = .434, below √(.374² + .359²) = .519.
    """
    alone = answered(table(a=(8, 3)))["strongest-feature"]
    assert alone.text.endswith("the positive class is likelier.")
    one_of_three = answered(table(a=(8, 3), b=(5, 5), c=(4, 4)))["strongest-feature"]
    assert one_of_three.text.endswith("likelier; of 3 features one may be so by chance.")
    assert one_of_three.low == alone.low
    bare = answered(table(a=(8, 3), b=(5, 5), c=(4, 4)), interval="none")["strongest-feature"]
    assert bare.text.endswith("the positive class is likelier.")


def test_several_alike_are_all_the_strongest() -> None:
    said = answered(table(a=(10, 1), b=(1, 10), weak=(6, 5)))
    assert said["strongest-feature"].text == "a and b discriminate most, alike: |δ| 0.900."
    assert said["strongest-feature"].models == ("a", "b")
    many = answered(table(**{f"f{i}": (8, 3) for i in range(5)}))["strongest-feature"]
    assert many.text == (
        "f0, f1, f2 and 2 more discriminate most, alike: |δ| 0.500; of 5 features one may be so by "
        "chance."
    )


def test_no_feature_discriminates_where_every_difference_is_zero() -> None:
    said = answered(table(a=(5, 5), b=(3, 3)))
    assert said["none-discriminates"].text == "No feature discriminates: δ is 0 for each."
    assert said["none-discriminates"].models == ()
    assert "strongest-feature" not in said
    assert "none-discriminates" not in answered(table(a=(5, 5), b=(4, 3)))


def test_how_many_are_selected() -> None:
    frame = table(a=(9, 1), b=(8, 2), c=(5, 5))
    said = answered(frame, select=2)
    assert said["selected"].text == "2 of 3 features are selected."
    assert answered(frame, select=1)["selected"].text == "1 of 3 features is selected."
    assert "selected" not in answered(frame)
    none = answered(table(c=(5, 5), d=(4, 4)), select="all")
    assert none["selected"].text == "None of 2 features are selected."


def test_of_soft_votes_that_never_differ_none_is_the_strongest() -> None:
    frame = pl.DataFrame({"truth": ["p", "p", "n", "n"], "same": [0.5, 0.5, 0.5, 0.5]})
    said = answered(frame, cut="soft")
    assert [sentence.code for sentence in said.values()] == ["no-position"]
    assert said["no-position"].models == ()

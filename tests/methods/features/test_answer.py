"""What phidelta says of features: every sentence where it is true, and where it must not be."""

from __future__ import annotations

from typing import Any

import polars as pl

from clfeval.document import Answer
from tests.methods.features.door import features
from tests.results import sentences_by_code
from tests.texts import check_text, numbers_in


def features_with(**counts: tuple[int, int]) -> pl.DataFrame:
    """Return 10 positives and 10 negatives; a feature is true for the first so many of each."""
    columns = {
        name: [1] * tp + [0] * (10 - tp) + [1] * fp + [0] * (10 - fp)
        for name, (tp, fp) in counts.items()
    }
    return pl.DataFrame({"truth": ["p"] * 10 + ["n"] * 10, **columns})


def sentences(frame: pl.DataFrame, **options: Any) -> dict[str, Answer]:
    """Return the sentences on the features by code; there are at most five."""
    by_code = sentences_by_code(features(frame, positive="p", truth="truth", **options))
    assert len(by_code) <= 5
    return by_code


STRONGEST = "strongest-feature"


def test_the_strongest_and_which_class_it_speaks_for() -> None:
    negative = sentences(features_with(weak=(6, 5), strong=(1, 9)))[STRONGEST]
    positive = sentences(features_with(strong=(9, 1)), interval="none")[STRONGEST]
    assert (negative.models, negative.value) == (("strong",), -0.8)
    assert (positive.models, positive.value, positive.low) == (("strong",), 0.8, None)
    check_text([negative.text, positive.text])


def test_the_cut_of_a_numeric_feature_stands_beside_its_name() -> None:
    frame = pl.DataFrame({"truth": ["p"] * 4 + ["n"] * 4, "a, b": [5.5, 6, 7, 8, 1, 2, 3, 4]})
    best, soft = (sentences(frame, cut=cut)[STRONGEST].text for cut in ("best", "soft"))
    assert 5.5 in numbers_in(best)
    check_text([best, soft])


def test_what_may_be_chance_is_said_to_be() -> None:
    by_chance = sentences(features_with(weak=(6, 5)))
    useless = by_chance["useless-features"]
    assert numbers_in(useless.text)[:2] == [1, 1]
    significant = sentences(features_with(strong=(10, 0)))
    assert "useless-features" not in significant
    check_text([by_chance[STRONGEST].text, useless.text, significant[STRONGEST].text])


def test_the_strongest_of_many_may_be_so_by_chance() -> None:
    """Of 8 and 3 of 10 the limits lie .310 and .303 off, at 1 - .05 / 3 they lie .374 and .359 off.

    δ is .5: above √(.310² + .303²) = .434, below √(.374² + .359²) = .519.
    """
    three = features_with(a=(8, 3), b=(5, 5), c=(4, 4))
    alone = sentences(features_with(a=(8, 3)))[STRONGEST]
    of_three = sentences(three)[STRONGEST]
    bare = sentences(three, interval="none")[STRONGEST]
    assert of_three.low == alone.low
    assert numbers_in(of_three.text) == [*numbers_in(alone.text), 3]
    check_text([alone.text, of_three.text, bare.text])


def test_several_alike_are_all_the_strongest() -> None:
    two = sentences(features_with(a=(10, 1), b=(1, 10), weak=(6, 5)))[STRONGEST]
    assert two.models == ("a", "b")
    assert 0.9 in numbers_in(two.text)
    many = sentences(features_with(**{f"f{i}": (8, 3) for i in range(5)}))[STRONGEST]
    assert {2, 0.5, 5} <= {*numbers_in(many.text)}
    check_text([two.text, many.text])


def test_no_feature_discriminates_where_every_difference_is_zero() -> None:
    none = sentences(features_with(a=(5, 5), b=(3, 3)))
    assert none["none-discriminates"].models == ()
    assert STRONGEST not in none
    assert "none-discriminates" not in sentences(features_with(a=(5, 5), b=(4, 3)))
    check_text(none["none-discriminates"].text)


def test_how_many_are_selected() -> None:
    frame = features_with(a=(9, 1), b=(8, 2), c=(5, 5))
    texts = [sentences(frame, select=most)["selected"].text for most in (2, 1)]
    assert [numbers_in(text) for text in texts] == [[2, 3], [1, 3]]
    assert "selected" not in sentences(frame)
    none = sentences(features_with(c=(5, 5), d=(4, 4)), select="all")
    check_text([*texts, none["selected"].text])


def test_of_soft_votes_that_never_differ_none_is_the_strongest() -> None:
    frame = pl.DataFrame({"truth": ["p", "p", "n", "n"], "same": [0.5, 0.5, 0.5, 0.5]})
    (answer,) = sentences(frame, cut="soft").values()
    assert (answer.code, answer.models) == ("no-position", ())

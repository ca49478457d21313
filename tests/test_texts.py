"""What the tests of texts rely on, by hand."""

from __future__ import annotations

from tests.texts import FOLDER, exists, numbers_in, problem_places, texts_of_room


def test_places_and_codes_are_left_of_an_error() -> None:
    assert problem_places(
        "t.csv:3: column 'b': 3 fields where the header has 4 [short-row]\n"
        "t.csv:1: lines end with a bare carriage return (CR) [cr-only]\n"
        "suite.yaml:9:5: best 'many' is not a whole number [bad-option]\n"
        "none.csv: no such file [no-such-file]\n"
        "no truth column: columns are 'a' [no-truth]\n"
        "hint: every row needs as many fields as the header"
    ) == [
        "t.csv:3: column 'b': [short-row]",
        "t.csv:1: [cr-only]",
        "suite.yaml:9:5: [bad-option]",
        "none.csv: [no-such-file]",
        "[no-truth]",
    ]


def test_numbers_are_read_out_of_a_sentence() -> None:
    text = "ROC AUC 0.986 (95% CI 0.963 to 0.995) of 1,234 rows, p <0.001, -.5, 1:100, 2e-16, F1."
    assert numbers_in(text) == [0.986, 95, 0.963, 0.995, 1234, 0.001, -0.5, 1, 100, 2e-16]


def test_no_text_is_kept_of_a_test_that_is_gone() -> None:
    tests = [test for path in FOLDER.glob("*.txt") for test in texts_of_room(path.stem)]
    assert [test for test in tests if not exists(test)] == []

"""Formatting of numbers and names in sentences and cells: numbers are rounded only here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, floor, log10

DIGITS, MOST_DIGITS = 3, 15  # decimal places shown, and at most
MAX_PLACES = 9  # decimal places, at most
NEAR_ONE = 0.98  # above it shares are shown with four digits
MAX_SHARED_PLACES = 6  # decimal places shared by the estimate and its limits, at most
AMBIGUOUS_SIGNS = (",", "+", "'", " and ", " or ")
# control characters but the newline, other line ends, changes of text direction, surrogates
_STEERING = r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
NAMESAKES = ":*"  # after a file's name: the reference is the model of the same name in that file
WHOLE_TOLERANCE = 1e-9  # relative distance from a whole number that rounding leaves
ONE_TOLERANCE = 1e-11  # numbers this close to 1 are written as 1


def format_number(value: float, digits: int = DIGITS) -> str:
    """Round to `digits` decimal places, as `<0.001` or `>0.999` where that would give 0 or 1."""
    text = f"{value:.{digits}f}"
    is_one = abs(abs(value) - 1) < ONE_TOLERANCE
    if 0 < abs(value) < 1 and not is_one and float(text) in (-1.0, 0.0, 1.0) and digits:
        is_near_zero, unit = abs(value) < 0.5, 10.0**-digits
        limit = unit if is_near_zero else 1 - unit
        sign = "<" if is_near_zero == (value > 0) else ">"
        minus = "-" if value < 0 else ""
        return f"{sign}{minus}{limit:.{digits}f}"
    return text if float(text) else text.removeprefix("-")


def format_close(value: float, digits: int) -> str:
    """Round to `digits` places, with more for values close to 0 or 1, and fewer for large ones."""
    magnitude = abs(value)
    if magnitude >= 100:
        decimal_places = max(0, digits - (1 if magnitude < 1000 else 3))
        return f"{value:,.{decimal_places}f}" if magnitude < 1e15 else f"{value:.{digits}e}"
    significant_digits = min(digits, 2 if digits > 2 else 1)  # of the distance to 0 or 1
    if abs(magnitude - 1) < ONE_TOLERANCE:
        return format_number(float(round(value)), digits)
    distances = [distance for distance in (magnitude, abs(1 - magnitude)) if distance]
    needed_places = (
        max(significant_digits - 1 - floor(log10(distance)) for distance in distances)
        if significant_digits
        else 0
    )
    return format_number(value, max(digits, min(needed_places, MAX_PLACES)))


def format_exact(value: float) -> str:
    """Write a number with four significant digits, also of its distance to 1."""
    text = f"{value:.4g}"
    return format_close(value, 4) if abs(value) < 1 and text in ("1", "-1") else text


def format_share(value: float) -> str:
    """Write a share as `format_exact` does if that is exact or the share is near 1, else with 3
    significant digits.
    """
    text = format_exact(value)
    return text if float(text) == value or value > NEAR_ONE else f"{value:.3g}"


def format_class_ratio(odds: object) -> str:
    """Write positives:negatives in small whole numbers where exact, else with three digits each."""
    numbers = [float(number) for number in str(odds).split(":")]
    if all(number.is_integer() for number in numbers):
        return str(odds)
    share = Fraction(numbers[0] / sum(numbers)).limit_denominator(20)
    if abs(float(share) * sum(numbers) - numbers[0]) < 1e-5 * numbers[0] and share < 1:
        return f"{share.numerator}:{share.denominator - share.numerator}"
    return ":".join(f"{float(f'{number:.3g}'):.10g}" for number in numbers)


def round_sum(total: float) -> float:
    """Round a sum to 12 digits, as equal sums of fractional weights may differ in the last ones."""
    return float(f"{total:.12g}")


def format_percent(share: float) -> str:
    """Write a percentage with three digits, near 100 with two digits of the distance to 100."""
    distance = 100 * (1 - share)
    if not 0 < distance < 1:
        return f"{100 * share:.3g}"
    if distance < 1e-4:
        return ">99.9999"
    return f"{100 - distance:.{1 - floor(log10(distance))}f}"


def with_interval(
    value: float,
    low: float | None,
    high: float | None,
    level: float = 0.95,
    write: Callable[[float, int], str] = format_number,
) -> str:
    """Write a value with its interval for a sentence: `0.986 (95% CI 0.963 to 0.995)`."""
    if low is None or high is None:
        return write(value, DIGITS)
    numbers = (value, low, high)
    number_texts = [write(number, DIGITS) for number in numbers]
    decimals_of_texts = [text.partition(".")[2] for text in number_texts]
    decimal_places = max(
        (len(decimals) for decimals in decimals_of_texts if decimals.isdecimal()), default=DIGITS
    )
    if decimal_places <= MAX_SHARED_PLACES:
        number_texts = [write(number, decimal_places) for number in numbers]
    return f"{number_texts[0]} ({100 * level:g}% CI {number_texts[1]} to {number_texts[2]})"


def format_difference(
    value: float, low: float | None, high: float | None, level: float = 0.95
) -> str:
    """Write a difference with its sign and interval: `+0.060 (95% CI -0.010 to 0.129)`."""
    sign = "+" if value > 0 else ""
    return f"{sign}{with_interval(value, low, high, level)}"


def format_p_value(p: float) -> str:
    """Write a p-value: `p 0.020`, `p <0.001`."""
    return "p <0.001" if p < 0.0005 else f"p {p:.3f}"


def format_count(count: float, noun: str) -> str:
    """Write a count with its noun: `1 model`, `1,000 models`."""
    return f"{format_rows(count)} {noun if count == 1 else f'{noun}s'}"


def format_rows(count: float) -> str:
    """Write a number of rows, or of weighted rows with one decimal place: `1,000`, `172.8`."""
    if abs(count - round(count)) <= WHOLE_TOLERANCE * max(abs(count), 1.0):
        return f"{round(count):,}"
    return f"{count:,.1f}" if abs(count) >= 1 else f"{count:.2g}"


def printable(text: str) -> str:
    """Write text on one line, with unprintable characters as escapes."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def escape_control_characters(text: str) -> str:
    """Escape characters that control a terminal or the text direction; line ends are kept."""
    return re.sub(_STEERING, lambda match: printable(match[0]), text)


def quote_if_ambiguous(name: str) -> str:
    """Return a name for a sentence, in quotes if it has spaces at its ends, a comma, or `and`."""
    name = printable(name)
    is_ambiguous = name != name.strip() or any(separator in name for separator in AMBIGUOUS_SIGNS)
    return f"'{name}'" if is_ambiguous else name


def join_words(names: Sequence[str], *, most: int = 4, word: str = "and") -> str:
    """Join names in a sentence, at most the first `most` and the number of the others."""
    omitted_count = len(names) - most
    *first_names, last_name = (
        [*names[:most], f"{omitted_count:,} more"] if omitted_count > 0 else names
    )
    return f"{', '.join(first_names)} {word} {last_name}" if first_names else last_name


def join_names(names: Sequence[str], *, most: int = 4, word: str = "and") -> str:
    """Join names of models or features, with ambiguous ones in quotes."""
    return join_words([quote_if_ambiguous(name) for name in names], most=most, word=word)


def describe_ties(
    tied: Sequence[str], worse: Sequence[str], untested: Sequence[str] = (), *, most: int = 6
) -> str:
    """Return the sentence on models tied with the best and models significantly worse.

    tied, worse: names of models. untested: models for which there are too few rows. most: how
    many names are listed, at most.
    """
    if untested:
        return _describe_ties_and_untested(tied, worse, untested, most)
    if not tied and not worse:
        return ""
    verb = "is" if len(tied) == 1 else "are"
    if not worse:
        subject = join_names(tied) if len(tied) == 1 else "The other models"
        return f"{subject} {verb} not significantly different."
    if len(tied) > most >= len(worse):
        text = f"{join_names(worse)} {'is' if len(worse) == 1 else 'are'} significantly worse"
        return f"{text}; the other models are not significantly different."
    worse_clause = "the other models are" if tied else "Every other model is"
    worse_clause = f"{join_names(worse)} is" if len(worse) == 1 else worse_clause
    ties_clause = (
        f"{join_names(tied, most=most)} {verb} not significantly different; " if tied else ""
    )
    return f"{ties_clause}{worse_clause} significantly worse."


def _describe_ties_and_untested(
    tied: Sequence[str], worse: Sequence[str], untested: Sequence[str], most: int
) -> str:
    """Return the sentences on ties, where there are too few rows to test some models."""
    clauses = [
        f"{join_names(names, most=most)} {'is' if len(names) == 1 else 'are'} {verdict}"
        for names, verdict in (
            (tied, "not significantly different"),
            (worse, "significantly worse"),
        )
        if names
    ]
    names_no_model = not clauses and len(untested) > 1
    models_phrase = "the other models" if names_no_model else join_names(untested, most=most)
    text = f"There are too few rows to compare {models_phrase} with the best."
    return f"{'; '.join(clauses)}. {text}" if clauses else text


def describe_reference(model: str, option: str) -> str:
    """Return the name of the reference in a sentence; option: the value of --reference."""
    if option.endswith(NAMESAKES):
        table_name = quote_if_ambiguous(option.removesuffix(NAMESAKES))
        return f"the models with these names in {table_name}"
    return quote_if_ambiguous(model)


def is_reference(model: str, option: str | None) -> bool:
    """Return whether others are compared with this model; option: the value of --reference."""
    if option is not None and option.endswith(NAMESAKES):
        return model.startswith(option.removesuffix("*"))
    return model == option


def candidates_first(models: Sequence[str], option: str | None) -> list[str]:
    """Return ranked models with the best one that is no reference first, then the references."""
    references = [model for model in models if is_reference(model, option)]
    candidates = [model for model in models if model not in references]
    return [*candidates[:1], *references, *candidates[1:]]


def format_deciding_digits(value: float, limit: float) -> str:
    """Write a number with three digits, or as many as distinguish it from its limit."""
    for digits in range(3, 17):
        rounded_value = float(f"{value:.{digits}g}")
        if isinstance(value, float) and abs(rounded_value - value) <= abs(value - limit) / 2:
            return repr(rounded_value)
    return repr(value)


def format_bound(bound: float) -> str:
    """Write a bound above 0 with one digit, rounded up."""
    unit = 10.0 ** floor(log10(bound))
    return f"{ceil(bound / unit * (1 - 1e-11)) * unit:.1g}"

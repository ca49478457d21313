"""The length of an answer: at most 90 words, 120 with options; the least important falls first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from clfeval.document import Answer, Document
from clfeval.formatting import join_words
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace

WORDS, WORDS_WITH_OPTIONS = 90, 120  # of an answer, at most; names and numbers are words
CODE = "more-results"
MAIN_TABLE = "models"  # which each screen has
# parameters of options that add sentences to an answer, and sentences on gates and baselines
OPTIONS = (
    "reference",
    "by",
    "targets",
    "run",
    "groups",
    "cost",
    "prevalence_range",
    "best_threshold",
    "max_effort",
)
GATES = ("gates-missed", "baseline", "baseline-rows", "baseline-choice")
# What falls, the least important first: sentences without a finding of their own, and findings that
# have a table. Ranges of miscalibration only describe another sentence, and advice has a command of
# its own. Between them the others name fewer values, and then leave intervals to the tables.
UNIMPORTANT = ("resolution", "not-paired", "labels-only", "miscalibrated-ranges", "recalibrate")
DETAILS: Mapping[str, tuple[str, str]] = {  # code: what the sentence is about, and its table
    "corrected": ("corrected value", "winner"),
    "tied-pairs": ("tied pairs", "best_pair"),
    "could-be-left-out": ("models needed together", "pairs"),
    "all-needed": ("models needed together", "pairs"),
    "leads-everywhere": ("leads at other prevalences", "winners"),
    "lead-changes": ("leads at other prevalences", "winners"),
    "margin": ("margins of the lead", "winners"),
    "helps": ("net benefit", "decision"),
    "helps-nowhere": ("net benefit", "decision"),
    "heterogeneity": ("differences between slices", "heterogeneity"),
    "same-predictions": ("identical predictions", "models"),
}
FINDINGS: Mapping[str, tuple[str, str]] = {
    **DETAILS,
    "events": ("changes of rows and models", "events"),
    "within": ("differences in slices", "comparisons"),
    "leading-model": ("ROC AUC", "models"),
    "best": ("best model", "models"),
    "also-compared": ("net benefit", "comparisons"),
    "worth": ("net benefit", "models"),
    "lower-log-loss": ("log loss", "models"),
    "probabilities": ("calibration", "calibration_tests"),
    "never-predicted": ("classes never predicted", "confusion"),
    "miscalibrated": ("calibration", "calibration_tests"),
    "baseline-rows": ("changes of the rows", "models"),
    "at-prevalence": ("net benefit", "at_prevalence"),
    "operating-point": ("rates at the threshold", "comparisons"),
    "compared": ("the leading measure", "comparisons"),
    "same-specificity": ("sensitivity", "same_specificity"),
    "baseline": ("changes since the reference", "comparisons"),
    "since": ("change points", "steps"),
    "slices": ("slices", "slices"),
}
# of an estimate in a sentence: its interval, alone in brackets or after other words
_INTERVALS = re.compile(
    r" \((?:[0-9.]+% CI|bootstrap) [^()]* to [^();,]*\)"
    r"|, (?:adjusted )?[0-9.]+% CI [^();,]* to [^();,]*"
)


def limit_answer(result: Document) -> Document:
    """Return a result whose answer, and those of its methods, keep the limits of length."""
    methods = {name: limit_answer(method) for name, method in result.methods.items()}
    limit = WORDS_WITH_OPTIONS if _has_options(result) else WORDS
    return replace(result, answer=shorten_answer(result.answer, limit), methods=methods)


def _has_options(result: Document) -> bool:
    has_option = any(result.parameters.get(name) for name in OPTIONS)
    return has_option or any(sentence.code in GATES for sentence in result.answer)


def count_words(answer: Sequence[Answer]) -> int:
    """Return the number of words of an answer, as separated by spaces."""
    return sum(len(sentence.text.split()) for sentence in answer)


def shorten_answer(answer: Sequence[Answer], limit: int) -> tuple[Answer, ...]:
    """Shorten an answer to a number of words.

    Sentences without a finding fall first, then details; then long ones name fewer values, the
    last one first; then other findings fall that are no harm; then intervals. What remains too
    long are harms: the least important ones become a part of the last sentence, which names the
    tables of everything that fell. The first sentence always stays.
    """
    draft = _Draft.from_answer(answer)
    for apply_step in _steps(draft):
        if count_words(draft.sentences()) <= limit:
            break
        apply_step()
    draft.restore(limit)
    return draft.sentences()


@dataclass(slots=True, eq=False)
class _Draft:
    """An answer that is being shortened: sentences by position, included or left out.

    earlier: what an earlier shortening left out.
    """

    included: dict[int, Answer]
    left_out: dict[int, Answer]
    earlier: Sequence[Answer]

    @classmethod
    def from_answer(cls, answer: Sequence[Answer]) -> _Draft:
        """Return the draft of an answer."""
        sentences = [sentence for sentence in answer if not sentence.left_out]
        earlier = [
            omitted_sentence for sentence in answer for omitted_sentence in sentence.left_out
        ]
        return cls(dict(enumerate(sentences)), {}, earlier)

    def drop(self, topic: str) -> None:
        """Drop sentences of a topic that are no finding."""
        for position in self._positions_of(topic):
            del self.included[position]

    def abbreviate(self, position: int) -> None:
        """Name fewer values in a sentence, if it is still there."""
        if position in self.included:
            sentence = self.included[position]
            self.included[position] = replace(sentence, text=sentence.brief, brief="")

    def drop_intervals(self) -> None:
        """Leave the intervals to the tables, in every sentence but the first."""
        for position, sentence in self.included.items():
            if position != min(self.included):
                self.included[position] = replace(sentence, text=_INTERVALS.sub("", sentence.text))

    def leave_out(self, topic: str, *, harm: bool) -> None:
        """Leave out the sentences of a topic that are harms, or that are not."""
        for position in self._positions_of(topic):
            if self.included[position].harm == harm:
                self.left_out[position] = self.included.pop(position)

    def _positions_of(self, topic: str) -> list[int]:
        """Return the positions of the sentences of a topic, but for the first of the answer."""
        return [
            position
            for position, sentence in self.included.items()
            if sentence.code == topic and position != min(self.included)
        ]

    def restore(self, limit: int) -> None:
        """Put back what was left out and fits now, harms first, then the most important."""
        importance = [*FINDINGS]

        def rank(position: int) -> tuple[bool, int]:
            sentence = self.left_out[position]
            return sentence.harm, importance.index(sentence.code)

        for position in sorted(self.left_out, key=rank, reverse=True):
            sentence = self.left_out.pop(position)
            self.included[position] = sentence
            if count_words(self.sentences()) > limit:
                self.left_out[position] = self.included.pop(position)

    def sentences(self) -> tuple[Answer, ...]:
        """Return the answer, with a last sentence on where the findings are that it leaves out."""
        answer = tuple(self.included[position] for position in sorted(self.included))
        left_out = [*self.earlier, *(self.left_out[position] for position in sorted(self.left_out))]
        if not left_out:
            return answer
        return (*answer, _left_out_answer(left_out))


def _steps(draft: _Draft) -> Iterator[Callable[[], None]]:
    """Yield the ways to shorten a draft, in the declared order of importance."""
    for code in UNIMPORTANT:
        yield partial(draft.drop, code)
    for code in DETAILS:
        yield partial(draft.leave_out, code, harm=False)
    for position in sorted(draft.included, reverse=True):
        if draft.included[position].brief:
            yield partial(draft.abbreviate, position)
    for code in FINDINGS:
        yield partial(draft.leave_out, code, harm=False)
    yield draft.drop_intervals
    for code in FINDINGS:
        yield partial(draft.leave_out, code, harm=True)


def _left_out_answer(sentences: Sequence[Answer]) -> Answer:
    """Return the sentence on the findings an answer has no room for: harms, and their tables."""
    findings = [FINDINGS[sentence.code] for sentence in sentences]
    harm_topics = [
        topic for sentence, (topic, _) in zip(sentences, findings, strict=True) if sentence.harm
    ]
    topics = [*dict.fromkeys(harm_topics)]
    table_names = [table_name for _, table_name in findings]
    tables = [name for name in dict.fromkeys(table_names) if name != MAIN_TABLE]
    text = f"Also worse: {join_words(topics, most=len(topics))}. " if topics else ""
    if tables:
        noun = "table" if len(tables) == 1 else "tables"
        text += f"More results are in {noun} {join_words(tables, most=len(tables))} "
        text += f"({OPTION}--show NAME{END})."
    else:
        text += "More results are in the table of models."
    return Answer(CODE, text, harm=bool(harm_topics), left_out=tuple(sentences))

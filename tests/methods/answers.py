"""The sentences of an answer."""

from __future__ import annotations

from clfeval.api.result import Result
from clfeval.document import Answer


def sentences_by_code(result: Result) -> dict[str, Answer]:
    """Return the sentences of the answer by their codes, none of which there is twice."""
    sentences = {sentence.code: sentence for sentence in result.answer}
    assert len(sentences) == len(result.answer)
    return sentences

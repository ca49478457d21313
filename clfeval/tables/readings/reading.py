"""A reading: one role for every column, a positive class, and what says so at the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from clfeval.records import dataclass, field
from clfeval.tables.columns import Columns
from clfeval.tables.input import InputOptions

# how a column is known to be truth: by an option, by a name that only truth has, by the only name
# that truth often has, or by nothing but its values
Claim = Literal["given", "certain", "likely", "values"]
MOST_OFFERED = 4


@dataclass(frozen=True, slots=True)
class Question:
    """What has several answers: a code, the text, and the column it is about, if it is one."""

    code: str
    text: str
    column: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading of a table: the roles of its columns and the options that say so.

    claim: how truth is known. roles: the options with what the reading adds. options: by keyword,
    those that a command needs to be read so. words: what it means, one text for each answer.
    questions: what was answered.
    """

    claim: Claim
    columns: Columns
    roles: InputOptions
    options: Mapping[str, Any] = field(default_factory=dict)
    words: Sequence[str] = ()
    questions: Sequence[Question] = ()

    @property
    def meaning(self) -> str:
        """What the reading means, in one line."""
        return "; ".join(dict.fromkeys(self.words))

    @property
    def is_sure(self) -> bool:
        """True if the column of truth is given, or known by its name."""
        return self.claim != "values"

    @property
    def numbers(self) -> object:
        """What decides the numbers: readings with the same are one."""
        columns = self.columns
        models = tuple(
            (model.name, model.kind, model.columns, model.label_column) for model in columns.models
        )
        input_options = self.roles
        weights = (input_options.weight, input_options.sampling_weights)
        row_roles = (*weights, input_options.run, input_options.cluster, input_options.where)
        return (
            columns.truth,
            input_options.positive,
            models,
            columns.naming,
            columns.answer,
            row_roles,
        )

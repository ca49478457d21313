"""The door for Python: a function of groups becomes one of keywords, each with its type.

Arrays become a table (api/arrays.py), and texts of errors and results name keywords (dialect.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from inspect import Parameter, Signature, cleandoc
from types import NoneType
from typing import Any, get_args, get_origin

from clfeval.api.arrays import ROLES, frame_from_arrays
from clfeval.api.ask import OnOpen, Steps, compute_or_ask, with_fixes
from clfeval.api.result import Result
from clfeval.dialect import MEANT, PYTHON, reword_error, reword_for_python
from clfeval.document import Document
from clfeval.errors import ClfevalError, UsageError, suggestion
from clfeval.options import Command, Option
from clfeval.pages import DRY_RUN
from clfeval.tables.input import with_input

USAGE = """
Calls:
    clfeval.NAME("preds.csv", truth="outcome")  # a file, a data frame or a dict of columns.
    clfeval.NAME(y_true, y_prob)  # scores or labels (n,), or class probabilities (n, k).
    clfeval.NAME(y_true, {"lr": p1, "rf": p2})  # by, cluster, weight, id and run take arrays too.
Sentences of the result are in `answer`. To get a table call `frame("TABLE")`. To print one call
`show("TABLE")`. Files are written by `save("page.html")`. Gates are judged by
`check(fail_under={"roc_auc": 0.8}, baseline="old.json")`.
"""
# keywords of other libraries, and what a result does
ELSEWHERE = {
    "sample_weight": "weight=...", "pos_label": "positive=...",
    "groups": "cluster=... (intervals) or by=... (slices)", "group": "by=...", "slices": "by=...",
    "subgroup": "by=...", "sensitive_features": "by=...", "cutoff": "threshold=...",
    "n_boot": "resamples=...", "n_bootstrap": "resamples=...", "bootstrap": "interval='bootstrap'",
    "confidence": "level=0.95", "confidence_level": "level=0.95", "alpha": "level=0.95",
    "ci": "level=0.95 or interval=...", "random_state": "seed=...", "ref": "reference=...",
    "metric": "measure=...", "metrics": "measure=...", "costs": "measure='cost:fp=1,fn=5'",
    "n_bins": "by='COLUMN:4' (slices)", "output": "result.save('page.html')",
    "y_true": "report(y_true, y_prob)",
    "y_score": "report(y_true, y_score)", "y_prob": "report(y_true, y_prob)",
    "y_pred": "report(y_true, y_pred)",
    "fail_under": "result.check(fail_under=...)", "baseline": "result.check(baseline=...)",
    "max_drop": "result.check(max_drop=...)", "save": "result.save('page.html')",
    "show": "result.show('NAME')", "format": "result.to_json() or result.frame('NAME')",
}  # fmt: skip


def public_function(command: Command) -> Callable[[Steps], Callable[..., Document]]:
    """Return what makes a function of a table and keywords of the steps that read and compute.

    Its documentation ends with a line for each keyword. The function `asked` takes options by name
    and raises errors in the words of the shell.
    """
    command = with_input(command)
    options, shape = command.options(), signature_of(command)

    def made(steps: Steps) -> Callable[..., Document]:
        @wraps(steps)
        def called(*tables: Any, on_open: OnOpen | None = None, **given: Any) -> Document:
            if any(hasattr(one, "predict") for one in tables):
                what = "a model is not a table of predictions"
                hint = f"clfeval.{called.__name__}(y_true, model.predict_proba(X))"
                raise UsageError.new(what, "no-input", hint=hint)
            try:
                bound = shape.bind(*tables, on_open=on_open, **given)
            except TypeError as error:
                unknown = next((name for name in given if name not in shape.parameters), None)
                usage = f"; {called.__name__}(y_true, y_prob) or (table, truth='outcome')"
                more = usage if unknown is None else _meant(unknown)
                raise TypeError(f"{called.__name__}() {error}{more}") from None
            try:
                seen = (lambda _: None) if on_open is None else on_open
                both = [bound.arguments.get(name) for name in ("table", "predictions")]
                options_given = {
                    n: v for n, v in given.items() if n not in ("table", "predictions")
                }
                table, said = frame_from_arrays(both[0], both[1], options_given)
                if both[1] is not None and "source" in shape.parameters:
                    said = {"source": "predictions", **said}  # mlcps takes metrics too
                write = partial(_python_call, called.__name__, options, said)
                return _in_python(compute_or_ask(command, steps, table, said, seen, write), options)
            except ClfevalError as error:
                reword_error(error, options, PYTHON)
                if error.hint and not isinstance(given.get("by"), (str, NoneType)):
                    error.hint = re.sub(r"by=('[^']+:4')", r"by={\1: values}", error.hint)
                    error.args = ("\n".join(error.lines()),)
                raise

        def _meant(word: str) -> str:
            """Return what an unknown keyword may stand for."""
            meant = reword_for_python(MEANT.get(f"--{word.replace('_', '-')}", ""), options)
            if use := ELSEWHERE.get(word, meant):
                return f"; use {use}"
            close = suggestion(word, [*shape.parameters]) if word else None
            return f"; {close}" if close else ""

        words = (
            re.sub(r"([;,]) repeat", r"\1 or several", reword_for_python(text, options))
            for one, text in ((one, f"    {one.name}: {one.opt.help}") for one in options)
        )
        usage = USAGE.replace("NAME(", f"{called.__name__}(")
        called.__doc__ = "\n".join([cleandoc(steps.__doc__ or ""), usage, "Keywords:", *words])
        called.__signature__ = shape  # type: ignore[attr-defined]
        called.command = command  # type: ignore[attr-defined]
        called.asked = partial(compute_or_ask, command, steps)  # type: ignore[attr-defined]
        return called

    return made


def _in_python(result: Document, options: Sequence[Option]) -> Result:
    """Return a result whose sentences and notes name keywords."""
    return Result.from_document(replace(
        result, python=True,
        answer=tuple(replace(one,
                             text=reword_for_python(one.text, options)) for one in result.answer),
        warnings=tuple(replace(one, message=reword_for_python(one.message, options))
                       for one in result.warnings),
        methods={name: _in_python(one, options) for name, one in result.methods.items()},
        tables=result.tables if result.command != DRY_RUN else {
            name: [{key: reword_for_python(cell, options) if isinstance(cell, str) else cell
                    for key, cell in row.items()} for row in rows]
            for name, rows in result.tables.items()},
    ))  # fmt: skip


def _python_call(
    name: str, options: Sequence[Option], given: Mapping[str, Any], fixes: Mapping[str, Any]
) -> str:
    """Write a call with these options, which hold what was given for them too."""
    known = {option.name for option in options}
    whole = with_fixes(given, fixes)
    words = [f"{key}={whole[key]!r}" for key in fixes if key in known]
    return f"clfeval.{name}(..., {', '.join(words)})"


def signature_of(command: Command) -> Signature:
    """Return the signature of a command's public function."""
    default = None if command.optional else Parameter.empty
    table = Parameter("table", Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=Any)
    predictions = Parameter(
        "predictions", Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=Any
    )
    on_open = Parameter("on_open", Parameter.KEYWORD_ONLY, default=None, annotation=OnOpen | None)
    return Signature(
        [table, predictions, *map(_parameter, command.options()), on_open],
        return_annotation=Result,
    )


def _parameter(option: Option) -> Parameter:
    takes = option.type if option.opt.takes is None else option.opt.takes
    takes = Any if option.name in ROLES else takes  # the name of a column, or an array
    arguments = get_args(takes)
    if get_origin(takes) is tuple:
        several: Any = Sequence[arguments[0]]  # type: ignore[valid-type]
        takes = arguments[0] | several if arguments[-1] is Ellipsis else several
    default = None if NoneType in get_args(takes) and not option.default else option.default
    return Parameter(option.name, Parameter.KEYWORD_ONLY, default=default, annotation=takes)

"""Variables of a batch: `${name}` in values, filled in once, from the file and from `--set`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from clfeval.errors import UsageError, list_names, suggestion
from clfeval.suite.entries import BatchErrors, FilledText, Keypath, Node
from clfeval.yaml import Value

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_MARK = re.compile(r"\$\$|\$\{(?P<name>[^{}$]*)\}|(?P<open>\$\{)")
LONGEST = 4096  # characters of a variable
MOST = 1 << 22  # characters of all texts with variables in them, filled in


def variables_from_shell(texts: Sequence[str]) -> dict[str, str]:
    """Return the variables of `--set NAME=VALUE`, of equal names the last; UsageError."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not NAME.fullmatch(name):
            hint = "write, for example, --set date=2026-11-22"
            raise UsageError.new(f"--set '{text}' is not NAME=VALUE", "bad-option", hint=hint)
        if fault := _value_fault(value):
            raise UsageError.new(f"--set {name}: {fault}", "bad-option")
        found[name] = value
    return found


def variables_from_file(variables: Mapping[str, Node], wrong: BatchErrors) -> dict[str, str]:
    """Return the variables of `set:` as they are written."""
    found = {}
    for name, given in variables.items():
        if not NAME.fullmatch(name):
            wrong.say(given, f"'{name}' is not a variable name: use letters, digits, _ and -")
        elif isinstance(given.value, (list, dict)) or given.value is None:
            wrong.say(given, f"{name}: a variable must be a text or a number")
        else:
            written = given.written
            found[name] = str(given.value) if written is None else written
            if fault := _value_fault(found[name]):
                wrong.say(given, f"{name}: {fault}")
    return found


def _value_fault(value: str) -> str | None:
    if "${" in value:
        return "a variable cannot contain another variable"
    return f"longer than {LONGEST:,} characters" if len(value) > LONGEST else None


def check_used(given: Iterable[str], known: Collection[str], wrong: BatchErrors) -> None:
    """Say which variables of the shell nothing in the files has."""
    for name in given:
        if name not in known:
            what = f"--set {name}: the files do not use this variable"
            there = f"variables: {list_names(sorted(known))}" if known else f"write ${{{name}}}"
            wrong.take(UsageError.new(what, "bad-option", hint=suggestion(name, known) or there))


@dataclass(slots=True)
class Filler:
    """Fills variables in; `left` is how many characters more it may write, `used` which it has."""

    variables: Mapping[str, str]
    wrong: BatchErrors
    left: int = MOST
    used: set[str] = field(default_factory=set)

    def fill(self, given: Node) -> Node:
        """Return a value with its variables filled in, in every text and in no key."""
        return replace(given, value=self._value(given, given.value, ()))

    def _value(self, given: Node, value: Value, path: Keypath) -> Value:
        if isinstance(value, str):
            return self._text(replace(given, path=(*given.path, *path)), value)
        if isinstance(value, list):
            return [self._value(given, one, (*path, i)) for i, one in enumerate(value)]
        if isinstance(value, dict):
            return {key: self._value(given, one, (*path, key)) for key, one in value.items()}
        return value

    def _text(self, given: Node, text: str) -> str:
        if "$" not in text:
            return text
        parts, end = [], 0
        for found in _MARK.finditer(text):
            parts += [text[end : found.start()], self._filled(given, found)]
            end = found.end()
            self.left -= len(parts[-1]) + len(parts[-2])
            if self.left < 0:
                what = f"the texts with variables exceed {MOST:,} characters"
                raise UsageError.new(what, "configuration", given.place)
        whole = _MARK.fullmatch(text)
        made = "".join([*parts, text[end:]])
        return FilledText(made) if whole and whole["name"] is not None else made

    def _filled(self, given: Node, found: re.Match[str]) -> str:
        name = found["name"]
        if found["open"]:
            hint = "write ${name} for a variable, $${ for the two characters"
            self._refuse(given, "'${' starts a variable without a closing brace", hint)
        elif name is None:
            return "$"
        elif name in self.variables:
            self.used.add(name)
            return self.variables[name]
        else:
            there = f"variables: {list_names(self.variables)}" if self.variables else None
            close = suggestion(name, self.variables) or there
            way = f"add set: {{{name}: ...}}, or --set {name}=..."
            self._refuse(given, f"the variable ${{{name}}} is undefined", close or way)
        return ""

    def _refuse(self, given: Node, what: str, hint: str) -> None:
        """Say what cannot be filled in; what is left of the text is wrong for no other reason."""
        self.wrong.say(given, what, hint)
        self.wrong.closed.add(given.place)

"""Judging how the program reads a generated table: right at once, offered, refused, or failed."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.process.program import clfeval as program
from tests.process.runner import Done
from tests.tables.command_check import Command, command_complaints
from tests.tables.generated import GeneratedTable, generate, write_files
from tests.tables.model_facts import model_rows, reading_differences
from tests.tables.table_drafts import Columns, Heading

MOST_OFFERS = 4
WRONG = (
    "wrong at once",
    "taken, but has to be offered",
    "taken without truth",
    "offer differs from its options",
)
# options whose values the words of an offer must name where the offers differ in them
TOLD = ("--truth", "--positive", "--weight", "--run", "--cluster", "--by", "--join")
LOSSES = {
    "label",
    "score",
    "probability",
    "confidence",
    "possible model",
    "count",
    "weight",
    "run",
    "model",
}


@dataclass(frozen=True)
class Offer:
    """A reading that is offered: what it means, and the command that takes it."""

    meaning: str
    command: str


@dataclass
class Verdict:
    """How a table was read.

    outcome: right at once, offered, offered among more, refused by name, or failed. failures: what
    is wrong, by kind.
    """

    table: GeneratedTable
    outcome: str
    offers: list[Offer]
    failures: list[tuple[str, str]]
    message: str
    files: dict[str, Columns] = field(default_factory=dict)

    @property
    def lone(self) -> bool:
        """Tell whether the only reading was offered because no list has the name of truth."""
        return self.outcome == "offered" and len(self.offers) == 1 and not self.table.name_listed


def run_report(words: Sequence[str]) -> Done:
    """Run `clfeval report` for JSON and no remarks; a crash is exit code 70."""
    words = [*words]
    if "json" not in words and "--format=json" not in words:
        words += ["-f", "json"]
    if "-q" not in words and "--quiet" not in words:
        words += ["-q"]
    try:
        return program("report", *words)
    except Exception as error:  # what leaves the program otherwise than by its exit code
        return Done(70, "", f"{type(error).__name__}: {error}")


def offers_of(finished: Done) -> list[Offer]:
    """Return what a refusal offers: its readings, or the one command it says to try."""
    lines = [line for line in finished.err.splitlines() if line.startswith("{")]
    if not lines:
        return []
    error = json.loads(lines[-1])
    readings = error.get("readings") or []
    if readings:
        return [Offer(str(record["meaning"]), str(record["command"])) for record in readings]
    proposed = error.get("try")
    if not proposed:
        return []
    texts = [json.loads(line) for line in lines[:-1]]
    words = "; ".join(f"{text.get('what')}. {text.get('hint')}" for text in texts)
    return [Offer(words, str(proposed))]


def possible_losses(table: GeneratedTable, command: Command) -> list[str]:
    """Return the columns that a command leaves out and that may be models, weights or runs."""
    names = [name for name, role in table.roles.items() if role in LOSSES]
    ignored = command.names("--ignore", names)
    spoken = {value for values in command.options.values() for value in values}
    lost = [name for name in names if name in ignored]
    if "--model" in command.options:
        named_models = command.names("--model", names)
        # a model of class probabilities is called as its columns begin: `prob` of `prob_cat`
        paired = {
            name
            for name in names
            if any(name in value or name.lstrip(".").startswith(value) for value in spoken)
        }
        if "model" in spoken:  # that of probabilities without a name of their own
            paired |= {name for name in names if table.roles[name] == "probability"}
        lost += [name for name in names if name not in named_models | ignored | paired]
        if "model" in table.roles.values() or table.words:
            lost = [name for name in names if name in ignored]
    return lost


def word_complaints(table: GeneratedTable, offers: Sequence[Offer]) -> list[tuple[str, str]]:
    """Return what the words of the offers do not say: losses, and in what they differ."""
    commands = [Command.parse(offer.command) for offer in offers]
    complaints = []
    for offer, command in zip(offers, commands, strict=True):
        lost = possible_losses(table, command)
        silent = [name for name in lost if name not in offer.meaning]
        if silent and not (len(lost) > 3 and str(len(lost)) in offer.meaning):
            complaints.append(("loss not told", f"{', '.join(silent)}: {offer}"))
        for option in TOLD:
            values = {another.value(option) for another in commands}
            value = command.value(option)
            if len(values) > 1 and value is not None and value not in offer.meaning:
                complaints.append(("words do not name an option", f"{option} {value}: {offer}"))
    return complaints


def problem_codes(finished: Done) -> set[str]:
    """Return the codes of the problems that a refusal lists."""
    lines = [line for line in finished.err.splitlines() if line.startswith("{")]
    return {json.loads(line)["code"] for line in lines[:-1]}


def judge_offer(
    table: GeneratedTable, offer: Offer, announced: set[str]
) -> tuple[list[tuple[str, str]], dict[str, Any] | None]:
    """Run an offered command; return what is wrong, and its result.

    announced: codes of the problems that were told together with the offer. One that no option
    solves may remain.
    """
    try:
        Command.parse(offer.command)
    except ValueError as error:
        return [("offer is no report", f"{error}: {offer.command}")], None
    finished = run_report(shlex.split(offer.command)[2:])
    if finished.code not in (0, 1):
        if table.refusable and problem_codes(finished) and problem_codes(finished) <= announced:
            return [], None
        kind = (
            "offer asks again" if offers_of(finished) else f"offer ends with code {finished.code}"
        )
        return [(kind, f"{offer.command}\n      {last_line(finished.err)}")], None
    result = json.loads(finished.out)
    if table.closed:
        meanings = [*table.accepted, *table.offered]
        is_true = any(not reading_differences(result, meaning) for meaning in meanings)
        complaints = [] if is_true else [closest_differences(table, [result])]
    else:
        complaints = command_complaints(table, offer.command, result)
    failures = [
        ("offer differs from its options", f"{offer.command}\n      {'; '.join(complaints)}")
    ]
    return failures if complaints else [], result


def last_line(text: str) -> str:
    """Return the first message of standard error, cut."""
    return (text.splitlines() or [""])[0][:300]


def judge_offers(table: GeneratedTable, finished: Done, offers: list[Offer]) -> Verdict:
    """Judge a list of offers: all run, all say what they give, the right one is among them."""
    failures: list[tuple[str, str]] = []
    if len(offers) > MOST_OFFERS:
        failures.append(("more than four offers", str(len(offers))))
    results = []
    for offer in offers:
        complaints, result = judge_offer(table, offer, problem_codes(finished))
        failures += complaints
        if result is not None:
            results.append(result)
    printed = [json.dumps([result["summary"], result["tables"]["models"]]) for result in results]
    if len({*printed}) < len(printed):
        failures.append(("one reading offered twice", "; ".join(o.command for o in offers)))
    with contextlib.suppress(ValueError):
        failures += word_complaints(table, offers)
    meanings = [*table.offered, *table.accepted]
    right = any(
        not reading_differences(result, meaning) for result in results for meaning in meanings
    )
    outcome = "offered"
    if table.refusable and not right:
        outcome = "refused by name"
    elif not right and len(offers) >= MOST_OFFERS and more_are_named(table, finished):
        outcome = "offered among more"
    elif not right:
        failures.append(("right reading not offered", closest_differences(table, results)))
    return Verdict(table, "failed" if failures else outcome, offers, failures, finished.err)


def more_are_named(table: GeneratedTable, finished: Done) -> bool:
    """Tell whether a message besides the offers names an option and the column of truth."""
    objects = [json.loads(line) for line in finished.err.splitlines() if line.startswith("{")]
    texts = [str(value) for record in objects for key, value in record.items() if key != "readings"]
    return any("--" in text and table.truth in text for text in texts)


def closest_differences(table: GeneratedTable, results: Sequence[dict[str, Any]]) -> str:
    """Return in what the results differ from the readings that are known."""
    meanings = [*table.accepted, *table.offered]
    pairs = [
        reading_differences(result, meaning) or [f"is the reading: {meaning.words}"]
        for result in results
        for meaning in meanings
    ]
    return "; ".join(min(pairs, key=len)) if pairs else "no offer gave a result"


def judge(table: GeneratedTable) -> Verdict:
    """Judge the table in the current folder, where its files are."""
    finished = run_report([*table.files, *table.words])
    if finished.code in (0, 1):
        result = json.loads(finished.out)
        if any(not reading_differences(result, meaning, uncut=True) for meaning in table.accepted):
            return Verdict(table, "right at once", [], [], finished.err)
        differing = closest_differences(table, [result])
        kind = "taken, but has to be offered" if not table.accepted else "wrong at once"
        return Verdict(table, "failed", [], [(kind, differing)], finished.err)
    if finished.code not in (2, 3):
        return Verdict(table, "failed", [], [("crash", last_line(finished.err))], finished.err)
    offers = offers_of(finished)
    if offers:
        return judge_offers(table, finished, offers)
    if table.refusable:
        names = [name for name in table.roles if name in finished.err]
        failures = [] if names else [("refusal names no column", last_line(finished.err))]
        return Verdict(
            table, "failed" if failures else "refused by name", [], failures, finished.err
        )
    return Verdict(table, "failed", [], [("refused", last_line(finished.err))], finished.err)


def model_names(finished: Done) -> list[str]:
    """Return the models of a result."""
    return [str(row["model"]) for row in model_rows(json.loads(finished.out))]


def judge_without_truth(table: GeneratedTable) -> list[tuple[str, str]]:
    """Return a failure if the table is taken without its truth, in the current folder."""
    finished = run_report([*table.without_truth(), *table.words])
    if finished.code in (0, 1):
        return [("taken without truth", f"models {', '.join(model_names(finished))}")]
    return [] if finished.code in (2, 3) else [("crash without truth", last_line(finished.err))]


@contextlib.contextmanager
def folder_of_files(files: dict[str, Columns], heading: Heading | None = None) -> Any:
    """Work in a folder that has these files."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_files(files, Path(folder), heading)
        yield Path(folder)


def judge_seed(seed: int) -> Verdict:
    """Judge the table of a seed, with and without its truth."""
    table = generate(seed)
    with folder_of_files(table.files, table.heading):
        verdict = judge(table)
    rest = table.without_truth()
    if rest:
        with folder_of_files(rest, table.heading):
            failures = judge_without_truth(table)
        verdict.failures += failures
        verdict.outcome = "failed" if failures else verdict.outcome
    return verdict


# reading in three orders


def observed_reading(table: GeneratedTable, files: dict[str, Columns]) -> tuple[Any, ...]:
    """Return the exit code with the numbers of the models, or with the offers."""
    with folder_of_files(files, table.heading):
        finished = run_report([*files, *table.words])
    if finished.code in (0, 1):
        rows = json.loads(finished.out)["tables"]["models"]
        facts = []
        for row in rows:
            cells = {
                name: row.get(name) for name in ("roc_auc", "tp", "fp", "fn", "tn", "accuracy")
            }
            numbers = [c["value"] if isinstance(c, dict) else c for c in cells.values()]
            facts.append((row["model"], *(n if n is None else round(n, 9) for n in numbers)))
        return finished.code, *sorted(facts, key=str)
    codes = {json.loads(ln).get("code") for ln in finished.err.splitlines() if ln.startswith("{")}
    offers = sorted((offer.meaning, offer.command) for offer in offers_of(finished))
    return finished.code, *sorted(map(str, codes)), *offers


def order_differences(table: GeneratedTable) -> list[str]:
    """Return the orders of rows in which a table is read otherwise than as it was made."""
    first = observed_reading(table, table.files)
    return [
        f"{order}: {observed}\n      as generated: {first}"
        for order in ("sorted", "reversed", "shuffled")
        if (observed := observed_reading(table, table.reordered(order))) != first
    ]


# counts and failures, for people


@dataclass
class Tally:
    """What all verdicts come to."""

    outcomes: Counter[str]
    kinds: Counter[str]
    clear: int
    clear_asked: int
    lone: int
    unlisted_at_once: int
    groups: dict[str, Counter[str]]

    @classmethod
    def from_verdicts(cls, verdicts: Sequence[Verdict]) -> Tally:
        """Count verdicts."""
        clear = [verdict for verdict in verdicts if verdict.table.clear]
        kinds = Counter(kind for verdict in verdicts for kind in {k for k, _ in verdict.failures})
        return cls(
            Counter(verdict.outcome for verdict in verdicts),
            kinds,
            len(clear),
            sum(not at_once(verdict) for verdict in clear),
            sum(verdict.lone for verdict in verdicts),
            sum(at_once(verdict) and not verdict.table.name_listed for verdict in verdicts),
            grouped_outcomes(verdicts),
        )

    def lines(self) -> list[str]:
        """Return the counts as lines."""
        share = self.clear_asked / max(self.clear, 1)
        return [
            f"{sum(self.outcomes.values())} tables: "
            + ", ".join(f"{count} {name}" for name, count in self.outcomes.most_common()),
            f"wrong with exit code 0 (must be 0): {sum(self.kinds[kind] for kind in WRONG)}",
            f"right at once, though no list has truth's name: {self.unlisted_at_once}",
            f"lone offers, as no list has truth's name: {self.lone}",
            f"questions where truth has a listed name and one look leaves one reading: "
            f"{self.clear_asked} of {self.clear} ({share:.1%}; at most 5 %)",
            *(f"  failed: {count:4} {kind}" for kind, count in self.kinds.most_common()),
            *(f"  {group}: {counts_in_words(counts)}" for group, counts in self.groups.items()),
        ]


def grouped_outcomes(verdicts: Sequence[Verdict]) -> dict[str, Counter[str]]:
    """Return the outcomes of each base and of each further column."""
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for trait in ("base", "extra"):
        for verdict in sorted(verdicts, key=lambda verdict: verdict.table.traits[trait]):
            outcomes = groups[f"{trait} {verdict.table.traits[trait]}"]
            outcomes[verdict.outcome] += 1
            outcomes["wrong with exit code 0"] += any(kind in WRONG for kind, _ in verdict.failures)
            outcomes["clear"] += verdict.table.clear
            outcomes["clear, but asked"] += verdict.table.clear and not at_once(verdict)
    return dict(groups)


def counts_in_words(counts: Counter[str]) -> str:
    """Return counts with their names, largest first."""
    return ", ".join(f"{count} {name}" for name, count in counts.most_common() if count)


def at_once(verdict: Verdict) -> bool:
    """Tell whether the table itself was computed, rightly or not, without a question."""
    kinds = {kind for kind, _ in verdict.failures}
    return verdict.outcome == "right at once" or kinds == {"taken without truth"}


def describe(verdict: Verdict, rows: int = 4) -> str:
    """Return a verdict with the first lines of its table, the offers and the failures."""
    table = verdict.table
    traits = "; ".join(f"{name}: {value}" for name, value in table.traits.items() if value)
    lines = [f"seed {table.seed}: {traits}", f"    meant: {table.roles}"]
    for name, columns in table.files.items():
        first_rows = [[title, *cells[:rows]] for title, cells in columns.items()]
        lines += [f"    {name}: " + " | ".join(line) for line in zip(*first_rows, strict=True)]
    lines += [f"    {kind}: {text}" for kind, text in verdict.failures]
    lines += [f"    offer: {o.meaning}\n           {o.command}" for o in verdict.offers]
    if not verdict.offers and verdict.message:
        lines.append(f"    said: {verdict.message[:600]}")
    return "\n".join(lines)


def dump(verdict: Verdict, folder: Path) -> None:
    """Write the files of a failing table, its command and its verdict into a folder."""
    place = folder / f"{verdict.table.seed:04}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    write_files(verdict.table.files, place, verdict.table.heading)
    words = ["clfeval", "report", *verdict.table.files, *verdict.table.words]
    (place / "command.sh").write_text(shlex.join(words) + "\n")
    (place / "verdict.txt").write_text(f"{describe(verdict)}\n\n{verdict.message}")


def print_failures(verdicts: Sequence[Verdict], limit: int) -> None:
    """Print failing tables, grouped by the first kind of failure."""
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.failures:
            groups[verdict.failures[0][0]].append(verdict)
    for kind, failing in sorted(groups.items(), key=lambda group: -len(group[1])):
        print(f"\n=== {kind}: {len(failing)}")
        for verdict in failing[:limit]:
            print(describe(verdict))


def main(words: Sequence[str]) -> None:
    """Judge tables and print counts and failures."""
    parser = argparse.ArgumentParser(prog="python -m tests.tables.generated")
    parser.add_argument("count", nargs="?", type=int, default=600, help="number of tables")
    parser.add_argument("--start", type=int, default=0, help="first seed")
    parser.add_argument("--only", type=int, nargs="*", help="these seeds, with all there is to say")
    parser.add_argument("--dump", type=Path, help="folder for the files of failing tables")
    parser.add_argument("--limit", type=int, default=1000, help="failures to print of a kind")
    parser.add_argument("--questions", action="store_true", help="print questions on clear tables")
    parser.add_argument("--orders", action="store_true", help="check three orders of rows instead")
    options = parser.parse_args(words)
    seeds = options.only or range(options.start, options.start + options.count)
    if options.orders:
        for seed in seeds:
            table = generate(seed)
            for text in order_differences(table):
                print(f"seed {seed}: {table.traits}\n   {text}")
        return
    folder = Path(os.path.abspath(options.dump)) if options.dump else None
    verdicts = [judge_seed(seed) for seed in seeds]
    print_failures(verdicts, options.limit)
    for verdict in verdicts:
        is_question = options.questions and verdict.table.clear and not at_once(verdict)
        if (options.only or is_question) and not verdict.failures:
            print(f"\n=== {verdict.outcome}\n{describe(verdict)}")
        if folder is not None and (verdict.failures or options.only):
            dump(verdict, folder)
    print()
    print("\n".join(Tally.from_verdicts(verdicts).lines()))

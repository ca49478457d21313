"""The house rules, read from the source: who imports whom, how long files are."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from clfeval import placeholders
from tests.sources import FILES, PACKAGE, nodes_of, tree_of

ROOT = Path(__file__).parent.parent
LONGEST = 600  # lines of a file
CAMEL = re.compile(r"[A-Z]+[a-z]\w*")

# room: rooms of this package it may import | libraries besides the standard ones. `document`
# imports inside the methods that print and save only; what is public is imported by its name,
# on first use
_ROOMS = """
errors: placeholders records
arrays: records | numpy
options: errors placeholders records
formatting:
interrupt:
json_schema:
output_files: interrupt
placeholders:
records:
document: json_schema records
measures: arrays errors placeholders records | numpy
inference: arrays records | numpy scipy
tables: arrays document errors json_schema measures options output_files placeholders records |
  backports compression narwhals numpy polars yaml
counts: arrays document errors formatting inference placeholders records tables | numpy
pages: document formatting measures placeholders records
compare: arrays counts document errors formatting inference json_schema measures options
  output_files pages placeholders records | numpy
methods: arrays compare counts document errors formatting inference measures options
  placeholders records tables | numpy
views: arrays compare document errors formatting methods options output_files pages placeholders
  records | numpy plotext resvg_py rich
api: compare counts document errors formatting measures methods options pages placeholders
  records tables views | numpy pandas polars
suite: api compare document errors formatting measures methods options output_files pages
  placeholders records tables views
cli: api compare document errors formatting interrupt methods options output_files pages
  placeholders records suite tables views | rich typer
__init__:
__main__: cli interrupt
"""
ROOMS = {
    room: tuple({*names.split()} for names in f"{rest}|".split("|")[:2])
    for room, _, rest in (
        line.partition(":") for line in _ROOMS.replace("\n  ", " ").strip().split("\n")
    )
}


def imports_of(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = {alias.name for alias in node.names} if node.module == "clfeval" else set()
            yield from [f"clfeval.{room}" for room in names & {*ROOMS}] or [node.module]


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def may_import(room: str, name: str) -> bool:
    inside, outside = ROOMS[room]
    top, _, rest = name.partition(".")
    if top == "clfeval":
        target = rest.split(".")[0]
        return not target or target == room or target in inside
    return top in sys.stdlib_module_names or top in outside


def test_files_import_only_what_their_room_may() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in FILES
        for name in imports_of(path)
        if not may_import(room_of(path), name)
    ]
    assert wrong == []


def test_no_room_may_import_what_it_does_without() -> None:
    idle = {room: inside | outside for room, (inside, outside) in ROOMS.items()}
    for path in FILES:
        idle[room_of(path)] -= {
            name.removeprefix("clfeval.").partition(".")[0] for name in imports_of(path)
        }
    assert {room: names for room, names in idle.items() if names} == {}


# number of files that import each other in circles; these numbers only fall
FILES_IN_CIRCLES = {"when they run": 0, "by a name in a text too": 0, "for types too": 0}


def test_no_files_import_each_other_in_a_circle() -> None:
    """Inside functions too, then by names in texts, and for types alone."""
    graphs = {
        "when they run": import_graph(),
        "by a name in a text too": import_graph(named=True),
        "for types too": import_graph(types=True),
    }
    for kind, graph in graphs.items():
        circles = circles_of(graph)
        text = "; ".join(" ".join(sorted(circle)) for circle in circles)
        assert sum(map(len, circles)) == FILES_IN_CIRCLES[kind], f"{kind}: {text or 'fewer'}"


def import_graph(*, named: bool = False, types: bool = False) -> dict[str, set[str]]:
    """Return the files that each file imports, by their dotted names."""
    names = {
        "clfeval." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path
        for path in FILES
    }
    files = {name.removesuffix(".__init__"): path for name, path in names.items()}
    graph = {}
    for name, path in files.items():
        imported = {*all_imports(tree_of(path), files, types=types)}
        if named:
            imported |= {*named_imports(nodes_of(path), files)}
        graph[name] = imported - {name, "clfeval"}
    return graph


def all_imports(node: ast.AST, files: Collection[str], *, types: bool) -> Iterator[str]:
    """Yield the files that a file imports when it runs, or for types too."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue  # which holds no statement
        for_types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        if for_types and not types:
            continue
        if isinstance(child, ast.ImportFrom) and child.module:
            names = [f"{child.module}.{alias.name}" for alias in child.names]
            imported = {name if name in files else child.module for name in names}
            yield from (name for name in imported if name in files)
        yield from all_imports(child, files, types=types)


def named_imports(nodes: Collection[ast.AST], files: Collection[str]) -> Iterator[str]:
    """Yield the files whose names stand in the texts of a file that imports by name.

    A part of a text that is computed stands for any one word.
    """
    if "import_module" not in {node.id for node in nodes if isinstance(node, ast.Name)}:
        return
    for node in nodes:
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        constants = [part.value if isinstance(part, ast.Constant) else None for part in parts]
        if str(constants[0]).startswith("clfeval."):
            pattern = "".join(
                r"\w+" if text is None else re.escape(str(text)) for text in constants
            )
            yield from (name for name in files if re.fullmatch(pattern, name))


def circles_of(graph: Mapping[str, Collection[str]]) -> list[set[str]]:
    """Return the sets of files that all reach one another."""
    reached = {name: reachable(graph, name) for name in graph}
    circles = {frozenset(b for b in reached[a] if a in reached[b]) for a in graph}
    return [{*circle} for circle in circles if circle]


def reachable(graph: Mapping[str, Collection[str]], start: str) -> set[str]:
    """Return the files that a file imports, and that those import, and so on."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = {*graph[waiting.pop()]} - found
        found |= new
        waiting += new
    return found


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set[str]()}
    assert circles_of(graph) == [{"b", "c"}]


def test_no_method_takes_anything_from_another_ones_folder() -> None:
    """What several commands measure stands in shared folders, or beside the folders."""
    shared = {"measurement", "recalibration"}
    folders = {path.parent.name for path in FILES if path.parent.parent.name == "methods"}
    assert {"mars", "report", "measurement"} <= folders
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in FILES
        if path.parent.name in folders and path.parent.parent.name == "methods"
        for name in imports_of(path)
        for other in folders - {path.parent.name, *shared}
        if name.startswith(f"clfeval.methods.{other}.")
    ]
    assert wrong == []


def test_files_are_short() -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {str(path.relative_to(ROOT)): n for path, n in lines.items() if n > LONGEST} == {}


def test_files_say_what_they_are_for() -> None:
    first = {path: (ast.get_docstring(tree_of(path)) or "").partition("\n")[0] for path in FILES}
    silent = [path for path, line in first.items() if not line.endswith((".", ":"))]
    assert [str(path.relative_to(ROOT)) for path in silent] == []


def test_no_class_name_stands_twice() -> None:
    """A word means one thing: neither classes nor aliases of types share a name."""
    names = Counter(name for path in FILES for name in kinds_of(path))
    assert {name for name, times in names.items() if times > 1} == set()


def kinds_of(path: Path) -> Iterator[str]:
    """Yield the names of classes and type aliases at the top of a file: words in camel case."""
    for node in tree_of(path).body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name) and CAMEL.fullmatch(target.id):
                    yield target.id


def test_only_the_command_line_prints_and_exits() -> None:
    for path in FILES:
        if room_of(path) not in ("cli", "__main__"):
            calls = [node.func for node in nodes_of(path) if isinstance(node, ast.Call)]
            assert (
                not any(
                    (isinstance(call, ast.Name) and call.id == "print")
                    or (isinstance(call, ast.Attribute) and call.attr == "exit")
                    for call in calls
                )
                or path.name == "result.py"
            ), path  # whose `show` prints


ROLE_FLAGS = re.compile(r"--(?:ignore|truth|positive|kind|weight)[ =]$")


def test_only_one_function_writes_roles_into_a_proposal() -> None:
    """A proposed role is an option of a reading: whoever writes its flag with a name could err."""
    written = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in FILES
        for node in nodes_of(path)
        if writes_role(node)
    ]
    assert written == []


def writes_role(node: ast.AST) -> bool:
    """Return whether a node joins the flag of a role and a value, by one of the ways there are."""
    if isinstance(node, ast.JoinedStr):
        before = [part.value for part, _ in pairwise(node.values) if isinstance(part, ast.Constant)]
        return any(ROLE_FLAGS.search(str(text)) for text in before)
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "format_option":
        flag = node.args[0]
        return isinstance(flag, ast.Constant) and bool(ROLE_FLAGS.search(f"{flag.value} "))
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return any(ROLE_FLAGS.search(part) for part in re.split(r"[{%]", node.value)[:-1])
    return False


@pytest.mark.parametrize(
    "code",
    [
        "f'add --ignore {name}'",
        "f'{hint} or --weight={name} to weight'",
        "format_option('--truth', name)",
        "'add --positive {}'.format(name)",
        "'add --kind %s' % name",
    ],
)
def test_a_role_in_a_proposal_is_found(code: str) -> None:
    assert any(writes_role(node) for node in ast.walk(ast.parse(code)))


@pytest.mark.parametrize(
    "code", ["f'--ignore leaves out {name}'", "'add --truth COLUMN'", "format_option('--by', name)"]
)
def test_what_proposes_no_role_is_not(code: str) -> None:
    assert not any(writes_role(node) for node in ast.walk(ast.parse(code)))


# help texts, and the screens of --explain, which only a shell has
TEXTS_OF_A_SHELL = (
    "cli/app.py",
    "cli/command.py",
    "cli/help_and_completion.py",
    "pages/codes.py",
    "pages/explain.py",
    "methods/measurement/measure_rows.py",
    "placeholders.py",
    "__main__.py",
)
DECLARATIONS = ("Opt", "Command", "_rate_option", "margin_option")
MARKS = {
    name: getattr(placeholders, name) for name in ("OPTION", "SWITCH", "COMMAND", "ADD", "END")
}
_FILLED = re.compile(
    f"[{placeholders.OPTION}{placeholders.SWITCH}{placeholders.COMMAND}][^{placeholders.END}]*"
)
_NAMES_AN_OPTION = re.compile(r"(?<![\w-])(?:--[a-z{]|FLAG)")
_IS_A_FLAG = re.compile(r"-(?:-[a-z]+)+=?|-f|--\{\}|FLAG=")
# a panel of the help, the name of a table that options hold, and words of a command line
NO_MESSAGES = ("With --from predictions", "--sensitivity --specificity", "mlcps --from predictions")


def texts_without_docstrings(nodes: Collection[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the texts of a file with their marks, but those of options' declarations.

    What is put in is `{}`, or `FLAG` where it is the flag of an option.
    """
    skipped: set[ast.AST] = set()
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(node.value)  # documentation
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in DECLARATIONS:
            skipped |= {*ast.walk(node)}
        elif isinstance(node, ast.JoinedStr):
            skipped |= {*node.values}
    for node in nodes:
        if node in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(map(text_of_piece, node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def text_of_piece(piece: ast.expr) -> str:
    """Return a piece of a formatted text as it is checked."""
    if isinstance(piece, ast.Constant):
        return str(piece.value)
    assert isinstance(piece, ast.FormattedValue)
    name = getattr(piece.value, "attr", getattr(piece.value, "id", ""))
    return MARKS.get(name, "FLAG" if name.casefold() == "flag" else "{}")


def options_without_marks(nodes: Collection[ast.AST]) -> list[str]:
    """Return the texts of a file that name an option outside a placeholder, with their lines."""
    return [
        f"{line}: {text}"
        for line, text in texts_without_docstrings(nodes)
        if text not in NO_MESSAGES
        and not _IS_A_FLAG.fullmatch(text)
        and _NAMES_AN_OPTION.search(_FILLED.sub("", text))
    ]


def test_a_text_names_options_in_placeholders_only() -> None:
    """A text says an option in the words of its reader: a shell, Python or YAML."""
    checked = [path for path in FILES if str(path.relative_to(PACKAGE)) not in TEXTS_OF_A_SHELL]
    wrong = {str(path): options_without_marks(nodes_of(path)) for path in checked}
    assert {name: texts for name, texts in wrong.items() if texts} == {}


@pytest.mark.parametrize(
    ("code", "number"),
    [
        ('hint = "add --id COLUMN"', 1),
        ('hint = f"add {OPTION}--id COLUMN{END}"', 0),
        ('hint = f"{flag} is not given"', 1),
        ('hint = f"{OPTION}{option.flag}{END} {name} or --id"', 1),
        ("hint = f\"{'--id' * bool(name)}, --by\"", 1),
        ('flag = "--id"', 0),
        ('"""Read --id."""', 0),
        ('id: Opt("Column of ids, not with --join.") = None', 0),
    ],
)
def test_an_option_outside_a_placeholder_is_found(code: str, number: int) -> None:
    assert len(options_without_marks([*ast.walk(ast.parse(code))])) == number


def test_the_command_line_starts_without_heavy_libraries() -> None:
    heavy = ["polars", "numpy", "scipy", "plotext", "narwhals", "rich.table", "rich.console"]
    script = f"import sys, clfeval.cli.app; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_the_command_line_loads_no_part_of_numpy_for_scipy_alone() -> None:
    script = (
        "import sys, clfeval.cli.app as app\n"
        "sys.argv = ['clfeval', 'report', 'fixtures/mars-paper/wide.csv', '-q', '-f', 'json']\n"
        "app.main()\n"
    )
    end = (
        "import atexit, sys; atexit.register(lambda: print(sorted(\n"
        " {'numpy.f2py.f2py2e', 'numpy.ma.core', 'scipy.special'} & {*sys.modules}), "
        "file=sys.stderr))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", end + script], capture_output=True, text=True, cwd=ROOT
    )
    assert done.stderr.splitlines()[-1] == "['scipy.special']"


def test_a_run_takes_no_library_that_it_does_not_need() -> None:
    script = (
        "import sys, clfeval; str(clfeval.mlcps('fixtures/metrics/test.csv'))\n"
        "for one in (clfeval.mars, clfeval.phidelta, clfeval.tune_jpt):\n"
        "    str(one('fixtures/mars-paper/wide.csv'))\n"
        "heavy = 'scipy.stats', 'plotext', 'pandas', 'pyarrow', 'yaml'\n"
        "print([one for one in heavy if one in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "arguments",
    [
        "tune-jpt --counts 67,5,33,95",
        "tune-jpt --sensitivity .9 --specificity .8",
        "mlcps fixtures/metrics/test.csv",
    ],
)
def test_counts_and_metric_tables_need_no_engine(arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "clfeval", *arguments.split()],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    names = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]
    imported = {name.partition(".")[0] for name in names}
    assert "numpy" in imported
    assert imported.isdisjoint({"polars", "narwhals", "pandas", "pyarrow", "plotext"})


def test_the_top_level_holds_what_the_project_says() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.split("\n")
    top = {name.split("/")[0] for name in listed if name}
    known = {"pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "Makefile"}
    known |= {"clfeval", "tests", "fixtures", "completions"}
    assert {name for name in top if not name.startswith(".")} == known


# words that name nothing: of no file, class or function, and of fewer and fewer variables
VAGUE = {
    *re.findall(
        r"\w+",
        """
about after against ahead alike all_of also apart around as_is aside asked at before beside between
big both called chosen counted data done drawn each elem ended ends entry few fits for_ found given
held here how in_ inside item items judged kept known late least less like listed looked made many
mine missed more moved named near noted obj of off on one other outside over own past placed put res
rests said same seen shown some spread stated still stood stuff such sure taken tells that them
there these thing things those tmp together told touched under unseen up val vals wanted what where
which whole why wished with_ within without worth wrong
""",
    )
}


def test_names_tell_what_they_are_for() -> None:
    """Files, classes, functions and methods, private ones too."""
    found = []
    for path in FILES:
        names = [(path.stem, "")]
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                names.append((node.name, ""))
            if isinstance(node, ast.ClassDef):
                inner = (one for one in node.body if isinstance(one, ast.FunctionDef))
                names += [(one.name, node.name) for one in inner]
        found += [(path.name, *name) for name in names if name[0].strip("_").casefold() in VAGUE]
    assert found == []

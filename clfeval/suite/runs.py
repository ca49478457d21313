"""Runs of a batch: own keys and defaults, one run per combination of a matrix and per file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from json import dumps
from math import prod
from pathlib import Path
from typing import Any

from clfeval import COMMANDS
from clfeval.compare.gates.kinds import KINDS
from clfeval.compare.gates.limits import Gates
from clfeval.errors import UsageError, list_names, suggestion
from clfeval.options.declaration import READING, as_list, options_of
from clfeval.output_files import target_path
from clfeval.records import dataclass, replace
from clfeval.suite import run_options, schema
from clfeval.suite.reading import BatchDeclaration, BatchErrors, Node
from clfeval.tables.input import InputOptions, split_path
from clfeval.tables.source import display_name

_NOTHING = Node(None, None, ())  # type: ignore[arg-type]
MOST = 10_000  # runs of a batch


@dataclass(frozen=True, slots=True)
class Run:
    """One run. group: its key in the file; nodes: its values there, by option.

    home: the folder of the file that names its table. valid: without errors. replaced_gates: gates
    of the defaults that it overrides.
    """

    name: str
    group: str
    keys: schema.RunKeys
    input: tuple[str, ...] | run_options.RunLink | None
    options: Mapping[str, Any]
    nodes: Mapping[str, Node]
    place: str
    home: str = ""
    save: tuple[str, ...] = ()
    valid: bool = True
    replaced_gates: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The name of its command."""
        return self.keys.command.name

    @property
    def files(self) -> tuple[str, ...]:
        """The files of its table."""
        return self.input if isinstance(self.input, tuple) else ()

    @property
    def required(self) -> str | None:
        """The name of the run whose table it reads, if any."""
        return self.input.run if isinstance(self.input, run_options.RunLink) else None

    @property
    def reads(self) -> tuple[str, ...]:
        """Every file it reads, by name or pattern: table, others, baseline."""
        paths = [path for _, path in map(split_path, self.files)]  # without their labels
        for option in self.keys.options:
            if schema.names_a_file(option):
                option_values = as_list(self.options.get(option.name))
                paths += [path for path in option_values if isinstance(path, str)]
        return tuple(paths)

    @property
    def input_patterns(self) -> tuple[str, ...]:
        """The patterns of `inputs`, which may match other files in a later run."""
        node = self.nodes.get("inputs", _NOTHING)
        texts = (text for text in as_list(node.value) if isinstance(text, str))
        labelled_paths = (run_options.resolve_path(node, text) for text in texts)
        return tuple(path for _, path in map(split_path, labelled_paths))


def describe_input(run: Run) -> str:
    """Return the text on the input of a run: files relative to the YAML file, or by name."""
    if isinstance(run.input, run_options.RunLink):
        return f"{run.input.run}: {run.input.table or 'its first table'}"
    paths = [display_path(run, path) for _, path in map(split_path, run.files)]
    files_text = ", ".join(paths[:3])
    return f"{files_text} and {len(paths) - 3} more" if len(paths) > 3 else files_text


def display_path(run: Run, path: str) -> str:
    """Return a path relative to the folder of the YAML file; of files outside it the name."""
    absolute = Path(os.path.abspath(path))
    home = os.path.abspath(run.home)
    if not absolute.is_relative_to(home):
        return display_name(path)
    return absolute.relative_to(home).as_posix().encode(errors="replace").decode()


def build_runs(declaration: BatchDeclaration, output_group: type, errors: BatchErrors) -> list[Run]:
    """Return the runs in the order of the file, with matrices expanded."""
    runs: list[Run] = []
    for group, nodes in declaration.runs.items():
        error_count_before = errors.times
        command_keys = _keys(group, nodes, declaration, output_group, errors)
        if command_keys is None:  # an error is reported
            continue
        own_nodes = _options_by_name(nodes, command_keys, errors)
        for key in nodes.keys() - command_keys.options_by_name.keys() - {*schema.RUN}:
            schema.report_unknown_key(nodes[key], key, command_keys, errors)
        default_nodes = _defaults(declaration, command_keys, own_nodes, errors)
        overridden_gates = [
            name for name in default_nodes if name in schema.LIMITS and name in own_nodes
        ]
        replaced_gates = tuple(
            name.replace("_", "-") for name in overridden_gates if own_nodes[name].value != []
        )
        remaining_count = MOST - len(runs)
        runs += (
            replace(run, valid=errors.times == error_count_before, replaced_gates=replaced_gates)
            for run in _expand_run(
                group, {**default_nodes, **own_nodes}, command_keys, errors, remaining_count
            )
        )
    _check_names(runs, errors)
    return runs


def _keys(
    group: str,
    nodes_by_key: Mapping[str, Node],
    declaration: BatchDeclaration,
    output_group: type,
    errors: BatchErrors,
) -> schema.RunKeys | None:
    """Return the keys of a run's command; None, with an error reported, for an unknown one."""
    command_node = nodes_by_key.get("command") or declaration.defaults.get("command")
    all_keys = schema.all_run_keys(output_group)
    if command_node is not None:
        command_name = (
            command_node.value.replace("_", "-") if isinstance(command_node.value, str) else None
        )
        if command_name in COMMANDS:
            return schema.run_keys(command_name, output_group)
        hint = suggestion(command_name or "", COMMANDS) or f"use one of {', '.join(COMMANDS)}"
        errors.add_problem(command_node, f"command: no command {command_node.value!r:.60}", hint)
    else:
        first_node = next(iter(nodes_by_key.values()), None)
        file = first_node.file if first_node else declaration.files[0]
        hint = f"add command: NAME, one of {', '.join(COMMANDS)}"
        errors.add_problem(file.place("runs", group), f"run '{group}' has no command", hint)
    for key, node in nodes_by_key.items():
        if key not in all_keys and key not in schema.RUN:
            schema.report_unknown_key(node, key, all_keys, errors)
    return None


def _options_by_name(
    nodes_by_key: Mapping[str, Node], command_keys: schema.RunKeys, errors: BatchErrors
) -> dict[str, Node]:
    """Return the nodes by the Python name of their options."""
    nodes_by_name: dict[str, Node] = {}
    for key, node in nodes_by_key.items():
        name = command_keys.option_name(key)
        if name in nodes_by_name:
            first_key = nodes_by_name[name].path[-1]
            errors.add_problem(
                node, f"'{node.path[-1]}' and '{first_key}' are the same option", "keep one"
            )
        elif name in command_keys.options_by_name or name in schema.RUN:
            nodes_by_name[name] = node
    return nodes_by_name


def _defaults(
    declaration: BatchDeclaration,
    command_keys: schema.RunKeys,
    own_nodes: Mapping[str, Node],
    errors: BatchErrors,
) -> dict[str, Node]:
    """Return the defaults that apply to a run; column roles apply to predictions only."""
    all_keys = schema.all_run_keys(command_keys.output)
    for key, node in declaration.defaults.items():
        if key not in all_keys and key not in schema.RUN:
            schema.report_unknown_key(node, key, all_keys, errors)
        elif key in ("inputs", "matrix", "exclude"):
            errors.add_problem(node, f"'{key}' belongs to a run and cannot be a default")
    usable_keys = {*command_keys.options_by_name, *schema.RUN[:2]}
    usable_nodes = {key: node for key, node in declaration.defaults.items() if key in usable_keys}
    if "baseline" in declaration.defaults:
        usable_nodes["baseline"] = declaration.defaults["baseline"]
    default_nodes = _options_by_name(usable_nodes, command_keys, errors)
    if "inputs" in own_nodes:
        default_nodes.pop("input", None)
    input_node = own_nodes.get("input") or default_nodes.get("input") or _NOTHING
    source_node = own_nodes.get("source") or default_nodes.get("source") or _NOTHING
    is_linked = isinstance(input_node.value, dict)
    reads_metrics = command_keys.command.name == "mlcps" and source_node.value != "predictions"
    unused_names = {
        option.name
        for option in command_keys.command.options_of(InputOptions)
        if is_linked or (reads_metrics and option.opt.panel != READING)
    }
    unused_names |= {
        gate_kind.option
        for gate_kind in KINDS
        if not gate_kind.applies_to(command_keys.command.name)
    }
    return {name: node for name, node in default_nodes.items() if name not in unused_names}


def _expand_run(
    group: str,
    nodes_by_key: Mapping[str, Node],
    command_keys: schema.RunKeys,
    errors: BatchErrors,
    remaining_count: int,
) -> Iterator[Run]:
    """Yield a run for each combination of a matrix, and for each file of `inputs`."""
    first_node = next(iter(nodes_by_key.values()))
    place = first_node.file.place("runs", group)
    table_node = nodes_by_key.get("inputs") or nodes_by_key.get("input") or first_node
    for label, axis_nodes in combinations(nodes_by_key, command_keys, errors, remaining_count):
        combined_nodes = {**nodes_by_key, **axis_nodes}
        tables = [*run_options.run_tables(combined_nodes, command_keys, group, place, errors)]
        if len(tables) > remaining_count:
            raise too_many_runs_error(place)
        remaining_count -= len(tables)
        option_nodes = _option_nodes(combined_nodes, errors)
        # an invalid one stops the batch after all of it is read
        options = run_options.read_options(command_keys, option_nodes, errors)
        run_nodes = dict(option_nodes)
        if "inputs" in nodes_by_key:
            run_nodes["inputs"] = nodes_by_key["inputs"]
        unnamed_run = Run(
            name="",
            group=group,
            keys=command_keys,
            input=None,
            options=options,
            nodes=run_nodes,
            place=place,
            home=os.path.dirname(table_node.file.name),
        )
        for stem, table in tables:
            name = _run_name(group, stem, label)
            yield _named_run(replace(unnamed_run, name=name, input=table), errors)


def _run_name(group: str, *labels: str) -> str:
    """Return the name of a run: its key in the file, with its labels in brackets if it has any."""
    label = ",".join(filter(None, labels))
    return f"{group}[{label}]" if label else group


def _option_nodes(nodes_by_key: Mapping[str, Node], errors: BatchErrors) -> dict[str, Node]:
    """Return the nodes of a run's options, those of gates on a baseline among them."""
    other_keys = {*schema.RUN} - {"baseline"}
    option_nodes = {key: node for key, node in nodes_by_key.items() if key not in other_keys}
    if "baseline" in option_nodes:
        option_nodes |= _baseline_gates(option_nodes.pop("baseline"), option_nodes, errors)
    return option_nodes


def _named_run(run: Run, errors: BatchErrors) -> Run:
    """Return a run with its name put into the paths of its outputs and of its baseline."""
    options = dict(run.options)
    path_texts = tuple(as_list(options.pop("save", ())))
    save_paths: tuple[str, ...] = ()
    if path_texts:
        has_rows = options.get("calibrator") is not None
        save_paths = run_options.output_paths(
            run.nodes["save"], path_texts, run.name, errors, rows=has_rows
        )
    if options.get("baseline"):
        file_name = run_options.safe_file_name(run.name)
        options["baseline"] = options["baseline"].replace("{name}", file_name)
    return replace(run, options=options, save=save_paths)


def _baseline_gates(
    node: Node, option_nodes: Mapping[str, Node], errors: BatchErrors
) -> dict[str, Node]:
    """Return the options on gates in a baseline: its file and the keys next to it."""
    if not isinstance(node.value, dict):
        return {"baseline": node}
    gate_names = {option.name for option in options_of(Gates)} - {"baseline"}
    gate_nodes: dict[str, Node] = {}
    for key, child in node.pairs():
        name = key.replace("-", "_")
        name = name if name in gate_names else f"baseline_{name}"
        if key == "input" and child.value is not None:
            gate_nodes["baseline"] = child
        elif key == "input":
            errors.add_problem(
                child, "baseline: input must name a file", "write baseline: {input: FILE}"
            )
        elif name not in gate_names:
            gate_keys = [gate_name.replace("_", "-") for gate_name in sorted(gate_names)]
            known_keys = ["input", *gate_keys]
            hint = suggestion(key, known_keys) or f"keys: {', '.join(known_keys)}"
            errors.add_problem(child, f"baseline: unknown key '{key}'", hint)
        elif name in gate_nodes or name in option_nodes:
            errors.add_problem(child, f"baseline: {key} is given twice", "keep one of the two")
        else:
            gate_nodes[name] = child
    if "input" not in node.value:
        errors.add_problem(
            node, "baseline: the key 'input' is missing", "write baseline: {input: FILE}"
        )
    return gate_nodes


def _check_names(runs: Sequence[Run], errors: BatchErrors) -> None:
    """Report runs with the same name, and runs that save the same file."""
    for name, run_count in Counter(run.name for run in runs).items():
        if run_count > 1:
            place = next(run.place for run in runs if run.name == name)
            errors.add_problem(
                place, f"{run_count} runs have the name '{name}'", "give each value once"
            )
    owner_by_path: dict[str, Run] = {}
    for run in runs:
        for path in run.save:
            owner = owner_by_path.setdefault(target_path(path), run)
            if owner is not run:
                message = f"save: runs '{owner.name}' and '{run.name}' both write '{path}'"
                hint = "put {name} in the path for the name of the run"
                errors.add_problem(run.nodes["save"], message, hint)
        if len({*map(target_path, run.save)}) < len(run.save):
            errors.add_problem(run.nodes["save"], "save: a file is named twice")


def combinations(
    nodes_by_key: Mapping[str, Node],
    command_keys: schema.RunKeys,
    errors: BatchErrors,
    remaining_count: int,
) -> list[tuple[str, dict[str, Node]]]:
    """Return the combinations of a matrix, with labels; a single empty one without a matrix."""
    if "matrix" not in nodes_by_key:
        if "exclude" in nodes_by_key:
            errors.add_problem(nodes_by_key["exclude"], "exclude needs a matrix")
        return [("", {})]
    matrix = nodes_by_key["matrix"]
    if not isinstance(matrix.value, dict) or not matrix.value:
        errors.add_problem(
            matrix, "matrix must map options to lists", "write {threshold: [0.1, 0.5]}"
        )
        return []
    axes = _matrix_axes(matrix, command_keys, errors)
    if prod(map(len, axes.values())) > remaining_count:
        raise too_many_runs_error(matrix.place)
    exclusion_rules = _read_exclusions(nodes_by_key.get("exclude"), axes, command_keys, errors)
    choices = (dict(zip(axes, axis_values, strict=True)) for axis_values in product(*axes.values()))
    remaining_choices = [
        choice
        for choice in choices
        if not any(_is_excluded(choice, rule) for rule in exclusion_rules)
    ]
    if axes and not remaining_choices:
        errors.add_problem(
            nodes_by_key["exclude"], "exclude removes every combination of the matrix"
        )
    return [(_combination_label(choice), choice) for choice in remaining_choices]


def _is_excluded(choice: Mapping[str, Node], rule: Mapping[str, Node]) -> bool:
    """Return whether a combination of a matrix has all values of a rule."""
    return all(name in choice and choice[name].value == rule[name].value for name in rule)


def _combination_label(choice: Mapping[str, Node]) -> str:
    """Return the label of a combination of a matrix: `key=value,key=value`."""
    return ",".join(
        f"{name.replace('_', '-')}={_value_text(node)}" for name, node in choice.items()
    )


def _matrix_axes(
    matrix: Node, command_keys: schema.RunKeys, errors: BatchErrors
) -> dict[str, list[Node]]:
    """Return the values of the options that a matrix varies, by name."""
    axes: dict[str, list[Node]] = {}
    for key, child in matrix.pairs():
        name = command_keys.option_name(key.replace("-", "_"))
        if name in schema.RUN and name != "input":
            errors.add_problem(child, f"a matrix cannot vary '{key}'")
        elif name not in command_keys.options_by_name and name != "input":
            schema.report_unknown_key(child, name, command_keys, errors)
        elif name in axes:
            errors.add_problem(
                child, f"{key}: this option is given twice", "keep one list of its values"
            )
        elif not isinstance(child.value, list) or not child.value:
            errors.add_problem(
                child, f"{key} needs a list of values in a matrix", f"write {key}: [...]"
            )
        else:
            axes[name] = [value_node for _, value_node in child.children()]
    return axes


def _read_exclusions(
    node: Node | None,
    axes: Mapping[str, Sequence[Node]],
    command_keys: schema.RunKeys,
    errors: BatchErrors,
) -> list[dict[str, Node]]:
    """Return the combinations to exclude."""
    if node is None:
        return []
    hint = "write exclude: [{threshold: 0.5}]"
    if not isinstance(node.value, list):
        errors.add_problem(node, "exclude must be a list of mappings", hint)
        return []
    rules = []
    for _, child in node.children():
        if not isinstance(child.value, dict) or not child.value:
            errors.add_problem(child, "exclude: entries must be mappings", hint)
        else:
            rules.append(_read_rule(child, axes, command_keys, errors))
    return rules


def _read_rule(
    rule_node: Node,
    axes: Mapping[str, Sequence[Node]],
    command_keys: schema.RunKeys,
    errors: BatchErrors,
) -> dict[str, Node]:
    """Return the values of a combination to exclude, by option; report those no matrix has."""
    rule_nodes: dict[str, Node] = {}
    for key, child in rule_node.pairs():
        name = command_keys.option_name(key.replace("-", "_"))
        if name not in axes:
            hint = suggestion(key, axes) or f"its keys: {list_names(axes)}"
            errors.add_problem(child, f"exclude: the matrix has no '{key}'", hint)
        elif all(child.value != value_node.value for value_node in axes[name]):
            hint = f"values: {', '.join(map(_value_text, axes[name]))}"
            errors.add_problem(child, f"exclude: {key} has no value {_value_text(child)}", hint)
        rule_nodes[name] = child
    return rule_nodes


def _value_text(node: Node) -> str:
    """Write a value of a matrix for the name of its run."""
    if isinstance(node.value, list):
        return "+".join(_value_text(child) for _, child in node.children())
    if isinstance(node.value, dict):
        return ",".join(f"{key}:{_value_text(child)}" for key, child in node.children())
    if isinstance(node.value, str):
        return node.value
    return node.written or dumps(node.value)


def too_many_runs_error(place: str) -> UsageError:
    """Build the error for more runs than a batch may have."""
    return UsageError.new(f"the batch has more than {MOST:,} runs", "configuration", place)

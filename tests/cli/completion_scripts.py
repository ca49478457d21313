"""The completion scripts: `python -m tests.cli.completion_scripts DIR` writes one for each shell.

They are typer's own, taken over its protocol, with the function that asks the program rewritten.
Typer's functions insert names without quotes, lose a column's name at its spaces, colons and
quotes, do not see a table typed after the cursor, and in zsh evaluate what the program prints.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from clfeval import COMMANDS
from clfeval.cli.output import Output
from clfeval.compare.gates.limits import Gates
from clfeval.compare.history.file import HistoryOptions
from clfeval.methods.command_lookup import command_of

FILES = {"bash": "clfeval.bash", "zsh": "_clfeval", "fish": "clfeval.fish"}
# Options whose value is a name or a class: where there is nothing to suggest, no files are listed
_EVERY = [
    one for name in COMMANDS for one in command_of(name).options(Output, Gates, HistoryOptions)
]
NO_FILES = (
    *dict.fromkeys(one.flag for one in _EVERY if one.opt.completes),
    "--explain",
    "--classes",
)

_BASH = r"""# Completion of clfeval for bash: source this file, or copy it as `clfeval` to
# ~/.local/share/bash-completion/completions. Each TAB runs the program, which reads the header.
# Made by `make completions` from typer's script: change tests/cli/completion_scripts.py.

# Split a line into `words` as the shell would, without their quotes. The last, unfinished one is
# in `word`, with the quote still open in `open`; readline replaces it except for its start `kept`.
_clfeval_split() {
    local line=$1 char next i begun= outside=
    words=() word= open= kept=
    for ((i = 0; i < ${#line}; i++)); do
        char=${line:i:1} next=${line:i+1:1}
        if [[ $char == "$open" ]]; then
            open= kept=$outside
        elif [[ $open == "'" ]]; then
            word+=$char
        elif [[ $char == \\ ]]; then
            [[ $open && $next != [\\\"\$\`] ]] && word+=$char
            word+=$next begun=1
            ((i++))
        elif [[ $open ]]; then
            word+=$char
        elif [[ $char == [\"\'] ]]; then
            open=$char outside=$kept kept=$word begun=1
        elif [[ $char == [[:space:]] ]]; then
            [[ $begun ]] && words+=("$word")
            word= kept= begun=
        else
            word+=$char begun=1
            [[ $COMP_WORDBREAKS == *"$char"* ]] && kept=$word
        fi
    done
}

# Rewritten by clfeval. From typer's function: names came out unquoted (`two words` as two words,
# `a*` as the files it matches), and COMP_WORDS, which bash also splits at : and =, lost such names.
_clfeval_completion() {
    local -a words before after answers asked
    local word open kept current option= item answer IFS=$' \t\n'
    local line=${COMP_LINE:-${COMP_WORDS[*]}} quote="'\\''"
    local point=${COMP_POINT:-${#line}}

    # Words after the cursor go first, for the table may be among them.
    local rest=${line:point}
    rest=${rest#"${rest%%[[:space:]]*}"}
    _clfeval_split "$rest "
    for item in "${words[@]}"; do [[ $item == -- ]] || after+=("$item"); done
    _clfeval_split "${line:0:point}"
    [[ $open ]] && after=()
    before=("${words[@]}") current=$word
    if [[ $current == --*=* ]]; then
        option=${current%%=*}= current=${current#*=}
        before+=("${option%=}")
    fi
    asked=("${before[@]:0:2}")
    ((${#before[@]} > 1)) && asked+=("${after[@]}" "${before[@]:2}")
    asked+=("$current")

    # One quoted string, as the program splits it; newer bash would expand & without the quotes.
    line=
    for item in "${asked[@]}"; do line+="'${item//"'"/"$quote"}' "; done
    mapfile -t answers < <(
        env COMP_WORDS="$line" COMP_CWORD=$((${#asked[@]} - 1)) _CLFEVAL_QUOTES=1 \
            _CLFEVAL_COMPLETE=complete_bash "${1/#\~\//"$HOME/"}" 2> /dev/null
    )

    COMPREPLY=()
    for answer in "${answers[@]}"; do
        [[ $answer ]] || continue
        answer=$option$answer
        [[ $answer == "$kept"* ]] || continue
        answer=${answer:${#kept}}
        case $open in
            "'")
                answer=${answer//"'"/"$quote"}
                [[ $answer == *\' ]] && answer+="'" # readline takes that quote for the closing one
                ;;
            '"')
                answer=${answer//\\/\\\\}
                answer=${answer//\"/\\\"}
                answer=${answer//\$/\\\$}
                answer=${answer//\`/\\\`}
                answer=${answer//!/\"\'!\'\"} # else the history is searched
                [[ $answer == *\" ]] && answer+='"'
                ;;
            *) printf -v answer %q "$answer" ;;
        esac
        COMPREPLY+=("$answer")
    done
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2> /dev/null
    if ((${#COMPREPLY[@]} == 0)); then # nothing: then files, unless a name or class is due
        case ${before[${#before[@]}-1]} in
            @NO_FILES@) compopt +o default 2> /dev/null ;;
        esac
    fi
    return 0
}
"""

_ZSH = r"""# Completion of clfeval for zsh: copy this file, under this name, to a folder in $fpath,
# or source it after compinit. Each TAB runs the program, which reads the table's header.
# Made by `make completions` from typer's script: change tests/cli/completion_scripts.py.

# Rewritten by clfeval. typer's function evaluates what the program prints, where quotes and colons
# end a name and a column named `\$(...)` runs as a command. This one takes the lines of the fish
# protocol, value TAB help, as data, and leaves matching and quoting to zsh.
_clfeval_completion() {
  local -a before after asked lines plain open described expl
  local line value current= program=${(Q)words[1]}
  local tab=$'\t'
  before=("${(@Q)words[2,CURRENT-1]}")
  after=("${(@Q)words[CURRENT+1,-1]}")
  after=("${(@)after:#--}")
  if [[ $PREFIX == --*=* ]]; then
    before+=(${PREFIX%%=*})
    compset -P 1 '*='
  elif [[ $PREFIX == -* ]]; then
    current=$PREFIX
  fi
  # Words after the cursor go first, for the table may be among them.
  asked=("${(@)before[1]}")
  (( $#before )) && asked+=("${(@)after}" "${(@)before[2,-1]}") || asked=()
  asked=(clfeval "${(@)asked}" "$current")
  # A wide COLUMNS, or each line of a wrapped help text would be a suggestion.
  lines=("${(@f)$(env COLUMNS=9999 _TYPER_COMPLETE_ARGS="${(j: :)${(@qq)asked}}" \
    _TYPER_COMPLETE_FISH_ACTION=get-args _CLFEVAL_QUOTES=1 \
    _CLFEVAL_COMPLETE=complete_fish ${~program} 2>/dev/null)}")
  for line in "${(@)lines}"; do
    value=${line%%$tab*}
    if [[ $line == *$tab* ]]; then
      described+=("${value//:/\\:}:${line#*$tab}")
    elif [[ $value == *= ]]; then
      open+=("$value")
    elif [[ -n $value ]]; then
      plain+=("$value")
    fi
  done
  if (( $#described + $#open + $#plain )); then
    local ret=1
    (( $#described )) && _describe clfeval described && ret=0
    (( $#plain )) && _wanted values expl value compadd -a plain && ret=0
    (( $#open )) && _wanted values expl value compadd -S '' -a open && ret=0
    return ret
  fi
  # Nothing: then files, unless a name or class is due.
  [[ ${before[-1]} == (@NO_FILES@) ]] && return
  [[ $PREFIX == [^-]*=* ]] && compset -P 1 '*=' # NAME=FILE
  _files
}
"""

_ZSH_FIRST_TAB = r"""
# Added by clfeval: autoloaded from $fpath, this file is the body of the function that the first TAB
# calls; typer's script only defines and registers there, so that first TAB would do nothing.
if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
  _clfeval_completion "$@"
fi
"""

_FISH = r"""# Completion of clfeval for fish: copy this file to ~/.config/fish/completions.
# Each TAB runs the program, which reads the table's header.
# Made by `make completions` from typer's script: change tests/cli/completion_scripts.py.

# Added by clfeval, as the condition below. typer's condition and arguments each run the program,
# and hand it the line with fish's quotes, which it reads as a POSIX shell's.
function __clfeval_ask --description 'Ask clfeval for suggestions; false when files are due'
    set -l before (commandline -opc) # while completing, fish shows no words after the cursor
    set -l current (commandline -ct)
    set -l option
    switch $current
        case '--*=*'
            set option (string replace -r '=.*' '=' -- $current)
            set -a before (string trim --right --chars '=' -- $option)
            set current ''
        case '-*'
        case '*'
            set current ''
    end
    set -l asked "'"(string replace -a "'" "'\\''" -- $before $current)"'"
    set -l program (string replace -r '^~/' ~/ -- $before[1])
    # A wide COLUMNS, or each line of a wrapped help text would be a suggestion.
    set -g __clfeval_answers "$option"(env COLUMNS=9999 _TYPER_COMPLETE_ARGS="$asked" \
        _TYPER_COMPLETE_FISH_ACTION=get-args _CLFEVAL_QUOTES=1 \
        _CLFEVAL_COMPLETE=complete_fish $program 2>/dev/null | string match -r '.+')
    test (count $__clfeval_answers) -gt 0; or contains -- "$before[-1]" @NO_FILES@
end

"""


_FUNCTION = r"\n?_clfeval_completion\(\) \{\n.*?\n\}\n"
_CONDITION = r'--arguments "[^"]*" --condition "[^"]*"'
_OUR_CONDITION = "--condition __clfeval_ask --arguments '$__clfeval_answers'"
# shell -> replacement of each pattern in typer's script
_CHANGES = {
    "bash": {_FUNCTION: _BASH},
    "zsh": {_FUNCTION: _ZSH, r"\Z": _ZSH_FIRST_TAB},
    "fish": {r"\A": _FISH, _CONDITION: _OUR_CONDITION},
}


def completion_script(shell: str) -> str:
    """Return typer's completion script for a shell, with our changes."""
    program = Path(sys.executable).with_name("clfeval")
    environment = {**os.environ, "_CLFEVAL_COMPLETE": f"source_{shell}"}
    run = subprocess.run([program], env=environment, capture_output=True, text=True, check=True)
    text = run.stdout.strip() + "\n"  # a blank first line would hide #compdef from compinit
    names = ("|" if shell != "fish" else " ").join(NO_FILES)
    for pattern, ours in _CHANGES[shell].items():
        new = ours.replace("@NO_FILES@", names).replace("\\", r"\\")
        text, count = re.subn(pattern, new, text, flags=re.DOTALL)
        if count != 1:
            what = f"the completion script of typer for {shell} has changed"
            sys.exit(f"{what}; compare the output of _CLFEVAL_COMPLETE=source_{shell} clfeval")
    return text


def main(folder: str) -> None:
    """Write the scripts into a folder."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for shell, name in FILES.items():
        (Path(folder) / name).write_text(completion_script(shell), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.cli.completion_scripts DIR")
    main(sys.argv[1])

# Completion of clfeval for fish: copy this file to ~/.config/fish/completions.
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
    test (count $__clfeval_answers) -gt 0; or contains -- "$before[-1]" --truth --model --ignore --id --join --positive --weight --by --cluster --run --measure --reference --best-threshold --show --fail-under --fail-over --warn-under --warn-over --still-best --max-drop --feature --metric --explain --classes
end

complete --command clfeval --no-files --condition __clfeval_ask --arguments '$__clfeval_answers'

# Completion of clfeval for bash: source this file, or copy it as `clfeval` to
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
            --truth|--model|--ignore|--id|--join|--positive|--weight|--by|--cluster|--run|--measure|--reference|--best-threshold|--show|--fail-under|--fail-over|--warn-under|--warn-over|--still-best|--max-drop|--feature|--metric|--explain|--classes) compopt +o default 2> /dev/null ;;
        esac
    fi
    return 0
}

complete -o default -F _clfeval_completion clfeval

# Completion of hermes-supervisor for bash, 3.2 and later: source <(hermes-supervisor completion bash)
# The program in PATH answers: the line up to the cursor goes in, and what may replace $2 comes back, quoted for its place.
_hermes_supervisor() {
    COMPREPLY=()
    local program=hermes-supervisor offer='' word
    type -P "$program" >/dev/null || program=${1/#\~/$HOME}
    while IFS= read -r word; do
        if [[ -z $offer ]]; then
            offer=$word
        else
            COMPREPLY[${#COMPREPLY[@]}]=$word
        fi
    done <<<"$(command "$program" __complete bash "${COMP_LINE:0:$COMP_POINT}" "$2" </dev/null 2>/dev/null)"
    type compopt >/dev/null 2>&1 || return 0
    case $offer in
        files) compopt -o default 2>/dev/null ;;
        folders) compopt -o dirnames 2>/dev/null ;;
    esac
    return 0
}
if type compopt >/dev/null 2>&1; then
    complete -F _hermes_supervisor hermes-supervisor
else
    complete -o default -F _hermes_supervisor hermes-supervisor
fi

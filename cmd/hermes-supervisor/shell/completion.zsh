#compdef hermes-supervisor
# Completion of hermes-supervisor for zsh: source <(hermes-supervisor completion zsh), or as _hermes-supervisor in a folder of
# fpath. The program in PATH answers; records end with NUL, and zsh quotes the words.
_hermes-supervisor() {
    local answer offer current
    local -a records texts tips
    integer i
    current=$QIPREFIX$IPREFIX$PREFIX # quoted as it was typed, the quote perhaps still open
    answer="$(command hermes-supervisor __complete zsh "$current" "${(@Q)words[2,CURRENT-1]}" </dev/null 2>/dev/null)"
    records=("${(@0)answer}")
    offer=$records[1]
    case $offer in
        files|folders)
            [[ $PREFIX == --*=* ]] && compset -P '*='
            if [[ $offer == files ]]; then _files; else _files -/; fi
            return
            ;;
    esac
    for ((i = 2; i < $#records; i += 2)); do
        texts+=("$records[i]")
        tips+=("${(q+)records[i]}${records[i + 1]:+  -- $records[i + 1]}")
    done
    (($#texts)) || return 1
    if [[ -n "${(j::)records[3]}" ]]; then
        compadd -l -d tips -a -- texts
    else
        compadd -a -- texts
    fi
}
if [[ $funcstack[1] == _hermes-supervisor ]]; then
    _hermes-supervisor "$@"
else
    compdef _hermes-supervisor hermes-supervisor
fi

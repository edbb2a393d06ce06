# Completion of hermes-supervisor for fish: hermes-supervisor completion fish | source
# The program in PATH answers; records end with NUL, and fish quotes the words.
function __hermes_supervisor_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l found (command hermes-supervisor __complete fish "$current" $words[2..-1] </dev/null 2>/dev/null | string split0)
    set -l prefix (string match -r -- '^--[^=]*=' "$current")
    set -l path (string replace -r -- '^--[^=]*=' '' "$current")
    switch "$found[1]"
        case files
            printf '%s\0' "$prefix"(__fish_complete_path "$path")
        case folders
            printf '%s\0' "$prefix"(__fish_complete_directories "$path" '')
        case words
            test (count $found) -gt 1; and printf '%s\0' $found[2..-1]
    end
end
complete -c hermes-supervisor -e
complete -c hermes-supervisor -f -a '(__hermes_supervisor_complete | string split0)'

# Completion of hermes-supervisor for PowerShell, 5.1 and later:
#   hermes-supervisor completion powershell | Out-String | Invoke-Expression
# The words go in by a variable (before 7.3, PowerShell loses empty arguments and quotes), the answer is JSON in ASCII.
Register-ArgumentCompleter -Native -CommandName 'hermes-supervisor' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $program = Get-Command 'hermes-supervisor' -CommandType Application -ErrorAction SilentlyContinue | Select-Object -First 1
    if (-not $program) { return }
    $words = @()
    $current = ''
    foreach ($element in ($commandAst.CommandElements | Select-Object -Skip 1)) {
        $text = $element.Extent.Text
        if ($null -ne $element.PSObject.Properties['Value']) { $text = [string]$element.Value }
        if ($element.Extent.EndOffset -lt $cursorPosition) {
            $words += $text
        } elseif ($element.Extent.StartOffset -lt $cursorPosition) {
            $current = $text
        }
    }
    $before = $env:HERMES_SUPERVISOR_COMPLETE
    try {
        $env:HERMES_SUPERVISOR_COMPLETE = (@($words) + $current) -join [char]0x1f
        $answer = (& $program.Source '__complete' 'powershell' 2>$null | Out-String)
    } finally {
        $env:HERMES_SUPERVISOR_COMPLETE = $before
    }
    if (-not $answer) { return }
    try { $answer = ConvertFrom-Json $answer } catch { return }
    foreach ($one in $answer.candidates) {
        [System.Management.Automation.CompletionResult]::new($one.text, $one.list, 'ParameterValue', $one.tip)
    }
}

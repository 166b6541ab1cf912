# Named steps with a closing table of where the time went; sourced by tests/run and .ci/run.
# shellcheck shell=bash

step_names=()
step_seconds=()
step_results=()
failed=0

# step NAME COMMAND…: runs it, notes the time, and goes on whatever came of it: ask $failed.
step() {
    local name=$1 began=${EPOCHREALTIME/./} status
    shift
    printf '\n=== %s\n' "$name"
    # In a subshell with -e, and not as part of a condition, which would switch -e off inside.
    set +e
    (
        set -e
        "$@"
    )
    status=$?
    set -e
    step_names+=("$name")
    step_seconds+=($(((${EPOCHREALTIME/./} - began) / 100000)))
    if [ "$status" -eq 0 ]; then
        step_results+=(ok)
    else
        step_results+=("FAILED ($status)")
        failed=$((failed + 1))
    fi
}

# skip NAME WHY: a step that can't be done here, and is not counted as done.
skip() {
    step_names+=("$1")
    step_seconds+=(0)
    step_results+=("skipped: $2")
}

# Prints the table, and ends the script: with 1 if a step failed.
close() {
    local nth total=0
    printf '\n%-42s %9s  %s\n' step seconds result
    for nth in "${!step_names[@]}"; do
        total=$((total + step_seconds[nth]))
        printf '%-42s %7d.%d  %s\n' "${step_names[nth]}" $((step_seconds[nth] / 10)) \
            $((step_seconds[nth] % 10)) "${step_results[nth]}"
    done
    printf '%-42s %7d.%d\n' total $((total / 10)) $((total % 10))
    if [ "$failed" -eq 0 ]; then exit 0; fi
    printf '%d of %d steps failed\n' "$failed" "${#step_names[@]}"
    exit 1
}

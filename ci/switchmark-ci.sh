#!/bin/sh
# One step of continuous integration: a plan or a data sheet's claims are measured, and held
# against a baseline. The GitHub action and the GitLab template both call this file; docs/ci.md
# describes its inputs, which are environment variables INPUT_…
#
# Decides nothing: the program does, and its exit code is passed on. Only `inconclusive` (3) may be
# let through, where INPUT_INCONCLUSIVE says so.
set -eu
# Arguments are split at spaces and never expanded.
set -f

program=${INPUT_SWITCHMARK:-switchmark}
out=${INPUT_OUT:-switchmark-ci}
inconclusive=${INPUT_INCONCLUSIVE:-fail}
label=${INPUT_LABEL:-${GITHUB_SHA:-${CI_COMMIT_SHA:-}}}
journal=$out/journal.db page=$out/page.html junit=$out/junit.xml
held=''

# Says how it ended, in words and as outputs, and ends so.
finish() {
    case $1 in
    0) result=${held:+pass} ;;
    3) result=inconclusive ;;
    4) result=worse ;;
    *) result=broken ;;
    esac
    result=${result:-measured}
    [ -f "$page" ] || page=''
    [ -f "$junit" ] || junit=''
    {
        echo "result=$result"
        echo "exit_code=$1"
        echo "journal=$journal"
        echo "page=$page"
        echo "junit=$junit"
    } >"$out/outputs.env"
    [ -z "${GITHUB_OUTPUT:-}" ] || cat "$out/outputs.env" >>"$GITHUB_OUTPUT"
    echo "switchmark: $result (exit code $1)"
    [ "$result" = inconclusive ] && [ "$inconclusive" != fail ] || exit "$1"
    if [ "$inconclusive" = warn ]; then
        said='inconclusive: it is not shown to be no worse; the page says of which figure, and why'
        if [ -n "${GITHUB_ACTIONS:-}" ]; then echo "::warning::$said"; else echo "warning: $said" >&2; fi
    fi
    exit 0
}

refuse() {
    echo "error: $1" >&2
    echo "hint: $2" >&2
    finish 2
}

# shellcheck disable=SC2086 # the program may be several words: sudo switchmark
switchmark() { $program "$@"; }

mkdir -p "$out"
rm -f "$page" "$junit" "$out/run.html" "$out/outputs.env"
case $inconclusive in
fail | warn | pass) ;;
*) refuse "inconclusive is \`$inconclusive\`" "choose fail, warn or pass" ;;
esac
if [ -n "${INPUT_VERSION:-}" ]; then
    found=$(switchmark --version) || refuse "$program does not start" "install it, or name its path"
    [ "${found#switchmark }" = "$INPUT_VERSION" ] ||
        refuse "$found is not version $INPUT_VERSION" "install that version, or leave \`version\` out"
fi

if [ -n "${INPUT_CLAIMS:-}" ]; then
    [ -z "${INPUT_PLAN:-}${INPUT_BASELINE_JOURNAL:-}" ] ||
        refuse "claims stand beside a plan or a baseline" "hold one thing against another in each step"
    held=claims
    set -- accept --testbed "${INPUT_TESTBED:-}" --claims "$INPUT_CLAIMS" --junit "$junit"
else
    [ -n "${INPUT_PLAN:-}" ] || refuse "neither a plan nor claims" "name a plan file, or a claims file"
    set -- run "$INPUT_PLAN"
    [ -z "${INPUT_TESTBED:-}" ] || set -- "$@" --testbed "$INPUT_TESTBED"
fi
measured=$page
if [ -n "${INPUT_BASELINE_JOURNAL:-}" ]; then
    [ -f "$INPUT_BASELINE_JOURNAL" ] ||
        refuse "there is no baseline $INPUT_BASELINE_JOURNAL" "measure one first, by the same step without it"
    held=baseline measured=$out/run.html
fi
[ -z "$label" ] || set -- "$@" --label "$label"
code=0
# shellcheck disable=SC2086 # several arguments
switchmark "$@" --journal "$journal" --report "$measured" ${INPUT_ARGUMENTS:-} || code=$?
case $held$code in
baseline[034])
    set -- --baseline "${INPUT_BASELINE:-latest}" --baseline-journal "$INPUT_BASELINE_JOURNAL" \
        latest --journal "$journal" --report "$page" --junit "$junit"
    [ -z "${INPUT_MARGIN:-}" ] || set -- "$@" --margin "$INPUT_MARGIN"
    IFS=,
    for figure in ${INPUT_FIGURES:-}; do set -- "$@" --figure "$figure"; done
    unset IFS
    compared=0
    switchmark compare "$@" || compared=$?
    case $compared in
    0) ;;
    3) [ $code -eq 4 ] || code=3 ;;
    *) code=$compared ;;
    esac
    ;;
esac
finish "$code"

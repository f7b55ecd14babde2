#!/usr/bin/env bash
# Long checks by turns: the page has the file's dates, the end of a part changes its date or not,
# and CI takes its turns.
set -euo pipefail
cd "$PORTACL_SOURCE_DIR"
python3 -c "import sys; sys.exit(sys.version_info < (3, 10))" || { echo "SKIPPED: Python before 3.10"; exit 77; }
script/rotate --check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
part() { printf '#!/bin/sh\n%s\n' "$2" >"$work/$1" && chmod +x "$work/$1"; }
part good 'echo "== 7 | 8 tests, good"'
part bad 'exit 1'
part absent 'echo no package; exit 3'
part skipped 'echo "== SKIPPED: no tool"'
export PORTACL_ROTATION=$work/rotation.txt PORTACL_ROTATION_PAGE=$work/page.md
cp docs/reliability.md "$work/page.md"
unset CI
# ends STATUS WORDS LINE: runs one part by turns. Checks its status and words, and that the file
# then has such a line.
ends() {
  local status=0
  script/rotate >"$work/out" 2>&1 || status=$?
  if [ "$status" != "$1" ] || ! grep -qF -- "$2" "$work/out" || ! grep -qE -- "$3" "$PORTACL_ROTATION"; then
    echo "status $status, wanted $1; no \"$2\", or no line $3"
    cat "$work/out" "$PORTACL_ROTATION"
    exit 1
  fi
}
file() { printf '# comment\n%s\n' "$@" >"$PORTACL_ROTATION"; }
old='2020-01-02 | 3 | '
file "$old$work/good | old" "2020-01-03 | 3 | $work/bad | newer"
ends 0 "are to be committed" "^$(date +%F) \| 1 \| $work/good \| 7 .\| 8 tests, good$"
script/rotate --check
grep -qF '| 7 \| 8 tests, good |' "$work/page.md"
ends 1 'FAILED (1)' "^2020-01-03 .*bad"
file "${old}net $work/bad |"
ends 1 'whether these answered' "^2020-01-02"
file "$old$work/absent |"
ends 0 SKIPPED "^2020-01-02"
file "$old$work/skipped |"
ends 0 SKIPPED "^2020-01-02"
file "2020-01-01 | 13 | $work/bad | too long for a turn" "never | 3 | $work/good |"
ends 0 "never" "^$(date +%F) .*good"

# In CI the file stays, and the line to commit is printed.
file "$old$work/good |"
export CI=true
ends 0 "$(date +%F) | 1 | $work/good | 7 \\| 8 tests, good" "^2020-01-02"

# There, a part fails only if it has passed before.
file "never | 3 | $work/bad |"
ends 0 "it has never passed" "^never"
file "$old$work/bad |"
ends 1 'FAILED (1)' "^2020-01-02"

#!/usr/bin/env bash
# The library exports no function of docs/aten_refused.txt. The file lists each function once, and
# the numbers in its heads are right.
set -euo pipefail
list=$PORTACL_SOURCE_DIR/docs/aten_refused.txt
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
nm -D --defined-only "$ASCEND_HOME_PATH/lib64/libportacl.so" | sed -n 's/.* T aclnn//p' | LC_ALL=C sort >"$scratch/exported"
grep -v '^#' "$list" | tr -s ' ' '\n' | sed '/^$/d' | LC_ALL=C sort >"$scratch/refused"
[ "$(wc -l <"$scratch/refused")" -gt 100 ]
grep -qx Exp "$scratch/exported"
check() {  # check FILE
  local wrong
  wrong=$(LC_ALL=C uniq -d "$1"; LC_ALL=C comm -12 "$scratch/exported" <(LC_ALL=C uniq "$1"))
  [ -z "$wrong" ] || { echo "listed twice, or exported: $wrong"; return 1; }
}
check "$scratch/refused"
awk '/^## / {if (head && count != wanted) {print head ": has " count; bad = 1}
    head = $0; wanted = $0; sub(/.*\(/, "", wanted); wanted += 0; count = 0}
  !/^#/ {count += NF}
  END {if (count != wanted) {print head ": has " count; bad = 1} exit bad}' "$list"

{ cat "$scratch/refused"; echo Exp; } | LC_ALL=C sort >"$scratch/planted"
! check "$scratch/planted" >"$scratch/words" || { echo "an exported name is not noticed"; exit 1; }
echo "ok: refused functions are not there"

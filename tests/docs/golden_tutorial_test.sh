#!/usr/bin/env bash
# The commands of docs/tutorials/golden.md in their order: the correct kernel passes, the wrong one
# does not.
set -euo pipefail
venv=$("$PORTACL_SOURCE_DIR/script/setup" --print-venv)
[ -x "$venv/bin/python3" ] || { echo "skipped: no Python environment with NumPy"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export PATH=$ASCEND_HOME_PATH/bin:$venv/bin:$PATH
awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' \
  "$PORTACL_SOURCE_DIR/docs/tutorials/golden.md" >commands
[ "$(wc -l <commands)" -ge 8 ]
verdicts=''
while IFS= read -r line; do
  status=0
  bash -c "$line" >output 2>&1 || status=$?
  case $line in
    "portacl compare mine want") verdicts+="$status " ;;
    *) [ "$status" -eq 0 ] || { echo "$line"; cat output; exit 1; } ;;
  esac
done <commands
[ "$verdicts" = "0 1 " ] || { echo "verdicts: $verdicts"; exit 1; }
grep -q portacl golden.html report.html

#!/usr/bin/env bash
# script/test goes on after tests that fail, names them at the end and then ends with status 1.
# Other programs stand in for builds and test runs: the test looks at the order, and at the use of
# each status.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/bin" "$folder/tree/script" "$folder/tree/build" "$folder/venv/bin"
cp -r "$PORTACL_SOURCE_DIR"/script/{test,lib} "$folder/tree/script/"

# fake FILE: notes that it was called, and fails if its name stands in FAILING.
fake() {
  printf '%s\n' '#!/bin/sh' 'name=${0##*/}' "echo \"\$name \$*\" >>'$folder/calls'" \
    "case \" \$FAILING \" in *\" \$name \"*) exit 7 ;; esac" "$2" >"$1"
  chmod +x "$1"
}
fake "$folder/tree/script/setup" "case \$1 in --print-venv) echo '$folder/venv' ;; esac"
fake "$folder/tree/script/build" ''
fake "$folder/tree/script/check_layers" ''
fake "$folder/bin/ctest" ''
fake "$folder/bin/cmake" ''
fake "$folder/venv/bin/python" ''

# run FAILING: script/test --fast; its status is left in $status, what it said in $folder/out.
run() {
  status=0
  : >"$folder/calls"
  env PATH="$folder/bin:$PATH" FAILING="$1" "$folder/tree/script/test" --fast >"$folder/out" 2>&1 || status=$?
}
# expect STATUS CALLS LAST: CALLS: the programs in their order; LAST: the last lines.
expect() {
  local calls
  calls=$(sed 's/ .*//' "$folder/calls" | grep -v '^setup$' | paste -sd' ')
  if [ "$status" -ne "$1" ] || [ "$calls" != "$2" ] ||
    [ "$(tail -n "$(printf '%s\n' "$3" | wc -l)" "$folder/out")" != "$3" ]; then
    echo "status $status, calls: $calls"
    cat "$folder/out"
    exit 1
  fi
}

run ''
expect 0 "build check_layers check_layers ctest cmake cmake cmake python" "$(tail -n 1 "$folder/out")"
grep -q '^ctest  *[0-9]* s  ok$' "$folder/out" || { echo "no time of ctest"; cat "$folder/out"; exit 1; }
if grep -q failed "$folder/out"; then echo "failed without a failure"; exit 1; fi
echo "ok nothing fails"

run ctest
expect 1 "build check_layers check_layers ctest cmake cmake cmake python" "== failed: ctest"
echo "ok pytest runs after a red ctest"

run "check_layers ctest python"
expect 1 "build check_layers check_layers ctest cmake cmake cmake python" \
  $'== failed: check_layers\n== failed: check_layers --self-test\n== failed: ctest\n== failed: pytest'
echo "ok all that failed is named"

run "ctest cmake"
expect 1 "build check_layers check_layers ctest cmake" $'== failed: ctest\n== failed: python package'
echo "ok no pytest without a package"

run build
expect 7 "build" "$(tail -n 1 "$folder/out")"
echo "ok nothing runs without a build"

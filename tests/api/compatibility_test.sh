#!/usr/bin/env bash
# docs/compatibility.md has a full row for every function that the library exports for programs
# written for ACL, and each test that it names is in its file and in the list of its test program.
# The functions of every operator of the list stand in docs/ops/index.md; operator_list_test.cc runs
# them all and spoils each of their arguments.
set -euo pipefail
cd "$PORTACL_SOURCE_DIR"
library=${ASCEND_HOME_PATH:?}/lib64/libportacl.so
[ -e "$library" ] || { echo "SKIPPED: no install tree at $ASCEND_HOME_PATH"; exit 77; }
page=docs/compatibility.md
operators=$(mktemp)
trap 'rm -f "$operators"' EXIT
python3 tests/api/operator_symbols.py "$library" >"$operators"
status=0
fail() { echo "$page: $*"; status=1; }

# runs FOLDER NAME: whether the program of tests/FOLDER has a test of that name.
declare -A lists
runs() {
  local program=$PORTACL_BUILD_DIR/bin/portacl_$1_test
  [ -n "${lists[$1]:-}" ] || lists[$1]=$("$program" --gtest_list_tests)
  grep -Eq "^  $2(/|$)" <<<"${lists[$1]}"
}

while read -r name; do
  grep -q "^| \`$name\` |" "$page" || fail "no row for $name"
done < <(grep -i '^acl' tests/api/abi_symbols.txt | grep -vxFf "$operators")

while read -r name; do
  grep -q "\`$name\`" docs/ops/index.md || { echo "docs/ops/index.md: no $name"; status=1; }
done < <(grep -v 'GetWorkspaceSize$' "$operators" | grep '^aclnn')

if grep -nE '\| *\|' "$page"; then fail "has an empty cell"; fi

if grep -nE '^\| [`a-z]' "$page" | grep -vE '_test\.(cc|sh)[^|]*\|$' | grep -vE '\| test \|$'; then
  fail "has rows without a test"
fi

# "file_test.cc: Name, Name; other_test.cc: Name": every name is a test of its file.
while IFS='|' read -r -a cells; do
  IFS=';' read -ra groups <<<"${cells[-1]}"
  for group in "${groups[@]}"; do
    file=$(sed -E 's/^ *([a-z0-9_]+\.(cc|sh)).*/\1/' <<<"$group")
    path=$(find tests -name "$file" -print -quit)
    [ -n "$path" ] || { fail "no test file '$file'"; continue; }
    case $file in *.sh) continue ;; esac
    IFS=',' read -ra names <<<"${group#*:}"
    for name in "${names[@]}"; do
      name=${name// /}
      grep -Eq "^TEST(_F|_P)?\([A-Za-z0-9]+, $name\)" "$path" || fail "$path has no test $name"
      runs "$(cut -d/ -f2 <<<"$path")" "$name" || fail "the program of $path does not run $name"
    done
  done
done < <(sed -nE 's/^\| `.*_test\.(cc|sh).*/&/p; s/^\| [a-z].*_test\.cc.*/&/p' "$page" |
  sort -u | sed -E 's/ *\|$//')
[ $status -ne 0 ] || echo "$(grep -c '^| `' "$page") rows, all with their tests"
exit $status

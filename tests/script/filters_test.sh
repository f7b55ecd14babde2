#!/usr/bin/env bash
# GoogleTest filters in files match tests: the filters of the checks, and those in CONTRIBUTING.md's
# examples. Otherwise a renamed test would leave its line behind. And script/checks/arm64.skip
# leaves out all tests that start their own program again.
set -euo pipefail
cd "$PORTACL_SOURCE_DIR"
programs=("$PORTACL_BUILD_DIR"/bin/portacl_*_test)
[ -x "${programs[0]}" ] || { echo "no test programs in $PORTACL_BUILD_DIR"; exit 1; }

# matches PATTERN PROGRAM...: whether one of the programs has a test of that name.
matches() {
  local pattern=$1 program
  shift
  for program in "$@"; do
    [ -z "$("$program" --gtest_list_tests --gtest_filter="$pattern" | grep '^  ')" ] || return 0
  done
  return 1
}

for file in script/checks/*.skip; do
  while read -r pattern; do
    matches "$pattern" "${programs[@]}" || { echo "$file: no test is called $pattern"; exit 1; }
    echo "ok $file: $pattern"
  done < <(grep -v -e '^#' -e '^$' "$file")
done

examples=$(sed -n "s,^build/release/bin/\([a-z_]*\) --gtest_filter='\(.*\)'$,\1 \2,p" CONTRIBUTING.md)
[ -n "$examples" ] || { echo "CONTRIBUTING.md has no example of a filter"; exit 1; }
while read -r program pattern; do
  matches "$pattern" "$PORTACL_BUILD_DIR/bin/$program" ||
    { echo "CONTRIBUTING.md: $program has no test called $pattern"; exit 1; }
  echo "ok CONTRIBUTING.md: $program $pattern"
done <<<"$examples"

unnamed=$(awk 'FNR == 1 { test = "" } /^TEST/ { test = FILENAME ": " $0 }
  /PORTACL_IN_CHILD|EXPECT_EXIT|EXPECT_DEATH/ && test != "" { print test }' tests/*/*_test.cc |
  grep -vE '\(\w*(Child|DeathTest), ' | sort -u) || true
[ -z "$unnamed" ] || { echo "suites that start processes must be called ...Child: $unnamed"; exit 1; }
echo "ok suites that start processes"

#!/usr/bin/env bash
# The table of mutants fits the sources, and the check names a stale row.
set -euo pipefail
cd "$PORTACL_SOURCE_DIR"
python3 -c "import tomllib" 2>/dev/null || { echo "SKIPPED: Python before 3.11"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
script/mutate --check >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
grep -qE '^[0-9]+ mutants of [0-9]+ files$' "$work/out"
[ "$(cut -d' ' -f1 "$work/out")" -ge 60 ]
# refuses WORDS TABLE: the table is refused with these words.
refuses() {
  printf '%s\n' "$2" >"$work/mutants.toml"
  if script/mutate --check --table "$work/mutants.toml" >"$work/out" 2>&1; then
    echo "a table is taken, wanted: $1"
    exit 1
  fi
  grep -qF -- "$1" "$work/out" || { cat "$work/out"; exit 1; }
}
file='[[file]]
path = "src/base/checked.h"
tests = ["base"]
[[file.mutant]]
name = "one"'
refuses '`code` occurs 0 times' "$file
old = \"no such text\"
new = \"other\""
refuses '`code` occurs 3 times' "$file
old = \"template <class T>\"
new = \"other\""
refuses '`old` and `new` are equal' "$file
old = \"return !__builtin_mul_overflow(a, b, out);\"
new = \"return !__builtin_mul_overflow(a, b, out);\"
statement = true"
refuses 'is a statement and does not say so' "$file
old = \"return !__builtin_mul_overflow(a, b, out);\"
new = \";\""
refuses '`statement` is set for an expression' "$file
old = \"!__builtin_mul_overflow(a, b, out)\"
new = \"true\"
statement = true"
refuses '`old` begins within a name' "$file
old = \"mul_overflow(a, b, out)\"
new = \"true\""
refuses '`old` declares a variable' '[[file]]
path = "src/ops/recent_plans.cc"
tests = ["ops"]
[[file.mutant]]
name = "one"
old = "const auto edition = static_cast<int64_t>(CurrentEdition());"
new = "const int64_t edition = 0;"
statement = true'
refuses 'the name occurs twice' "$file
old = \"!__builtin_mul_overflow(a, b, out)\"
new = \"true\"
[[file.mutant]]
name = \"one\"
old = \"!__builtin_add_overflow(a, b, out)\"
new = \"true\""
refuses 'two mutants overlap' "$file
old = \"!__builtin_mul_overflow(a, b, out)\"
new = \"true\"
[[file.mutant]]
name = \"two\"
old = \"__builtin_mul_overflow(a, b, out)\"
new = \"true\""
refuses 'no file' '[[file]]
path = "src/base/none.h"
tests = ["base"]
[[file.mutant]]
name = "one"
old = "a"
new = "b"'

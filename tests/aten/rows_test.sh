#!/usr/bin/env bash
# The step of the build that checks src/aten/functions.txt accepts the table, and names a row whose operator
# PyTorch lacks. With a PyTorch that the project does not claim it only warns.
set -euo pipefail
build=${PORTACL_BUILD_DIR:?} source=${PORTACL_SOURCE_DIR:?}
backend=${PORTACL_ATEN_LIBRARY:-$build/lib/libportacl_aten.so}
if [ ! -e "$backend" ]; then
  echo "skipped: no $backend (script/setup --aten)"
  exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
rows=$build/generated/private/aten_rows.inc

# check ROWS LACKING VERSION: the step with these rows, where the project claims VERSION of PyTorch. `status` is its status, "$scratch/said" its words.
check() {
  mkdir -p "$scratch/rows"
  cp "$1" "$scratch/rows/aten_rows.inc"
  "${CXX:-g++}" -std=c++20 -O0 -I"$scratch/rows" -I"$source/src" -I"$source/include" "$source/cmake/aten_rows.cc" \
    -o "$scratch/check" -ldl
  status=0
  "$scratch/check" "$backend" "$2" "$3" >"$scratch/said" 2>&1 || status=$?
}

fail() {
  echo "$*: status $status, and:"
  cat "$scratch/said"
  exit 1
}

lacking=$source/src/aten/lacking.txt
torch=$(grep -aoE 'portacl_aten for PyTorch [0-9.]+' "$backend" | grep -oE '[0-9.]+$')
check "$rows" "$lacking" "$torch"
if [ $status -ne 0 ] || [ -s "$scratch/said" ]; then fail "the table is refused"; fi

sed 's/"exp(self)"/"expp(self)"/' "$rows" >"$scratch/wrong"
check "$scratch/wrong" "$lacking" "$torch"
[ $status -eq 1 ] || fail "a wrong row is accepted"
grep -q "aclnnExp = expp(self): PyTorch $torch has no operator expp\$" "$scratch/said" || fail "no name"
[ "$(wc -l <"$scratch/said")" -eq 1 ] || fail "not aclnnExp alone"

check "$scratch/wrong" "$lacking" 0.1
[ $status -eq 0 ] || fail "a PyTorch that is not claimed ends the build"
grep -q 'aclnnExp = expp(self): ' "$scratch/said" || fail "no name"
grep -q "^warning: PyTorch $torch: " "$scratch/said" || fail "no warning"

printf '## PyTorch %s\nExp\n' "$torch" | cat "$lacking" - >"$scratch/lacking"
check "$scratch/wrong" "$scratch/lacking" "$torch"
[ $status -eq 0 ] || fail "what lacking.txt names is refused"
sed 's/"exp(self)"/"exp(nobody)"/' "$rows" >"$scratch/mistake"
check "$scratch/mistake" "$scratch/lacking" "$torch"
[ $status -eq 1 ] || fail "lacking.txt hides another mistake"
grep -q 'aclnnExp = exp(nobody): no parameter nobody' "$scratch/said" || fail "no name"
check "$rows" "$scratch/lacking" "$torch"
[ $status -eq 1 ] || fail "a name too many in lacking.txt is accepted"
grep -q 'aclnnExp = exp(self): .*lacking.txt names it' "$scratch/said" || fail "no name"

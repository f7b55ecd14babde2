#!/usr/bin/env bash
# The step of the build that checks src/aten/functions.txt accepts the table, and names a row whose operator
# PyTorch lacks.
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

# check ROWS LACKING: the step with these rows. `status` is its status, "$scratch/said" its words.
check() {
  mkdir -p "$scratch/rows"
  cp "$1" "$scratch/rows/aten_rows.inc"
  "${CXX:-g++}" -std=c++20 -O0 -I"$scratch/rows" -I"$source/src" -I"$source/include" "$source/cmake/aten_rows.cc" \
    -o "$scratch/check" -ldl
  status=0
  "$scratch/check" "$backend" "$2" >"$scratch/said" 2>&1 || status=$?
}

fail() {
  echo "$*: status $status, and:"
  cat "$scratch/said"
  exit 1
}

lacking=$source/src/aten/lacking.txt
check "$rows" "$lacking"
if [ $status -ne 0 ] || [ -s "$scratch/said" ]; then fail "the table is refused"; fi

sed 's/"exp(self)"/"expp(self)"/' "$rows" >"$scratch/wrong"
check "$scratch/wrong" "$lacking"
[ $status -eq 1 ] || fail "a wrong row is accepted"
grep -q 'aclnnExp = expp(self): PyTorch [0-9.]* has no operator expp$' "$scratch/said" || fail "no name"
[ "$(wc -l <"$scratch/said")" -eq 1 ] || fail "not aclnnExp alone"

torch=$(sed -n 's/.*PyTorch \([0-9.]*\) has.*/\1/p' "$scratch/said")
printf '## PyTorch %s\nExp\n' "$torch" | cat "$lacking" - >"$scratch/lacking"
check "$scratch/wrong" "$scratch/lacking"
[ $status -eq 0 ] || fail "what lacking.txt names is refused"
check "$rows" "$scratch/lacking"
[ $status -eq 1 ] || fail "a name too many in lacking.txt is accepted"
grep -q 'aclnnExp = exp(self): .*lacking.txt names it' "$scratch/said" || fail "no name"

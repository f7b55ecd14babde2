#!/usr/bin/env bash
# A Python program drives the C API through ctypes, with and without guard mode.
set -euo pipefail
home=${ASCEND_HOME_PATH:?}
[ -e "$home/lib64/libascendcl.so" ] || { echo "SKIPPED: no install tree at $home"; exit 77; }
program=$PORTACL_SOURCE_DIR/tests/api/ctypes_program.py
for guard in 0 1; do
  errors=$(mktemp)
  printed=$(PORTACL_GUARD=$guard LD_LIBRARY_PATH=$home/lib64 python3 "$program" 2>"$errors") || true
  # The program's wrong calls, whose codes it looks at, are named in guard mode alone.
  named=$(grep -c '^portacl guard: .* is refused with' "$errors" || true)
  [ "$printed" = ok ] && [ $((named > 0)) = "$guard" ] ||
    { echo "PORTACL_GUARD=$guard: $printed, $named refusals"; cat "$errors"; exit 1; }
  rm "$errors"
done
echo "ctypes program: ok"

#!/usr/bin/env bash
# A Python program drives the C API through ctypes, with and without guard mode.
set -euo pipefail
home=${ASCEND_HOME_PATH:?}
[ -e "$home/lib64/libascendcl.so" ] || { echo "SKIPPED: no install tree at $home"; exit 77; }
program=$PORTACL_SOURCE_DIR/tests/api/ctypes_program.py
for guard in 0 1; do
  errors=$(mktemp)
  printed=$(PORTACL_GUARD=$guard LD_LIBRARY_PATH=$home/lib64 python3 "$program" 2>"$errors") || true
  # Guard mode names the program's wrong calls with their stacks; nothing else goes to stderr.
  named=$(grep -c '^portacl guard: .* is refused with' "$errors" || true)
  other=$(grep -cv -e '^portacl guard: .* is refused with' -e '^  ' "$errors" || true)
  [ "$printed" = ok ] && [ $((named > 0)) = "$guard" ] && [ "$other" = 0 ] ||
    { echo "PORTACL_GUARD=$guard: $printed, $named refusals"; cat "$errors"; exit 1; }
  rm "$errors"
done
echo "ctypes program: ok"

#!/usr/bin/env bash
# A Python program drives the C API through ctypes, with and without guard mode.
set -euo pipefail
home=${ASCEND_HOME_PATH:?}
[ -e "$home/lib64/libascendcl.so" ] || { echo "SKIPPED: no install tree at $home"; exit 77; }
program=$PORTACL_SOURCE_DIR/tests/api/ctypes_program.py
for guard in 0 1; do
  printed=$(PORTACL_GUARD=$guard LD_LIBRARY_PATH=$home/lib64 python3 "$program" 2>&1) || true
  [ "$printed" = ok ] || { echo "PORTACL_GUARD=$guard: $printed"; exit 1; }
done
echo "ctypes program: ok"

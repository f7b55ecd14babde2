#!/usr/bin/env bash
# The installed library and program carry what the build asks the compiler and the linker for.
set -euo pipefail
home=${ASCEND_HOME_PATH:?}
library=$home/lib64/libportacl.so
program=$home/bin/portacl
[ -e "$library" ] || { echo "SKIPPED: no install tree at $home"; exit 77; }

failed=0
expect() {  # expect FILE WHAT PATTERN COMMAND...
  local file=$1 what=$2 pattern=$3
  shift 3
  grep -Eq "$pattern" <<<"$("$@" "$file" 2>/dev/null)" || { echo "$file: no $what"; failed=1; }
}
for file in "$library" "$program"; do
  expect "$file" "stack protector" '__stack_chk_fail' readelf --wide --dyn-syms
  expect "$file" "fortified function" '_chk(@|$)' readelf --wide --dyn-syms
  expect "$file" "immediate binding (BIND_NOW)" 'BIND_NOW|FLAGS_1.*NOW' readelf --wide --dynamic
  expect "$file" "read-only relocations (RELRO)" 'GNU_RELRO' readelf --wide --program-headers
  expect "$file" "stack without execution" 'GNU_STACK.* RW ' readelf --wide --program-headers
  if [ "$(uname -m)" = x86_64 ]; then
    expect "$file" "shadow stack mark" 'x86 feature: .*SHSTK' readelf --wide --notes
  fi
done
# Debian's archive of the C++ library, which wheels have inside, is compiled without the mark.
if [ "$(uname -m)" = x86_64 ] && readelf --dynamic "$library" | grep -q 'NEEDED.*libstdc++'; then
  expect "$library" "indirect branch mark" 'x86 feature: .*IBT' readelf --wide --notes
fi
expect "$program" "position-independent code" 'Type: +DYN' readelf --file-header
[ $failed -eq 0 ] && echo "libportacl.so and portacl: stack protector, FORTIFY, BIND_NOW, RELRO, CET"
exit $failed

#!/usr/bin/env bash
# The library makes no static local variable under the compiler's guard: a child of fork() would
# wait for ever if a thread of its parent was making one. base::Immortal (src/base/fork.h) and
# base::Once have no such guard.
set -euo pipefail
library=${PORTACL_BUILD_DIR:?}/lib/libportacl.so
symbols=$(nm --demangle "$library")
grep -q 'portacl::base::' <<<"$symbols" || { echo "$library has no symbol table"; exit 1; }

# Not a local variable: the one thread that loads the library makes it.
loaded='guard variable for portacl::base::internal::ForkLocks::registered'
guarded=$(grep -o 'guard variable for .*' <<<"$symbols" | grep -Fxv "$loaded" |
  grep -v 'guard variable for spdlog::details::os::thread_id()' || true) # of one thread alone
[ -z "$guarded" ] || { echo "static variables under a guard in $library:"; echo "$guarded"; exit 1; }

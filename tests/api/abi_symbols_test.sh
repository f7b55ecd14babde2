#!/usr/bin/env bash
# The library exports the symbols of abi_symbols.txt, of its list of operators
# (src/ops/operator_list.inc) and of src/aten/functions.txt, and no others. dlsym finds each through
# every compatibility name. The library's name and dependencies are as documented.
set -euo pipefail
home=${ASCEND_HOME_PATH:?}
library=$home/lib64/libportacl.so
[ -e "$library" ] || { echo "SKIPPED: no install tree at $home"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

table=$folder/table
{ cat "$PORTACL_SOURCE_DIR/tests/api/abi_symbols.txt"
  python3 "$PORTACL_SOURCE_DIR/tests/api/aten_symbols.py" "$PORTACL_SOURCE_DIR/src/aten/functions.txt"
  python3 "$PORTACL_SOURCE_DIR/tests/api/operator_symbols.py" "$library"; } | LC_ALL=C sort >"$table"
readelf --wide --dyn-syms "$library" |
  awk '$7 != "UND" && ($4 == "FUNC" || $4 == "OBJECT") { sub(/@.*/, "", $8); print $8 }' |
  LC_ALL=C sort -u >"$folder/exported"
diff "$table" "$folder/exported" || {
  echo "exported symbols differ (>) from tests/api/abi_symbols.txt and the list of operators (<)"
  exit 1
}

# The signatures of the list's functions are in abi_test.cc or in the operator's own test.
python3 "$PORTACL_SOURCE_DIR/tests/api/operator_symbols.py" "$library" |
  while read -r name; do
    grep -q "^PORTACL_ABI_OF($name," "$PORTACL_SOURCE_DIR"/tests/api/*_test.cc ||
      { echo "no test of tests/api has the signature of $name"; exit 1; }
  done

readelf -d "$library" | grep -Eq 'SONAME.*\[libportacl\.so\.[0-9]+\]' ||
  { echo "no SONAME libportacl.so.N"; exit 1; }
if readelf -d "$library" | grep NEEDED | grep -Ev 'libtbb|libhwy|libstdc\+\+|libm\.|libgcc_s|libc\.|ld-linux'; then
  echo "the library needs more than Highway, oneTBB and the language runtime"
  exit 1
fi

cat >"$folder/dlsym.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
  void *first = NULL;
  for (int i = 1; i < argc; ++i) {
    void *library = dlopen(argv[i], RTLD_NOW);
    if (library == NULL) return printf("%s\n", dlerror()), 1;
    char name[256];
    FILE *table = fopen(TABLE, "r");
    while (table != NULL && fscanf(table, "%255s", name) == 1) {
      if (dlsym(library, name) == NULL) return printf("%s: no %s\n", argv[i], name), 1;
    }
    if (table == NULL || fclose(table) != 0) return 1;
    void *symbol = dlsym(library, "aclInit");
    if (first == NULL) first = symbol;
    if (symbol != first) return printf("%s is a second copy of the library\n", argv[i]), 1;
  }
  return argc > 1 ? 0 : 1;
}
END
"${CC:-cc}" -DTABLE="\"$table\"" "$folder/dlsym.c" -ldl -o "$folder/dlsym"
names=("$home"/lib64/lib{portacl,ascendcl,nnopbase,opapi,acl_op_compiler,hccl,ge_runner,graph}.so
  "$home"/lib64/lib{acl_tdt_channel,opapi_cv,opapi_nn,opapi_math}.so)
"$folder/dlsym" "${names[@]}"
echo "$(wc -l <"$table") symbols in ${#names[@]} names of the library"

#!/usr/bin/env bash
# A complete two-phase call on tiny tensors takes so many instructions at most: one that equals an earlier
# call, and a new one. So does a new plan. Times are noise on a machine with other work; valgrind counts the same everywhere.
. "$(dirname -- "${BASH_SOURCE[0]}")/../examples/lib.sh"
command -v valgrind >/dev/null || { echo "skipped: no valgrind"; exit 77; }

"${CXX:-c++}" -std=c++17 -O2 -I"$PORTACL_SOURCE_DIR" -I"$home/include" \
  "$PORTACL_SOURCE_DIR/bench/tiny_count.cc" -o "$folder/tiny_count" -L"$home/lib64" \
  -Wl,-rpath,"$home/lib64" -lportacl

# Instructions of so many calls. The loading of libraries does not count: Highway's measures the
# clock.
instructions() {
  valgrind --tool=callgrind --toggle-collect=main --callgrind-out-file=/dev/null "$folder/tiny_count" "$1" "$2" 2>&1 |
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

failed=0
while read -r call limit; do
  few=$(instructions "$call" 20)
  many=$(instructions "$call" 120)
  [ -n "$few" ] && [ -n "$many" ] || { echo "$call: valgrind counted nothing"; exit 1; }
  each=$(((many - few) / 100))
  echo "$call: $each instructions a call, $limit at most"
  [ "$each" -le "$limit" ] || failed=1
done <<'LIMITS'
nearest 8940
grid 14300
bilinear 10930
new_nearest 15380
new_bilinear 21650
plan_bicubic 16200
plan_bicubic_grad 18490
LIMITS
exit $failed

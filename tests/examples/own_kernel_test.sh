#!/usr/bin/env bash
# The template of an own kernel builds against the install tree, passes its own tests, and fails them once
# the kernel is wrong.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

cp -r "$PORTACL_SOURCE_DIR/examples/own_kernel" "$folder/own"
build_and_test() {
  { cmake -S "$folder/own" -B "$folder/build" -DCMAKE_PREFIX_PATH="$home" -DCMAKE_CXX_COMPILER="${CXX:-g++}" &&
    cmake --build "$folder/build" && ctest --test-dir "$folder/build" --output-on-failure; } >"$folder/log" 2>&1
}
build_and_test || { cat "$folder/log"; exit 1; }
grep -q '<property name="aclnnUpsampleNearestExact2d" value="[^"]*/build/lib/libopapi.so"/>' \
  "$folder/build/verdict.xml" || { head -30 "$folder/build/verdict.xml"; exit 1; }

sed -i 's/plan.scale_w)/0)/' "$folder/own/own_kernel.cc"
if build_and_test; then echo "a kernel that ignores scalesW passes"; exit 1; fi
grep -q 'cases failed' "$folder/log" || { cat "$folder/log"; exit 1; }
echo "ok own_kernel"

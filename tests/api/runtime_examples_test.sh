#!/usr/bin/env bash
# The runtime's examples, compiled as users do against the install tree, print what
# examples/expected says; so they do in guard mode, without a leak.
. "$(dirname -- "${BASH_SOURCE[0]}")/../examples/lib.sh"
libraries=(-I"$home/include" -L"$home/lib64" "${vendor_libraries[@]}" -lpthread)

for expected in "$PORTACL_SOURCE_DIR"/examples/expected/runtime_*.txt; do
  name=$(basename "$expected" .txt)
  source=$(ls "$PORTACL_SOURCE_DIR/examples/$name".*)
  case $source in
    *.c) "${CC:-cc}" -std=c11 -Wall -Wextra -Werror "$source" -o "$folder/$name" "${libraries[@]}" ;;
    *) "${CXX:-c++}" -std=c++17 -Wall -Wextra -Werror "$source" -o "$folder/$name" "${libraries[@]}" ;;
  esac
  "$folder/$name" | diff "$expected" - || { echo "$name prints something else"; exit 1; }
  PORTACL_GUARD=1 "$folder/$name" 2>"$folder/stderr" | diff "$expected" - ||
    { echo "$name prints something else in guard mode"; cat "$folder/stderr"; exit 1; }
  # Guard mode names the refusals that an example shows on purpose, with the calls that led there.
  # Nothing else goes to stderr.
  ! grep -v -e '^portacl guard: .* is refused with ' -e '^  ' "$folder/stderr" ||
    { echo "$name in guard mode:"; cat "$folder/stderr"; exit 1; }
  echo "$name: ok"
done

# The plan and the run of each operator call are on the timeline, with shapes, dtype and kernel.
PORTACL_TRACE=$folder/trace.json "$folder/runtime_pipeline" >/dev/null
for category in plan kernel; do
  spans=$(grep -c "\"cat\":\"$category\".*aclnnUpsampleNearestExact2dBackward FLOAT .*gradOutput\[1, 1, 1024, 1024\]" \
    "$folder/trace.json" || true)
  [ "$spans" -eq 8 ] || { echo "the timeline shows $spans spans of category $category, wanted 8"; exit 1; }
done
echo "timeline: ok"

#!/usr/bin/env bash
# The sample program of the published page aclnnUpsampleNearestExact2dBackward, extracted where the pages
# lie next to the checkout,
# compiles and runs unmodified. It is not part of this repository.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
documents=$PORTACL_SOURCE_DIR/../shared/seeds
shopt -s nullglob
found=("$documents"/001*)
[ ${#found[@]} -eq 1 ] || { echo "SKIPPED: the page is not at $documents"; exit 77; }

# The last code block with a main function.
awk '/^```/ { if (inside && block ~ /int main\(/) program = block; inside = !inside; block = ""; next }
     inside { block = block $0 "\n" }
     END { printf "%s", program }' "${found[0]}" >"$folder/program.cpp"
grep -q 'int main(' "$folder/program.cpp" || { echo "no program in ${found[0]}"; exit 1; }
build "$folder/program" "$folder/program.cpp" "${vendor_libraries[@]}"
expect published_example "$folder/program"

#!/usr/bin/env bash
# Every example compiles against the install tree with a plain compiler line. If expected/ has a
# file for it, the example prints the same.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
shopt -s nullglob
cd "$PORTACL_SOURCE_DIR/examples"
for source in *.cpp *.cc *.c; do
  name=${source%.*}
  build "$folder/$name" "$source" "${vendor_libraries[@]}"
  if [ -e "$PORTACL_SOURCE_DIR/tests/examples/expected/$name.txt" ]; then
    expect "$name" "$folder/$name"
  fi
done
# Examples and expectations belong together.
for file in "$PORTACL_SOURCE_DIR"/tests/examples/expected/*.txt; do
  name=$(basename "$file" .txt)
  case $name in published_example) continue ;; esac
  [ -e "$folder/$name" ] || { echo "expected/$name.txt belongs to no example"; exit 1; }
done
# The names that the documentation gives link too, each alone or together.
build "$folder/graph" upsample_nearest_exact2d_grad.cpp -lascendcl -lacl_op_compiler
expect upsample_nearest_exact2d_grad "$folder/graph"
build "$folder/native" native_api.cc -std=c++17 -lportacl
expect native_api "$folder/native"
build "$folder/c" c_program.c -std=c11 -Wall -Wextra -pedantic -Werror "${vendor_libraries[@]}"
expect c_program "$folder/c"

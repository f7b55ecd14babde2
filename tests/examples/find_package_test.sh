#!/usr/bin/env bash
# CMake projects in C++ and in C alone find the installed package, build against portacl::portacl and
# run; pkg-config and set_env.sh work as well.
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

version=$(. "$PORTACL_SOURCE_DIR/script/lib/common.sh" && project_version)
version=${version%.*}

# build_project LANGUAGE EXAMPLE NAME: builds examples/EXAMPLE in a project of that language alone, and
# compares its output with expected/NAME.txt.
build_project() {
  local language=$1 example=$2 name=$3 project=$folder/$3
  mkdir "$project"
  cp "$PORTACL_SOURCE_DIR/examples/$example" "$project/"
  cat >"$project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES $language)
set(CMAKE_CXX_STANDARD 14)  # older than the header needs, as some compilers' default: portacl raises it
find_package(portacl $version REQUIRED)
add_executable(consumer $example)
target_link_libraries(consumer PRIVATE portacl::portacl)
END
  cmake -S "$project" -B "$project/build" -DCMAKE_PREFIX_PATH="$home" >"$folder/log" 2>&1 &&
    cmake --build "$project/build" >>"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
  (unset LD_LIBRARY_PATH && expect "$name" "$project/build/consumer")
}
build_project CXX native_api.cc native_api
build_project C c_program.c c_program

if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$home/lib64/pkgconfig
  # shellcheck disable=SC2046
  "${CXX:-g++}" -std=c++17 "$PORTACL_SOURCE_DIR/examples/native_api.cc" $(pkg-config --cflags --libs portacl) \
    -o "$folder/by_pkg_config"
  expect native_api "$folder/by_pkg_config"
fi

# set_env.sh points a fresh shell at this tree.
got=$(env -u ASCEND_HOME_PATH -u LD_LIBRARY_PATH bash -c \
  '. "$1/set_env.sh" && printf "%s %s" "$ASCEND_HOME_PATH" "$LD_LIBRARY_PATH"' _ "$home")
[ "$got" = "$home $home/lib64" ] || { echo "set_env.sh gives: $got"; exit 1; }

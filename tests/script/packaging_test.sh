#!/usr/bin/env bash
# The files for packagers agree with the project: version, sources they name, packages they need.
set -euo pipefail
. "${PORTACL_SOURCE_DIR:?}/script/lib/common.sh"
version=$(project_version)
failed=0
wrong() { echo "$*"; failed=1; }

# How recipe.yaml reads the version, and how script/release finds that line.
grep -q "^project(portacl VERSION $version " CMakeLists.txt || wrong "recipe.yaml wants a space behind CMakeLists.txt's version"
grep -q '^  version: .*load_from_file("../../CMakeLists.txt")' packaging/conda/recipe.yaml || wrong "recipe.yaml does not read the version"

# A released recipe has the project's page; who maintains a feedstock is not known here.
recipe=$(released_recipe . LICENSE "path: ./LICENSE" https://example.org/p)
for key in homepage repository; do
  sed -n '/^about:$/,/^[^ a]/p' <<<"$recipe" | grep -qxF "  $key: https://example.org/p" || wrong "a released recipe has no $key"
done
if sed -n '/recipe-maintainers/,$p' packaging/conda/recipe.yaml | grep -E '^ +- '; then
  wrong "recipe.yaml names a maintainer, who is no account"
fi

# Every library of the notices is wanted by the recipes and named by the others.
for name in onetbb highway fmt spdlog nlohmann_json cli11 stb libpng libjpeg-turbo; do
  grep -q "\"$name/" packaging/conan/conanfile.py || wrong "conanfile.py does not want $name"
done
for name in tbb-devel libhwy fmt spdlog nlohmann_json cli11 stb libpng libjpeg-turbo; do
  grep -qE "^    - $name( |$)" packaging/conda/recipe.yaml || wrong "recipe.yaml does not want $name"
done
while read -r name; do
  grep -qiF "$name" THIRD_PARTY_LICENSES.txt || wrong "THIRD_PARTY_LICENSES.txt does not name $name"
done < <(printf '%s\n' oneTBB Highway libpng libjpeg-turbo '{fmt}' spdlog 'JSON for Modern C++' CLI11 \
  stb_truetype Roboto nanobind robin-map "XLA's FFI header")
for name in fmt spdlog nlohmann-json stb robin-map CLI11 nanobind highway third_party/xla; do
  grep -qxF "Files: $name/*" packaging/debian/copyright || wrong "packaging/debian/copyright does not name $name"
done

# The container copies what the build installs, and its libraries are those that the .deb asks for.
library=${ASCEND_HOME_PATH:-}/lib64/libportacl.so
if [ -e "$library" ] && command -v dpkg-query >/dev/null; then
  for name in $(readelf -d "$library" "$ASCEND_HOME_PATH/bin/portacl" |
    sed -n 's/.*NEEDED.*\[\(lib\(tbb\|hwy\|png16\|turbojpeg\)[^]]*\)\]/\1/p' | sort -u); do
    package=$(dpkg-query -S "*/$name" 2>/dev/null | head -n 1 | cut -d: -f1) || continue
    [ -z "$package" ] || grep -qw -- "$package" Containerfile || wrong "Containerfile does not install $package"
  done
fi
[ $failed -eq 0 ] && echo "recipes, notices and container agree with version $version"
exit $failed

#!/usr/bin/env bash
# script/release refuses tags that do not fit, and makes the same archive each time.
set -euo pipefail
source=${PORTACL_SOURCE_DIR:?}
command -v git >/dev/null || { echo "SKIPPED: no git"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
repository=$folder/repository
mkdir -p "$repository/script/lib" "$repository/packaging/conda"
cp "$source/script/release" "$repository/script/"
cp "$source/script/lib/common.sh" "$repository/script/lib/"
cp "$source/packaging/conda/recipe.yaml" "$repository/packaging/conda/"
cd "$repository"
# In a hook git names the caller's repository in variables.
mapfile -t variables < <(git rev-parse --local-env-vars)
unset "${variables[@]}"
echo 'project(portacl VERSION 1.2.3 LANGUAGES CXX)' >CMakeLists.txt
echo '# Changelog' >CHANGELOG.md
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null \
  GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
git init -q
git add .
git commit -qm first
git tag v1.2.3

refused() {  # refused WORDS ARGUMENTS...
  local words=$1 text
  shift
  if text=$(script/release "$@" 2>&1); then echo "release $*: not refused"; exit 1; fi
  grep -qF -- "$words" <<<"$text" || { echo "release $*: no '$words' in: $text"; exit 1; }
}
refused "which tag"
refused "there is no tag v9" v9
refused "unknown argument" v1.2.3 --all
refused "no section 1.2.3" v1.2.3 --sources
printf '\n## 1.2.3 (unreleased)\n' >>CHANGELOG.md
git commit -qam second
git tag -f v1.2.3 >/dev/null
refused "says that 1.2.3 is unreleased" v1.2.3 --sources
sed -i 's/ (unreleased)//' CHANGELOG.md
git commit -qam third
git tag -f v1.2.3 >/dev/null
refused "says no date" v1.2.3 --sources
sed -i 's/^## 1.2.3$/& (2026-02-28)/' CHANGELOG.md
git commit -qam fourth
git tag -f v1.2.3 >/dev/null
git tag v1.3.0
refused "v1.3.0 has version 1.2.3" v1.3.0 --sources

echo "not committed" >>CHANGELOG.md
script/release v1.2.3 --sources >/dev/null
files=build/releases/v1.2.3
(cd "$files" && sha256sum --quiet -c SHA256SUMS)
cp "$files/SHA256SUMS" "$folder/first"
script/release v1.2.3 --sources >/dev/null
diff "$folder/first" "$files/SHA256SUMS"
[ "$(cut -c67- "$folder/first" | xargs)" = "conda-recipe.yaml portacl-1.2.3-source.tar.gz" ] ||
  { cat "$folder/first"; exit 1; }
in_recipe() { grep -qxF -- "$1" "$files/conda-recipe.yaml" || { echo "no '$1' in:"; cat "$files/conda-recipe.yaml"; exit 1; }; }
checksum=$(sha256sum "$files/portacl-1.2.3-source.tar.gz" | cut -d' ' -f1)
for line in 'context:' '  version: "1.2.3"' '  path: ./portacl-1.2.3-source.tar.gz' "  sha256: $checksum"; do
  in_recipe "$line"
done
PORTACL_REPOSITORY_URL=https://example.org/portacl.git/ script/release v1.2.3 --sources >/dev/null
in_recipe '  url: https://example.org/portacl/releases/download/v1.2.3/portacl-1.2.3-source.tar.gz'
tar -xzf "$files/portacl-1.2.3-source.tar.gz" -C "$folder"
if grep -q "not committed" "$folder/portacl-1.2.3/CHANGELOG.md"; then
  echo "the work tree got into the archive"; exit 1
fi
echo "script/release: seven refusals, the same bytes twice"

#!/usr/bin/env bash
# script/release refuses tags that do not fit, makes the same archive each time, hands one address
# to all programs that it calls, and runs the checks in full.
set -euo pipefail
source=${PORTACL_SOURCE_DIR:?}
command -v git >/dev/null || { echo "SKIPPED: no git"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
repository=$folder/repository
mkdir -p "$repository/script/checks" "$repository/script/lib" "$repository/packaging/conda"
cp "$source/script/release" "$repository/script/"
cp "$source/script/checks/"{deb,wheel} "$repository/script/checks/"
cp "$source/script/lib/"{arm64,common}.sh "$repository/script/lib/"
cp "$source/packaging/conda/recipe.yaml" "$repository/packaging/conda/"
cd "$repository"
# In a hook git names the caller's repository in variables.
mapfile -t variables < <(git rev-parse --local-env-vars)
unset "${variables[@]}"
echo 'project(portacl VERSION 1.2.3 LANGUAGES CXX)' >CMakeLists.txt
echo '# Changelog' >CHANGELOG.md
unset PORTACL_REPOSITORY_URL
export CALLS=$folder/calls
stub() { cat >"$1"; chmod +x "$1"; }  # stub PROGRAM: what it calls there only writes down how
stub script/check <<'STUB'
#!/bin/sh
echo "$* links=${PORTACL_REPOSITORY_URL-unset}" >>"$CALLS"
mkdir -p dist build/package
touch dist/portacl.whl build/package/portacl.deb
STUB
stub script/setup <<'STUB'
#!/bin/sh
[ "$1" != --print-venv ] || echo "$PWD/venv"
STUB
mkdir -p venv/bin
stub venv/bin/pip </dev/null
stub venv/bin/python <<'STUB'
#!/bin/sh
if [ "$2" = venv ]; then cp -r venv "$3"; else echo "sdist links=${PORTACL_REPOSITORY_URL-unset}" >>"$CALLS"; fi
STUB
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
PORTACL_REPOSITORY_URL=ssh://git@example.org/portacl refused "which is no https address" v1.2.3 --sources

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
if grep -E '^  (homepage|repository):' "$files/conda-recipe.yaml"; then echo "an address from nowhere"; exit 1; fi
PORTACL_REPOSITORY_URL=https://user:token@example.org/portacl.git/ script/release v1.2.3 --sources >/dev/null
in_recipe '  url: https://example.org/portacl/releases/download/v1.2.3/portacl-1.2.3-source.tar.gz'
in_recipe '  homepage: https://example.org/portacl'
in_recipe '  repository: https://example.org/portacl'
tar -xzf "$files/portacl-1.2.3-source.tar.gz" -C "$folder"
if grep -q "not committed" "$folder/portacl-1.2.3/CHANGELOG.md"; then
  echo "the work tree got into the archive"; exit 1
fi

called() {  # called LINES ARGUMENTS...: what the release's checks and the sdist were told
  local lines=$1
  shift
  rm -f "$CALLS"
  script/release "$@" >"$folder/out" 2>&1 || { cat "$folder/out"; exit 1; }
  diff <(printf '%s\n' "$lines") "$CALLS" || { echo "release $*: other calls than these"; exit 1; }
}
page=https://example.org/portacl
called "wheel links=
sdist links=
deb links=" v1.2.3 --any-python --skip-arm64 --skip-apt
PORTACL_REPOSITORY_URL=$page.git/ called "wheel --complete --arm64 links=$page
sdist links=$page
deb links=$page" v1.2.3 --skip-apt
if [ "$(id -u)" -eq 0 ]; then
  called "wheel --arm64 links=
sdist links=
deb --complete links=" v1.2.3 --any-python
else
  refused "takes root" v1.2.3
fi

# Arguments that the checks refuse before they build anything. The checks find a CPython 3.10 and
# those in /usr/bin.
mkdir -p "$folder/pyenv/versions/any/bin"
stub "$folder/pyenv/versions/any/bin/python3" <<'STUB'
#!/bin/sh
echo "10 $0"
STUB
stopped() {  # stopped WORDS CHECK ARGUMENTS...
  local words=$1 text
  shift
  if text=$(PATH=/usr/bin:/bin PYENV_ROOT=$folder/pyenv PORTACL_SKIP_PACKAGES=1 "script/checks/$1" "${@:2}" 2>&1); then
    echo "$*: not refused"; exit 1
  fi
  grep -qF -- "$words" <<<"$text" || { echo "$*: no '$words' in: $text"; exit 1; }
}
stopped "no CPython with its headers: 3.2" wheel 3.10 3.2
stopped "CPython found: 3.10 " wheel 3.10 3.2
[ -e /usr/bin/python3.9 ] || stopped "no CPython with its headers: 3.9" wheel --complete
stopped "unknown argument '--all'" deb --all
[ "$(id -u)" -eq 0 ] || stopped "needs root" deb --complete
echo "script/release: refusals, the same bytes twice, one address, checks that leave nothing out"

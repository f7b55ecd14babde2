#!/usr/bin/env bash
# script/check gain wants a figure and a machine in commits of src/cpu that claim speed, and in no
# other commits.
set -euo pipefail
command -v git >/dev/null || { echo "SKIPPED: no git"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mapfile -t variables < <(git rev-parse --local-env-vars)
unset "${variables[@]}"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null \
  GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
mkdir -p "$folder/script/checks" "$folder/src/cpu/resize" "$folder/src/ops"
cp -r "$PORTACL_SOURCE_DIR/script/lib" "$folder/script/"
cp "$PORTACL_SOURCE_DIR/script/checks/gain" "$folder/script/checks/"
cd "$folder"
git init -q
git commit -q --allow-empty -m 'empty'

# wants STATUS FILE MESSAGE: of the hook, and of the check of the commit.
wants() {
  local status=0 of_hook=0 of_commit=0
  date +%s%N >>"$2"
  git add "$2"
  printf '%s\n' "$3" >"$folder/message"
  script/checks/gain --message "$folder/message" >"$folder/out" 2>&1 || of_hook=$?
  git commit -q -F "$folder/message"
  script/checks/gain >>"$folder/out" 2>&1 || of_commit=$?
  [ "$of_hook $of_commit" = "$1 $1" ] || {
    echo "wanted $1, hook $of_hook, commit $of_commit: $3"
    cat "$folder/out"
    exit 1
  }
  echo "ok $1 ${3%%$'\n'*}"
}

kernel=src/cpu/resize/a.cc
wants 1 $kernel 'cpu: rows are twice as fast'
wants 1 $kernel $'cpu: rows go past the caches\n\nTested by its tests.'
wants 1 $kernel $'cpu: rows are fetched ahead\n\n1.3 -> 1.1 ms.'
wants 1 $kernel $'cpu: rows are fetched ahead\n\nOn AMD Zen 4, 2 CPUs.'
wants 1 $kernel $'cpu: rows are fetched ahead\n\nGain: none'
wants 1 $kernel 'cpu: rows are 1.3x as fast on AMD'  # the subject is no body
wants 0 $kernel $'cpu: rows are fetched ahead\n\nBilinear x2: 1.3 -> 1.1 ms, AMD Zen 4, 2 CPUs, one thread.'
wants 0 $kernel $'cpu: fewer copies\n\n12 % fewer instructions (Intel Granite Rapids).'
wants 0 $kernel $'cpu: rows are fetched by a function of their own\n\nGain: none, because it moves code.'
wants 0 $kernel 'cpu: one name for rows'
wants 0 $kernel $'cpu: breakfast costumes\n\nWords that only contain others.'
wants 0 src/ops/a.cc 'ops: checks are twice as fast'
wants 0 src/cpu/README.md 'docs: why rows are fast'

status=0
text=$(script/checks/gain HEAD~13..HEAD 2>/dev/null) || status=$?
[ $status -eq 1 ] && [ "$(wc -l <<<"$text")" -eq 6 ] || { echo "of a range: $status, $text"; exit 1; }
echo "ok a range"

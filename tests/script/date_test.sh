#!/usr/bin/env bash
# cmake/date.cmake takes the sources' date from the changelog, SOURCE_DATE_EPOCH or the last commit, not from a clock.
set -euo pipefail
source=${PORTACL_SOURCE_DIR:?}
command -v git >/dev/null || { echo "SKIPPED: no git"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mapfile -t variables < <(git rev-parse --local-env-vars)
unset SOURCE_DATE_EPOCH "${variables[@]}"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null TZ=Asia/Shanghai \
  GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org \
  GIT_COMMITTER_DATE='2026-03-04T23:30:00+0000' GIT_AUTHOR_DATE='2020-01-01T00:00:00+0000'
cat >print.cmake <<CMAKE
include("$source/cmake/date.cmake")
message("\${PORTACL_DATE}|\${PORTACL_DATE_RFC2822}")
CMAKE

wants() {  # wants DATES SITUATION
  local got
  got=$(cmake -DPROJECT_VERSION=1.2.3 -DPROJECT_SOURCE_DIR="$folder/sources" -P print.cmake 2>&1)
  [ "$got" = "$1" ] || { echo "$2: $got, wanted $1"; exit 1; }
}

git init -q
mkdir sources
printf '## 11.2.3 (2027-01-01)\n## 1.2.3 (unreleased)\n## 1.2.2 (2025-01-01)\n' >sources/CHANGELOG.md
git add .
git commit -qm first
wants '|Thu, 01 Jan 1970 00:00:00 +0000' "an archive without git, inside somebody's repository"
git -C sources init -q
git -C sources add .
git -C sources commit -qm first
wants '2026-03-04|Wed, 04 Mar 2026 23:30:00 +0000' "a clone"
export SOURCE_DATE_EPOCH=1700000000
wants '2023-11-14|Tue, 14 Nov 2023 22:13:20 +0000' "SOURCE_DATE_EPOCH"
sed -i 's/^## 1.2.3 .*/## 1.2.3 (2026-12-01)/' sources/CHANGELOG.md
wants '2026-12-01|Tue, 01 Dec 2026 00:00:00 +0000' "a released version"
echo "the date of the sources: of a release, of SOURCE_DATE_EPOCH, of a commit, unknown"

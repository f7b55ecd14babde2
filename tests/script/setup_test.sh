#!/usr/bin/env bash
# script/setup where it cannot install: without root, without a network, without Debian, without
# PyPI. Each time it names what is missing and ends with status 3; a second run is quick; the packages
# of the product need no Python. Locked versions are installed, whatever PyPI has since. And for all
# scripts: --help works from their own folders, and unknown arguments are refused.
set -euo pipefail
setup=$PORTACL_SOURCE_DIR/script/setup
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset PORTACL_SKIP_PACKAGES

for script in "$PORTACL_SOURCE_DIR"/script/{build,check,docs,fuzz,lock,run,sbom,setup,test,checks/*}; do
  [ -x "$script" ] || continue  # data of a check
  name=$(basename "$script")
  text=$(cd "$(dirname "$script")" && "./$name" --help) && [[ $text == *"script/"*"$name"* ]] ||
    { echo "$script --help: $text"; exit 1; }
  status=0
  text=$(PORTACL_SKIP_PACKAGES=1 timeout 60 "$script" --shrt 2>&1 </dev/null) || status=$?
  [ $status -eq 2 ] && [[ $text == *"--shrt"* ]] || { echo "$script --shrt: status $status, $text"; exit 1; }
done

# fake NAME COMMAND: a program in $folder/bin, which is first in PATH.
mkdir "$folder/bin"
fake() {
  printf '#!/bin/sh\n%s\n' "$2" >"$folder/bin/$1"
  chmod +x "$folder/bin/$1"
}

# refused WHAT TEXT... -- COMMAND...: status 3 and every TEXT on standard error.
refused() {
  local what=$1 texts=() status=0 text
  shift
  while [ "$1" != -- ]; do texts+=("$1"); shift; done
  shift
  "$@" >"$folder/out" 2>"$folder/err" </dev/null || status=$?
  [ $status -eq 3 ] || { echo "$what: status $status"; cat "$folder/out" "$folder/err"; exit 1; }
  for text in "${texts[@]}"; do
    grep -qF -- "$text" "$folder/err" || { echo "$what: no '$text' in:"; cat "$folder/err"; exit 1; }
  done
  echo "ok $what"
}

fake dpkg-query 'exit 0'  # nothing is installed
fake apt-get 'echo "E: Temporary failure resolving deb.debian.org" >&2; exit 100'
fake id 'echo 0'
refused "root without a network" "Temporary failure resolving" "Could not install: g++ cmake" \
  "apt-get install -y --no-install-recommends g++ cmake" -- env PATH="$folder/bin:$PATH" "$setup"

fake id 'echo 1000'
fake apt-get 'echo "must not be called" >&2; exit 100'
refused "not root" "Missing Debian packages: g++ cmake" "sudo sh -c 'apt-get update" \
  -- env PATH="$folder/bin:$PATH" "$setup"
if grep -q "must not be called" "$folder/err"; then echo "apt-get was called"; exit 1; fi

mkdir "$folder/few"
for program in bash sed awk dirname basename nproc; do
  ln -s "$(command -v "$program")" "$folder/few/"
done
refused "not Debian" "not a Debian system" "PORTACL_SKIP_PACKAGES=1" "libhwy-dev" \
  -- env PATH="$folder/few" bash "$setup"

# The product needs neither Python nor PyPI.
env PATH="$folder/few" PORTACL_SKIP_PACKAGES=1 PORTACL_CACHE="$folder/none" bash "$setup" --product
[ ! -e "$folder/none" ] || { echo "--product made a Python environment"; exit 1; }
echo "ok the product alone"

refused "no PyPI" "script/requirements/base.txt" "numpy>=" "PIP_INDEX_URL" \
  -- env -u PIP_EXTRA_INDEX_URL -u PIP_FIND_LINKS -u PIP_NO_INDEX PORTACL_SKIP_PACKAGES=1 \
  PORTACL_CACHE="$folder/cache" PIP_CONFIG_FILE=/dev/null \
  PIP_INDEX_URL=http://127.0.0.1:9/simple PIP_RETRIES=0 PIP_NO_CACHE_DIR=1 "$setup"
if [ -n "$(find "$folder/cache" -name .complete)" ]; then
  echo "a broken environment counts as complete"
  exit 1
fi

# Services and containers may run without HOME.
venv=$(env -u HOME -u XDG_CACHE_HOME -u PORTACL_CACHE "$setup" --print-venv)
case $venv in
  /*/.cache/portacl/venv-*) echo "ok no HOME" ;;
  *) echo "without HOME the environment would be $venv"; exit 1 ;;
esac

# A pinned dependency with an extra, and a newer version of it: pip's resolver would take the newer
# version, and refuse it, as it has no hash.
mkdir "$folder/wheels" "$folder/later"
cp -r "$PORTACL_SOURCE_DIR/script" "$folder/later/"
printf '%s\n' 'app>=1' 'dependency==1' >"$folder/later/script/requirements/base.txt"
python3 - "$folder" <<'EOF'
import hashlib, pathlib, sys, zipfile

folder = pathlib.Path(sys.argv[1])

def wheel(name, version, *lines):
    info = f"{name}-{version}.dist-info"
    path = folder / f"wheels/{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{name}.py", f"version = {version}")
        file.writestr(f"{info}/METADATA", "\n".join(
            ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *lines]))
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any")
        file.writestr(f"{info}/RECORD", "")
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"

lock = [wheel("app", 1, "Requires-Dist: dependency[extra]>=1"), wheel("dependency", 1, "Provides-Extra: extra")]
wheel("dependency", 2, "Provides-Extra: extra")
(folder / "later/script/requirements/base.lock").write_text("\n".join(lock) + "\n")
EOF
# A package on PYTHONPATH has a requirement that is nowhere: it does not belong to the environment.
mkdir -p "$folder/elsewhere/foreign-1.dist-info"
printf '%s\n' 'Metadata-Version: 2.1' 'Name: foreign' 'Version: 1' 'Requires-Dist: nowhere' \
  >"$folder/elsewhere/foreign-1.dist-info/METADATA"
later() {
  env -u PIP_EXTRA_INDEX_URL PORTACL_SKIP_PACKAGES=1 PORTACL_CACHE="$folder/later/cache" \
    PIP_CONFIG_FILE=/dev/null PIP_NO_INDEX=1 PIP_FIND_LINKS="$folder/wheels" \
    PYTHONPATH="$folder/elsewhere" "$folder/later/script/setup" "$@"
}
later
[ "$("$(later --print-venv)/bin/python" -c 'import app, dependency; print(dependency.version)')" = 1 ] ||
  { echo "another version than the locked one"; exit 1; }
echo "ok a newer version of what is locked"

# A lock with a missing package. Before Python 3.11 nothing is locked, and pip finds the package.
if "$(later --print-venv)/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  sed -i '/^dependency/d' "$folder/later/script/requirements/base.lock"
  refused "an incomplete lock" "app 1 requires dependency" "script/lock" -- later
fi

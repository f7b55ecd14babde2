# Shared by the scripts: sourced, never run. Puts the caller into the repository root.
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
caller=$(cd -- "$(dirname -- "$0")" && pwd)/${0##*/}
cd "$root"
HOME=${HOME:-~}  # services and containers may come without it
jobs=${PORTACL_JOBS:-$(nproc 2>/dev/null || echo 2)}
cache=${PORTACL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/portacl}

say() { printf '== %s\n' "$*"; }
die() { printf '%s: %s\n' "$(basename -- "$0")" "$1" >&2; exit "${2:-1}"; }

# needs_number NAME VALUE: ends the script unless the value is a whole number above 0.
needs_number() { [[ $2 =~ ^[1-9][0-9]{0,8}$ ]] || die "$1 is '$2', wanted a whole number above 0" 2; }
needs_number PORTACL_JOBS "$jobs"

# die_with LOG WORDS [STATUS]: the log's end goes before the words.
die_with() { tail -n 60 -- "$1" >&2; die "${@:2}"; }

# usage: prints the comment block at the top of the calling script.
usage() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$caller"; }

# no_arguments "$@": for a script whose only argument is --help.
no_arguments() {
  case ${1:-} in
    -h | --help) usage; exit 0 ;;
    ?*) die "unknown argument '$1' (--help lists them)" 2 ;;
  esac
}

# project_version [FOLDER]: the version in a clone's CMakeLists.txt, its only place.
project_version() { sed -n 's/^project(portacl VERSION \([0-9.]*\).*/\1/p' "${1:-$root}/CMakeLists.txt"; }

# web_address ADDRESS: a repository's page, as python/backend/portacl_metadata.py makes it: no user, no slash or
# .git at its end, nothing where it is no https address.
web_address() {
  sed -En -e 's|^git@([^/:]+):/*|https://\1/|' -e 's|^(https://)[^/]*@|\1|' -e 's|/+$||' -e 's|/*\.git$||' \
    -e '\|^https://[^/]|p' <<<"$1"
}

# released_recipe CLONE ARCHIVE LOCATION [PAGE]: the clone's conda recipe with the version and the
# archive of the sources filled in. LOCATION: the archive's "url: ADDRESS" or "path: FILE". PAGE:
# the repository's page, if known.
released_recipe() {
  sed -e '1,/^context:$/{/^context:$/!d}' ${4:+-e "s|^about:\$|&\n  homepage: $4\n  repository: $4|"} \
    -e "s|^  version: .*load_from_file.*|  version: \"$(project_version "$1")\"|" \
    -e "s|^  path: \.\./\.\.\$|  $3\n  sha256: $(sha256sum "$2" | cut -d' ' -f1)|" "$1/packaging/conda/recipe.yaml"
}

# copy_tree FOLDER: the work tree, without what git ignores.
copy_tree() {
  mkdir -p "$1"
  git ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do
      if [ -f "$file" ] || [ -L "$file" ]; then printf '%s\0' "$file"; fi  # git lists what was removed, too
    done | tar --create --null --files-from=- | tar --extract --directory "$1" --no-same-owner
}

# missing_packages NAME...: the Debian packages among them that are not installed.
missing_packages() {
  local name
  dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
    awk '$2 == "installed" { print $1 }' | sort -u >"${TMPDIR:-/tmp}/portacl-installed.$$" || true
  for name in "$@"; do
    grep -qxF -- "$name" "${TMPDIR:-/tmp}/portacl-installed.$$" || printf '%s\n' "$name"
  done
  rm -f "${TMPDIR:-/tmp}/portacl-installed.$$"
}

# install_packages NAME...: installs what is missing; status 3 with the exact command where it cannot.
install_packages() {
  local missing log
  if [ -n "${PORTACL_SKIP_PACKAGES:-}" ]; then
    say "packages: not looked at (PORTACL_SKIP_PACKAGES is set)"
    return 0
  fi
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    printf '%s\n' "This is not a Debian system. Install what these Debian packages hold, then run again" \
      "with PORTACL_SKIP_PACKAGES=1:" "  $*" >&2
    exit 3
  fi
  mapfile -t missing < <(missing_packages "$@")
  if [ ${#missing[@]} -eq 0 ]; then
    return 0
  fi
  local command="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    printf '%s\n' "Missing Debian packages: ${missing[*]}" "Not root, so they cannot be installed from here. Run:" \
      "  sudo sh -c '$command'" >&2
    exit 3
  fi
  say "installing Debian packages: ${missing[*]}"
  log=$(mktemp)
  if ! { apt-get -q -o Acquire::Retries=3 -o APT::Update::Error-Mode=any update &&
    DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3 install -y \
      --no-install-recommends "${missing[@]}"; } </dev/null >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    rm -f "$log"
    printf '%s\n' "Could not install: ${missing[*]}" "Run, where the package archive is reachable:" "  $command" >&2
    exit 3
  fi
  rm -f "$log"
}

# debian_root SUITE FOLDER [OPTION...]: that Debian's smallest installation, from this machine's mirror. Needs root.
debian_root() {
  local suite=$1 folder=$2 mirror scripts=/usr/share/debootstrap/scripts script=sid
  shift 2
  [ ! -e "$scripts/$suite" ] || script=$suite
  mirror=$(cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null |
    sed -En 's/^(URIs:|deb( \[[^]]*\])?) +(http[^ ]*).*/\3/p' | head -n 1)
  debootstrap --variant=minbase "$@" "$suite" "$folder" "${mirror:-http://deb.debian.org/debian}" "$scripts/$script"
}

# all_tests_but FILE: the GoogleTest filter that leaves out the patterns in a file.
all_tests_but() { printf -- '-%s' "$(grep -v -e '^#' -e '^$' "$1" | paste -sd:)"; }

# run_ctest FOLDER [OPTION...]: all tests of a build. Failed tests come once more at the end, 60
# lines of each: a log that is cut in its middle still names them.
run_ctest() {
  local folder=$1 status=0
  shift
  ctest --test-dir "$folder" --parallel "$jobs" --output-on-failure --no-tests=error "$@" || status=$?
  if [ $status -ne 0 ]; then
    say "tests that failed"
    awk '/^\[ RUN  /{n = 0}
      /^\[  FAILED  \].* ms\)$/ {for (i = 0; i < n; ++i) print line[i]; print; n = 60}
      n < 60 {line[n++] = $0}' \
      "$folder/Testing/Temporary/LastTest.log"
    awk '/^[0-9]+\/[0-9]+ Testing: / {n = said = 0}
      {line[n++] = $0}
      /^\[  FAILED  \].* ms\)$/ {said = 1}
      /^Test Failed\./ && !said {print line[0]; for (i = n > 60 ? n - 60 : 1; i < n; ++i) print line[i]}' \
      "$folder/Testing/Temporary/LastTest.log"
  fi
  return $status
}

# stage NAME COMMAND...: runs it in the foreground, output untouched, and prints its time.
stage() {
  local name=$1 began=$SECONDS status=0
  shift
  say "$name"
  "$@" || status=$?
  stage_times+=("$(printf '%-28s %4d s  %s' "$name" $((SECONDS - began)) "$([ $status -eq 0 ] && echo ok || echo "FAILED ($status)")")")
  return $status
}
stage_times=()

# build_python BUILD FOLDER PYTHON: the Python package of build/BUILD for that interpreter, importable from FOLDER.
build_python() {
  local log=build/$1-python.log
  cmake -B "build/$1" -DPORTACL_PYTHON=ON -DPython_EXECUTABLE="$3" >"$log" 2>&1 &&
    cmake --build "build/$1" --parallel "$jobs" --target portacl portacl_python_stub portacl_cli \
      portacl_call portacl_gdb_types portacl_npu_smi &&
    rm -rf "$2" &&  # files that the tree no longer has
    cmake --install "build/$1" --prefix "$2" --component python >>"$log" || {
    cat "$log" >&2
    return 1
  }
}

# run_pytest PYTHON FOLDER [OPTION...]: all tests of the package in FOLDER. A file's tests stay in
# one process, in the order of conftest.py. JAX comes last: a fork loses its threads.
run_pytest() {
  local python=$1 folder=$2
  shift 2
  PYTHONPATH=$folder:$(script/setup --print-volumes) "$python" -m pytest -q --numprocesses "$jobs" --dist loadfile \
    --no-loadscope-reorder --durations=20 --durations-min=2 "$@" python/tests
}

# try NAME COMMAND...: a stage after which the script goes on if it fails. end_of_tries ends the script: with status 1
# and the names of the stages that failed, if there are any.
try() { stage "$@" || failed+=("$1"); }
end_of_tries() {
  local name
  [ ${#failed[@]} -gt 0 ] || return 0
  for name in "${failed[@]}"; do say "failed: $name"; done
  exit 1
}
failed=()

#!/usr/bin/env bash
# Scripts refuse wrong arguments before they build anything: the parameter, what it got and what was wanted.
set -euo pipefail
cd "$PORTACL_SOURCE_DIR"
export LC_ALL=C  # bash warns of a locale that is not there

# refuses WORDS COMMAND...: ends with a status of its own within seconds; its first line has the words.
refuses() {
  local words=$1 said status=0
  shift
  said=$(timeout 60 "$@" 2>&1 </dev/null) || status=$?
  if [ $status -eq 0 ] || [ $status -ge 124 ] || [[ ${said%%$'\n'*} != *"$words"* ]]; then
    printf '%s\nstatus %d, wanted: %s\n%s\n' "$*" $status "$words" "$said"
    exit 1
  fi
}
known='wanted ggml, llama, infinicore, infinitensor or a folder'
refuses "--programs is '/nonexistent', $known" script/check clients --programs /nonexistent
refuses "--programs is '', $known" script/check clients --programs
refuses "--sources is '/nonexistent', wanted a folder" script/check clients --programs ggml --sources /nonexistent
refuses "-I is '', wanted a folder" script/check clients -I
refuses "FILE is 'nosuch.cc', wanted a source file" script/check clients nosuch.cc
for value in x 0 -1 1.5 ' ' 99999999999999999999; do
  refuses "PORTACL_JOBS is '$value', wanted a whole number above 0" env "PORTACL_JOBS=$value" script/build
done
if python3 -c 'import tomllib' 2>/dev/null; then  # Python 3.11, which these scripts need
  refuses "PORTACL_JOBS is 'x', wanted a whole number above 0" env PORTACL_JOBS=x script/mutate
  refuses "no mutant has nosuchmutant in its name" script/mutate nosuchmutant
  refuses "--minutes is 'x', wanted a whole number" script/rotate --minutes x
  refuses "no part of 0 minutes at most" script/rotate --minutes 0
  refuses "no part with 'nosuchpart' in its command" script/rotate nosuchpart
fi
refuses "MINUTES is 'x', wanted a whole number above 0" script/fuzz x
refuses "unknown argument '--foo'" script/campaign --foo
refuses "--seed is 'x', wanted a whole number" script/campaign --seed x
refuses "--seed is '08', wanted a whole number" script/campaign --seed 08
refuses "--cases is '', wanted a whole number" script/campaign --python --cases
refuses "no machine 'nosuch'" script/check machines nosuch
refuses "CPUS is 'x', wanted a whole number above 0" script/check machines cpus=x
refuses "FOLDER is 'nosuch', wanted a folder of tests/" script/check valgrind nosuch
refuses "FOLDER is 'kernels/', wanted a folder of tests/" script/check valgrind kernels/
echo "ok: scripts name the argument that is wrong"

# Body of script/checks/asan and tsan: builds the preset of that name and runs its tests.
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

preset=$(basename -- "$0")
left_out=()
for argument in "$@"; do
  case $argument in
    --short)
      export PORTACL_TEST_SHORT=1 RC_PARAMS="max_success=25 ${RC_PARAMS:-}"
      if [ "$preset" = asan ]; then preset=asan-narrow; fi
      # A process for every test, of one thread but for calls that the other programs make too.
      if [ "$preset" = tsan ]; then left_out=(--label-exclude '^cli$'); fi ;;
    -h | --help) usage; exit 0 ;;
    *) die "unknown argument '$argument' (--help lists them)" 2 ;;
  esac
done
script/setup
script/build "$preset"
run_ctest "build/$preset" "${left_out[@]}"

# Body of script/checks/asan and tsan: builds the preset of that name and runs its tests.
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

preset=$(basename -- "$0")
left_out=() targets=()
for argument in "$@"; do
  case $argument in
    --short)
      export PORTACL_TEST_SHORT=1 RC_PARAMS="max_success=25 ${RC_PARAMS:-}"
      # Without the command line: every test is a process, and script/fuzz tests its readers.
      # Without the tools under tsan: they use one thread, except in calls that the other programs
      # make too.
      programs=(base_test runtime_test kernels_test ops_test api_test faults_test campaign)
      case $preset in
        asan) preset=asan-narrow programs+=(golden_test) left_out=(--label-exclude '^cli$') ;;
        tsan) left_out=(--label-exclude '^(cli|golden)$')
          # Formulas, kernels in every mode and shape and of large tensors: the campaign draws such
          # calls, on up to seven threads. Faults: a quarter of the functions; asan has all.
          GTEST_FILTER='-Ref*:PyTorch*:NearestRule*:ResampleAxis*:*/Plain0:*/Plain1:*/Plain2'
          for test in InEvery ForEvery OnEvery GridGradAlone AtKinks Around StrangePoints CloseTogether \
            TheCaches VolumesShrink StagedSums LongRows FewChannels ManyImages ManyPoints; do
            GTEST_FILTER+=":*Kernels*.Equal*$test*:ResampleTest.Equal*$test*"
          done
          export GTEST_FILTER ;;
      esac
      for program in "${programs[@]}"; do targets+=(--target "portacl_$program"); done ;;
    -h | --help) usage; exit 0 ;;
    *) die "unknown argument '$argument' (--help lists them)" 2 ;;
  esac
done
script/setup
script/build "$preset" "${targets[@]}"
run_ctest "build/$preset" "${left_out[@]}"

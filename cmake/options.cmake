# Every switch of the build, with what it is for.
option(PORTACL_SCALAR "Only the scalar kernels of src/ref: no Highway, any CPU" OFF)
option(PORTACL_TESTS "Build the tests (GoogleTest, RapidCheck)" ${PROJECT_IS_TOP_LEVEL})
option(PORTACL_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(PORTACL_BENCH "Build the benchmarks where Google Benchmark is installed" ${PROJECT_IS_TOP_LEVEL})
option(PORTACL_WERROR "Warnings are errors (for developers and CI)" OFF)
option(PORTACL_COVERAGE "Instrument for gcov" OFF)
set(PORTACL_SANITIZE "" CACHE STRING "Comma-separated -fsanitize= list, e.g. address,undefined")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(PORTACL_CCACHE ccache)
mark_as_advanced(PORTACL_CCACHE)
if(PORTACL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${PORTACL_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${PORTACL_CCACHE}")
endif()

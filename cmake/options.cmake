# Every switch of the build, with what it is for.
option(PORTACL_SCALAR "Only the scalar kernels of src/ref: no Highway, any CPU" OFF)
option(PORTACL_NARROW_ONLY "Only the kernels of AVX2 and NEON, and those of src/ref" OFF)
option(PORTACL_TESTS "Build the tests (GoogleTest, RapidCheck)" ${PROJECT_IS_TOP_LEVEL})
option(PORTACL_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(PORTACL_BENCH "Build the benchmarks where Google Benchmark is installed" ${PROJECT_IS_TOP_LEVEL})
option(PORTACL_SIMULATION "Simulate threads that are not there, for bench/scaling.py" OFF)
option(PORTACL_PYTHON "Build the Python extension (nanobind); pyproject.toml sets it" OFF)
option(PORTACL_PRECOMPILE "Parse the headers of others once for each of the larger targets" ON)
option(PORTACL_WERROR "Warnings are errors (for developers and CI)" OFF)
option(PORTACL_COVERAGE "Instrument for gcov" OFF)
option(PORTACL_FUZZ "Build the fuzz targets of tests/fuzz (clang; with PORTACL_SANITIZE)" OFF)
option(PORTACL_VENDOR_TREE "Folders and link names of the vendor's toolkit; off where the tree is shared" ON)
set(PORTACL_LINK_ROOT "" CACHE PATH "Link for glibc 2.28 with what script/link_root made there")
set(PORTACL_SANITIZE "" CACHE STRING "Comma-separated -fsanitize= list, e.g. address,undefined")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(PORTACL_CCACHE ccache)
mark_as_advanced(PORTACL_CCACHE)
if(PORTACL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${PORTACL_CCACHE}")
  # Without these two ccache refuses all that a precompiled header stands before.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      "${PORTACL_CCACHE}")
endif()

# Language level, code generation, warnings, sanitizers and output folders, for every target.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# -O2: the fast kernels are intrinsics, and -O3 only makes the rest larger and slower to compile.
string(REPLACE "-O3" "-O2" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

# A fused multiply-add rounds once; the contract says twice. So the compiler must not contract by
# itself: every CPU then gives the same bits. Kernels that want an FMA ask for it by name.
add_compile_options(-ffp-contract=off)

# For our own sources. Header tests and examples have stricter or plainer sets.
add_library(portacl_warnings INTERFACE)
target_compile_options(portacl_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wundef -Wvla
  $<$<BOOL:${PORTACL_WERROR}>:-Werror>)

# Narrowing matters in code that turns 64-bit extents into 32-bit offsets; signedness alone does not.
add_library(portacl_strict_warnings INTERFACE)
target_link_libraries(portacl_strict_warnings INTERFACE portacl_warnings)
target_compile_options(portacl_strict_warnings INTERFACE -Wconversion -Wno-sign-conversion)

# portacl_compile_together(TARGET GROUPS HEADER...): third-party headers are precompiled. GCC
# compiles a target's sources in GROUPS groups, so that our own headers are parsed once a group. No
# two sources of a target may define the same name, not even in unnamed namespaces. The group is a
# hash of a source's name: a new source moves no other. SKIP_UNITY_BUILD_INCLUSION keeps a source
# alone, GROUPS 0 all of them. Clang compiles each source by itself: there a source with a missing
# include fails.
function(portacl_compile_together target groups)
  if(NOT PORTACL_TOGETHER OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  list(TRANSFORM ARGN REPLACE "(.+)" "<\\1>")
  target_precompile_headers(${target} PRIVATE ${ARGN})
  target_compile_options(${target} PRIVATE -fpch-preprocess)  # for ccache
  if(groups EQUAL 0)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(name "${source}" NAME)
    string(MD5 sum "${name}")
    string(SUBSTRING "${sum}" 0 4 digits)
    math(EXPR group "0x${digits} % ${groups}")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()

set(PORTACL_STANDARD_HEADERS algorithm array atomic chrono cmath cstdint cstring functional map
    memory mutex optional string string_view utility variant vector fmt/format.h)

# The hardening flags of distributions: the library reads shapes, strides and files that it does not
# trust (SECURITY.md). tests/api/hardening_test.sh checks the installed files for all of them.
if(NOT PORTACL_SANITIZE AND NOT PORTACL_COVERAGE)
  add_compile_options(-fstack-protector-strong -fstack-clash-protection
    $<$<CONFIG:Release>:-U_FORTIFY_SOURCE$<SEMICOLON>-D_FORTIFY_SOURCE=2>)
  add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    add_compile_options(-fcf-protection=full)
    add_link_options(-Wl,-z,shstk)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    add_compile_options(-mbranch-protection=standard)
  endif()
endif()

if(PORTACL_SANITIZE)
  add_compile_options(-fsanitize=${PORTACL_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g1)
  # Callers may pass any int as a C enum, and the tests do: the library's checks refuse it, not the
  # sanitizer. "undefined" does not include conversions of too large numbers to integers: they are
  # added.
  if(PORTACL_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=enum -fsanitize=float-cast-overflow)
  endif()
  # AddressSanitizer finds accesses through null and beyond an object too. Without these checks
  # compiling takes a fifth less time.
  if(PORTACL_SANITIZE MATCHES "address" AND PORTACL_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=null,object-size)
  endif()
  # GCC 12 warns wrongly of std::function inside std::regex when a sanitizer is on.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${PORTACL_SANITIZE})
endif()
# libFuzzer gets counts of branches, and the comparisons. Only the targets of tests/fuzz link its
# main function. Not -fsanitize=fuzzer-no-link: with UndefinedBehaviorSanitizer it makes clang 14
# take minutes instead of seconds for a file that formats text.
if(PORTACL_FUZZ)
  set(fuzz_ignored "${PROJECT_SOURCE_DIR}/tests/fuzz/not_instrumented.txt")
  add_compile_options(-fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp
    -fsanitize-ignorelist=${fuzz_ignored} -fsanitize-coverage-ignorelist=${fuzz_ignored})
endif()
if(PORTACL_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

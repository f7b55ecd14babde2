# The library links Highway and oneTBB only. fmt and spdlog are compiled in from their sources, so
# that portacl does not clash with another version of them inside a user's program.
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)
find_path(PORTACL_FMT_INCLUDE fmt/format.h REQUIRED)
find_path(PORTACL_SPDLOG_INCLUDE spdlog/spdlog.h REQUIRED)
find_path(PORTACL_JSON_INCLUDE nlohmann/json.hpp REQUIRED)
mark_as_advanced(PORTACL_FMT_INCLUDE PORTACL_SPDLOG_INCLUDE PORTACL_JSON_INCLUDE)

# fmt, spdlog and nlohmann-json. With a header-only fmt a source takes two to three times as long to
# compile, so fmt 9 is compiled once. Other versions instantiate other templates.
add_library(portacl_text INTERFACE)
target_include_directories(portacl_text SYSTEM INTERFACE
  "${PORTACL_FMT_INCLUDE}" "${PORTACL_SPDLOG_INCLUDE}" "${PORTACL_JSON_INCLUDE}")
target_compile_definitions(portacl_text INTERFACE SPDLOG_FMT_EXTERNAL=1)
file(STRINGS "${PORTACL_FMT_INCLUDE}/fmt/core.h" fmt_version REGEX "#define FMT_VERSION 9[0-9][0-9][0-9][0-9]$")
if(fmt_version)
  add_library(portacl_fmt STATIC "${CMAKE_CURRENT_LIST_DIR}/fmt.cc")
  target_include_directories(portacl_fmt SYSTEM PRIVATE "${PORTACL_FMT_INCLUDE}")
  target_link_libraries(portacl_text INTERFACE portacl_fmt)
else()
  target_compile_definitions(portacl_text INTERFACE FMT_HEADER_ONLY=1)
endif()

# Threads, and SIMD unless the build is scalar.
add_library(portacl_machine INTERFACE)
target_link_libraries(portacl_machine INTERFACE TBB::tbb Threads::Threads ${CMAKE_DL_LIBS})
if(NOT PORTACL_SCALAR)
  find_package(hwy QUIET CONFIG)
  if(NOT TARGET hwy::hwy)
    message(FATAL_ERROR "Highway is missing: install libhwy-dev, or configure with -DPORTACL_SCALAR=ON")
  endif()
  target_link_libraries(portacl_machine INTERFACE hwy::hwy)
endif()

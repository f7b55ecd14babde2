# The library links Highway and oneTBB only. fmt and spdlog are compiled in from their headers, so
# that portacl does not clash with another version of them inside a user's program.
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)
find_path(PORTACL_FMT_INCLUDE fmt/format.h REQUIRED)
find_path(PORTACL_SPDLOG_INCLUDE spdlog/spdlog.h REQUIRED)
find_path(PORTACL_JSON_INCLUDE nlohmann/json.hpp REQUIRED)
mark_as_advanced(PORTACL_FMT_INCLUDE PORTACL_SPDLOG_INCLUDE PORTACL_JSON_INCLUDE)

# fmt, spdlog and nlohmann-json as headers.
add_library(portacl_text INTERFACE)
target_include_directories(portacl_text SYSTEM INTERFACE
  "${PORTACL_FMT_INCLUDE}" "${PORTACL_SPDLOG_INCLUDE}" "${PORTACL_JSON_INCLUDE}")
target_compile_definitions(portacl_text INTERFACE FMT_HEADER_ONLY=1 SPDLOG_FMT_EXTERNAL=1)

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

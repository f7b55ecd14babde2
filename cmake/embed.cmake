# bench/shapes.json as a C++ string: <bench/shapes_json.h>, portacl_bench::kShapesJson. The tests
# and the benchmarks link `portacl_shapes` and so measure and check the same shapes.
set(shapes_file "${PROJECT_SOURCE_DIR}/bench/shapes.json")
set(PORTACL_SHAPES_JSON "{}")
if(EXISTS "${shapes_file}")
  file(READ "${shapes_file}" PORTACL_SHAPES_JSON)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${shapes_file}")
endif()
configure_file(cmake/shapes_json.h.in "${PORTACL_GENERATED_PRIVATE}/bench/shapes_json.h" @ONLY)
add_library(portacl_shapes INTERFACE)
target_include_directories(portacl_shapes INTERFACE "${PORTACL_GENERATED_PRIVATE}")

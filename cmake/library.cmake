# One object library per layer of src/, libportacl.so made of all of them.
#
#   portacl_<layer>_objects   objects of one layer (base runtime ref cpu cuda ops companion aten api)
#   portacl_objects           all of them, for tests that reach hidden symbols
#   portacl                   libportacl.so; alias portacl::portacl, as in the installed package
set(PORTACL_LAYERS base runtime ref cpu cuda ops companion aten api)
if(PORTACL_SCALAR)
  list(REMOVE_ITEM PORTACL_LAYERS cpu)
endif()

# These sources take long to compile. Each is compiled twice, each time for half of the element
# types: src/cpu/vector/highway.h.
set(PORTACL_SPLIT_BY_ELEMENT
  cpu/grid_sampler/grid_sampler_2d_backward_slab.cc
  cpu/grid_sampler/grid_sampler_2d_slab.cc
  cpu/grid_sampler/grid_sampler_3d_blocks.cc
  cpu/grid_sampler/grid_sampler_backward_direct.cc
  cpu/grid_sampler/grid_sampler_direct.cc
  cpu/resize/nearest_backward_permute.cc)

set(PORTACL_GENERATED_INCLUDE "${PROJECT_BINARY_DIR}/generated/include")  # public, installed
set(PORTACL_GENERATED_PRIVATE "${PROJECT_BINARY_DIR}/generated/private")  # for our own sources
configure_file(cmake/version.h.in "${PORTACL_GENERATED_INCLUDE}/portacl/version.h" @ONLY)

# aclnnop/level2/<header>: the older place of each operator's header.
file(GLOB operator_headers RELATIVE "${PROJECT_SOURCE_DIR}/include" CONFIGURE_DEPENDS
     "${PROJECT_SOURCE_DIR}/include/aclnnop/*.h")
set(every_header "// Every header of aclnnop/.\n")
foreach(PORTACL_HEADER IN LISTS operator_headers)
  get_filename_component(name "${PORTACL_HEADER}" NAME)
  configure_file(cmake/level2.h.in "${PORTACL_GENERATED_INCLUDE}/aclnnop/level2/${name}" @ONLY)
  string(APPEND every_header "#include \"${PORTACL_HEADER}\"  // IWYU pragma: export\n")
endforeach()
file(CONFIGURE OUTPUT "${PORTACL_GENERATED_PRIVATE}/every_aclnnop.h" CONTENT "${every_header}" @ONLY)

include(aten_functions)

# What every internal source sees.
add_library(portacl_internal INTERFACE)
target_include_directories(portacl_internal INTERFACE
  "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${PORTACL_GENERATED_INCLUDE}")
target_compile_definitions(portacl_internal INTERFACE
  PORTACL_BUILDING=1 $<$<BOOL:${PORTACL_SCALAR}>:PORTACL_SCALAR_ONLY=1>)
target_link_libraries(portacl_internal INTERFACE portacl_text portacl_machine)

add_library(portacl_objects INTERFACE)
target_link_libraries(portacl_objects INTERFACE portacl_internal)
add_library(portacl SHARED)
# The list of operators once more, in other terms.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/api/aclnn_call.cc"
  "${PROJECT_SOURCE_DIR}/src/api/aclnn_aten.cc"
  "${PROJECT_SOURCE_DIR}/src/api/portacl_operators.cc" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
foreach(layer IN LISTS PORTACL_LAYERS)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${layer}/*.cc")
  list(FILTER sources EXCLUDE REGEX "/aten/torch/")  # libportacl_aten.so
  if(NOT sources)
    continue()
  endif()
  add_library(portacl_${layer}_objects OBJECT ${sources})
  target_link_libraries(portacl_${layer}_objects PRIVATE portacl_strict_warnings
                                                 PUBLIC portacl_internal)
  if(layer MATCHES "^(api|companion|ops)$")
    portacl_compile_together(portacl_${layer}_objects 4 ${PORTACL_STANDARD_HEADERS})
  elseif(layer STREQUAL "runtime")  # a source is a component with a state of its own
    portacl_compile_together(portacl_${layer}_objects 0 ${PORTACL_STANDARD_HEADERS})
  endif()
  if(layer STREQUAL "cpu")
    foreach(source IN LISTS PORTACL_SPLIT_BY_ELEMENT)
      string(REPLACE ".cc" "_16.cc" second "${PORTACL_GENERATED_PRIVATE}/${source}")
      file(CONFIGURE OUTPUT "${second}" CONTENT
        "#define PORTACL_ELEMENTS_OF_16_BITS 1\n#include \"${source}\"\n" @ONLY)
      target_sources(portacl_cpu_objects PRIVATE "${second}")
    endforeach()
  endif()
  target_sources(portacl_objects INTERFACE $<TARGET_OBJECTS:portacl_${layer}_objects>)
  target_sources(portacl PRIVATE $<TARGET_OBJECTS:portacl_${layer}_objects>)
endforeach()

if(PORTACL_SIMULATION)
  target_compile_definitions(portacl_runtime_objects PRIVATE PORTACL_SIMULATION=1)
endif()
if(PORTACL_TEST_MACHINES)
  set_source_files_properties("${PROJECT_SOURCE_DIR}/src/cpu/machine/machine.cc" PROPERTIES
    COMPILE_DEFINITIONS PORTACL_TEST_MACHINES=1)
endif()
target_include_directories(portacl_api_objects PRIVATE "${PORTACL_GENERATED_PRIVATE}")

# Plain loops, for the compiler to vectorise.
target_compile_options(portacl_companion_objects PRIVATE $<$<CONFIG:Release>:-O3>)

# GCC clears and copies structures of more than 32 bytes with "rep stos" and "rep movs". These take
# about 30 cycles to begin, and a plan has some fifty of them. With moves of registers a plan takes
# 5 % less time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(moves -mmemset-strategy=unrolled_loop:512:noalign,libcall:-1:noalign
    -mmemcpy-strategy=unrolled_loop:512:noalign,libcall:-1:noalign)
  target_compile_options(portacl_ops_objects PRIVATE ${moves})
  target_compile_options(portacl_api_objects PRIVATE ${moves})
  file(GLOB plans CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cpu/*/*_plan.cc")
  set_source_files_properties(${plans} PROPERTIES COMPILE_OPTIONS "${moves}")
endif()

# The kernels' large functions have thousands of inlined vector temporaries: tracking the scope of each
# takes minutes of compile time a file (218 s -> 42 s for one). Heap, stack and globals stay checked.
if(PORTACL_SANITIZE MATCHES "address" AND TARGET portacl_cpu_objects)
  target_compile_options(portacl_cpu_objects PRIVATE -fno-sanitize-address-use-after-scope)
endif()

# The kernels carry scalars from point to point; packed into vectors their chain is longer (10 % of
# their time).
set_source_files_properties(
  "${PROJECT_SOURCE_DIR}/src/cpu/grid_sampler/grid_sampler_2d_backward_padded.cc"
  "${PROJECT_SOURCE_DIR}/src/cpu/grid_sampler/grid_sampler_backward_owned.cc"
  PROPERTIES COMPILE_OPTIONS "-fno-tree-slp-vectorize")

# Why: see the file. Its own marks tell the sanitizer where loops begin and end.
if(PORTACL_SANITIZE MATCHES "thread")
  set_source_files_properties("${PROJECT_SOURCE_DIR}/src/runtime/parallel.cc" PROPERTIES
    COMPILE_OPTIONS "-fno-sanitize=thread;-DPORTACL_TSAN=1" SKIP_PRECOMPILE_HEADERS ON)
endif()
if(PORTACL_NARROW_ONLY AND TARGET portacl_cpu_objects)
  target_compile_definitions(portacl_cpu_objects PRIVATE PORTACL_NARROW_ONLY=1)
  # This sanitizer takes more than half of the kernels' compile time; the asan preset, of every
  # width, has it.
  if(PORTACL_SANITIZE MATCHES "undefined")
    target_compile_options(portacl_cpu_objects PRIVATE -fno-sanitize=undefined,float-cast-overflow)
  endif()
endif()

set(export_map "${PROJECT_SOURCE_DIR}/cmake/portacl.map")
target_link_libraries(portacl PRIVATE $<BUILD_INTERFACE:portacl_machine> $<BUILD_INTERFACE:portacl_text>)
target_include_directories(portacl INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${PORTACL_GENERATED_INCLUDE}>)
target_link_options(portacl PRIVATE
  -Wl,--version-script=${export_map} -Wl,--as-needed
  -Wl,-z,nodelete)  # streams' threads run its code: dlclose must not take that away
# Indirect branch tracking: all functions compiled here begin with the landing mark. _init and _fini
# of the C library's start files do not, so an empty function takes their place. The system's
# archive of the C++ library is compiled without such marks.
if(NOT PORTACL_SANITIZE AND NOT PORTACL_COVERAGE AND NOT PORTACL_LINK_ROOT AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_link_options(portacl PRIVATE
    -Wl,-z,ibt -Wl,-init=portacl_no_init -Wl,-fini=portacl_no_init)
endif()
if(NOT PORTACL_SANITIZE)  # a sanitizer's runtime is found in the program
  target_link_options(portacl PRIVATE -Wl,--no-undefined)
endif()
set_target_properties(portacl PROPERTIES
  LINKER_LANGUAGE CXX LINK_DEPENDS "${export_map}"
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
add_library(portacl::portacl ALIAS portacl)

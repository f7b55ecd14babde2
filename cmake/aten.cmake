# libportacl_aten.so (src/aten/torch) computes the functions of src/aten/functions.txt with
# PyTorch's CPU kernels. libportacl.so loads it from its own folder when a program calls such a
# function; nothing is linked with it, and only its build needs libtorch. It uses the process's
# PyTorch if one is loaded, else the one of PORTACL_ATEN_TORCH.
#
# Debian's libtorch-dev is PORTACL_ATEN_TORCH=/usr.

# portacl_install_aten_sources(FOLDER ...): the sources that libportacl.so in FOLDER builds if a
# process has loaded a PyTorch that libportacl_aten.so was not built for.
function(portacl_install_aten_sources folder)
  set(folder "${folder}/portacl_aten")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/src/aten/torch" DESTINATION "${folder}/src/aten" ${ARGN}
          FILES_MATCHING PATTERN "*.cc" PATTERN "*.h")
  install(FILES "${PROJECT_SOURCE_DIR}/src/aten/backend.h" "${PROJECT_SOURCE_DIR}/src/aten/row.h"
          DESTINATION "${folder}/src/aten" ${ARGN})
  install(FILES "${PROJECT_SOURCE_DIR}/src/base/tensor_desc.h" "${PROJECT_SOURCE_DIR}/src/base/dtype.h"
          DESTINATION "${folder}/src/base" ${ARGN})
  install(PROGRAMS "${PROJECT_SOURCE_DIR}/src/aten/torch/build.sh" DESTINATION "${folder}" ${ARGN})
endfunction()

set(PORTACL_ATEN_TORCH "" CACHE PATH "libportacl_aten.so is built with this libtorch: the folder of include and lib")
if(NOT PORTACL_ATEN_TORCH)
  return()
endif()
foreach(name IN ITEMS torch_cpu c10)
  unset(found CACHE)
  find_library(found "${name}" NO_DEFAULT_PATH
    PATHS "${PORTACL_ATEN_TORCH}/lib" "${PORTACL_ATEN_TORCH}/lib/${CMAKE_LIBRARY_ARCHITECTURE}")
  if(NOT found)
    message(FATAL_ERROR "PORTACL_ATEN_TORCH: no lib/lib${name}.so in ${PORTACL_ATEN_TORCH}")
  endif()
  list(APPEND torch_libraries "${found}")
endforeach()
unset(found CACHE)
list(GET torch_libraries 0 torch_folder)
cmake_path(GET torch_folder PARENT_PATH torch_folder)
if(torch_folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES OR torch_folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
  set(torch_folder "")  # the loader finds it
  set(portacl_aten_of_system ON)
endif()
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/aten/torch/*.cc")
add_library(portacl_aten MODULE ${sources})
target_include_directories(portacl_aten PRIVATE
  "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${PORTACL_GENERATED_INCLUDE}")
target_include_directories(portacl_aten SYSTEM PRIVATE "${PORTACL_ATEN_TORCH}/include")
target_compile_definitions(portacl_aten PRIVATE PORTACL_BUILDING=1)
target_link_libraries(portacl_aten PRIVATE portacl_warnings
  ${torch_libraries} ${CMAKE_DL_LIBS})
target_link_options(portacl_aten PRIVATE -Wl,--no-as-needed)
set_target_properties(portacl_aten PROPERTIES
  NO_SONAME ON BUILD_RPATH "${torch_folder}" INSTALL_RPATH "${torch_folder}"
  LIBRARY_OUTPUT_DIRECTORY "$<TARGET_FILE_DIR:portacl>")
if(PORTACL_TOGETHER AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # PyTorch's headers take most of the time: two compilers read them once each, as in build.sh.
  set_target_properties(portacl_aten PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS sources)
    if(source MATCHES "/compose[^/]*$")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP compositions)
    else()
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP engine)
    endif()
  endforeach()
endif()

# A row that names an unknown operator ends the build, if the project claims this version of PyTorch. With
# another version it is a warning: then the other functions still serve, as after the build at first use
# (src/aten/torch/build.sh), which has no such step.
set(claimed 1.13 2.7 2.8 2.9 2.10 2.11 2.12 2.13 2.14 2.15)
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  message(STATUS "the rows of src/aten/functions.txt are not checked: this machine runs no program of the target")
  return()
endif()
add_executable(portacl_aten_rows cmake/aten_rows.cc)
target_include_directories(portacl_aten_rows PRIVATE
  "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${PORTACL_GENERATED_PRIVATE}")
target_link_libraries(portacl_aten_rows PRIVATE portacl_warnings ${CMAKE_DL_LIBS})
set(rows_checked "${PROJECT_BINARY_DIR}/aten_rows_checked")
set(lacking "${PROJECT_SOURCE_DIR}/src/aten/lacking.txt")
add_custom_command(OUTPUT "${rows_checked}"
  COMMAND portacl_aten_rows "$<TARGET_FILE:portacl_aten>" "${lacking}" ${claimed}
  COMMAND "${CMAKE_COMMAND}" -E touch "${rows_checked}"
  DEPENDS portacl_aten portacl_aten_rows "${lacking}" VERBATIM
  COMMENT "Checking the rows of src/aten/functions.txt")
add_custom_target(portacl_aten_checked ALL DEPENDS "${rows_checked}")

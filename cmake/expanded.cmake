# Writes the functions that the list of operators makes, for readers, as the compiler sees them:
# into generated/expanded/ of the build folder, one file per source below.
if(CMAKE_SCRIPT_MODE_FILE)
  # -DCOMMAND=<compiler;options;source> -DOUTPUT=<file> -DFORMAT=<clang-format or ...-NOTFOUND>
  execute_process(COMMAND ${COMMAND} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  # What precedes the functions is not made from the list.
  string(FIND "${text}" "extern \"C\" {" begin REVERSE)
  string(SUBSTRING "${text}" ${begin} -1 text)
  file(WRITE "${OUTPUT}" "${text}")
  if(FORMAT)
    execute_process(COMMAND "${FORMAT}" -i "${OUTPUT}" COMMAND_ERROR_IS_FATAL ANY)
  endif()
  return()
endif()

find_program(PORTACL_CLANG_FORMAT clang-format)
mark_as_advanced(PORTACL_CLANG_FORMAT)
set(includes "$<TARGET_PROPERTY:portacl_api_objects,INCLUDE_DIRECTORIES>")
set(definitions "$<TARGET_PROPERTY:portacl_api_objects,COMPILE_DEFINITIONS>")
file(GLOB lists CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/ops/operator_list*.inc")
foreach(source IN ITEMS aclnn_call portacl_operators)
  set(output "${PROJECT_BINARY_DIR}/generated/expanded/${source}.cc")
  set(input "${PROJECT_SOURCE_DIR}/src/api/${source}.cc")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DFORMAT=${PORTACL_CLANG_FORMAT}"
            "-DCOMMAND=${CMAKE_CXX_COMPILER};-E;-P;-std=c++20;-I$<JOIN:${includes},;-I>;-D$<JOIN:${definitions},;-D>;${input}"
            -P "${CMAKE_CURRENT_LIST_DIR}/expanded.cmake"
    DEPENDS "${input}" ${lists}
    COMMENT "Writing generated/expanded/${source}.cc" VERBATIM)
  list(APPEND expanded "${output}")
endforeach()
add_custom_target(portacl_expanded ALL DEPENDS ${expanded})

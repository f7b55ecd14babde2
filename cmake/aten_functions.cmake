# Makes the files below from src/aten/functions.txt, to compile and to install; needs no other
# program.
#
#   generated/private/aten_rows.inc        the rows, for src/api/aclnn_aten.cc
#   generated/private/aten_functions.inc   the two functions of each row
#   generated/private/aten_headers.h       includes every header that declares one of them
#   generated/include/aclnnop/aclnn_*.h    these headers, where include/aclnnop has none of that name
set(table "${PROJECT_SOURCE_DIR}/src/aten/functions.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${table}")

# The C type of each kind of parameter. A '?' behind the kind allows null.
foreach(pair IN ITEMS
    "T=const aclTensor*" "TL=const aclTensorList*" "O=const aclTensor*" "OL=const aclTensorList*"
    "OD=aclTensor*" "M=aclTensor*" "ML=const aclTensorList*" "S=const aclScalar*"
    "SL=const aclScalarList*" "I=const aclIntArray*" "F=const aclFloatArray*"
    "B=const aclBoolArray*" "i=int64_t" "i8=int8_t" "i32=int" "d=double" "f=float" "b=bool" "s=char*"
    "D=aclDataType")
  string(REGEX MATCH "^(.*)=(.*)$" ignored "${pair}")
  set(c_type_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
endforeach()

# portacl_aten_row(NAME HEADER PARAMETERS RIGHT): appends to the texts of the caller.
macro(portacl_aten_row name header parameters right)
  set(declared "")
  set(passed "")
  set(kinds "")
  string(REPLACE " " ";" words "${parameters}")
  foreach(word IN LISTS words)
    string(REGEX MATCH "^([A-Za-z0-9_]+):(([A-Za-z]+[0-9]*)[?]?)$" ignored "${word}")
    if(NOT DEFINED c_type_${CMAKE_MATCH_3})
      message(FATAL_ERROR "${table}: the row ${name} has '${word}', which is no parameter")
    endif()
    string(APPEND declared "${c_type_${CMAKE_MATCH_3}} ${CMAKE_MATCH_1}, ")
    string(APPEND passed "${CMAKE_MATCH_1}, ")
    string(APPEND kinds "{\"${CMAKE_MATCH_1}\", \"${CMAKE_MATCH_2}\"}, ")
  endforeach()
  set(first "aclnnStatus aclnn${name}GetWorkspaceSize(${declared}uint64_t* workspaceSize, aclOpExecutor** executor)")
  set(second "aclnnStatus aclnn${name}(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream)")
  string(APPEND rows "constexpr Parameter kParametersOf${name}[] = {${kinds}};\n"
    "constinit const Row kRow${name}{\"aclnn${name}\", \"aclnnop/aclnn_${header}.h\", kParametersOf${name}, \"${right}\"};\n")
endmacro()

file(STRINGS "${table}" lines REGEX "^[A-Z~+-]" ENCODING UTF-8)
list(LENGTH lines count)
set(rows "")
set(row_list "")
set(fallback_list "")
set(functions "")
set(headers "")
foreach(line IN LISTS lines)
  if(line MATCHES "^([+~]?) *([A-Za-z0-9]+) +([a-z0-9_]+) +([^=]*[^= ]) += +(.+)$")
    set(mark "${CMAKE_MATCH_1}")
    set(name "${CMAKE_MATCH_2}")
    set(header "${CMAKE_MATCH_3}")
    set(right "${CMAKE_MATCH_5}")
    string(REGEX REPLACE " +" " " parameters "${CMAKE_MATCH_4}")
    portacl_aten_row("${name}" "${header}" "${parameters}" "${right}")
    if(mark STREQUAL "~")
      string(APPEND fallback_list "&kRow${name}, ")
      continue()
    endif()
    string(APPEND row_list "&kRow${name}, ")
    string(APPEND functions
      "${first} {\n  const portacl::api::Given given[] = {${passed}};\n"
      "  return portacl::api::PhaseOneAten(portacl::api::kRow${name}, given, workspaceSize, executor);\n}\n"
      "${second} {\n  return portacl::api::PhaseTwo(\"aclnn${name}\", workspace, workspaceSize, executor, stream);\n}\n")
    string(APPEND text_of_${header}
      "\n/** Phase 1. PyTorch's CPU kernels compute ${right}: docs/aten.md. */\nPORTACL_API ${first};\n"
      "/** Phase 2: enqueues what phase 1 planned. */\nPORTACL_API ${second};\n")
  elseif(line MATCHES "^- +([a-z0-9_]+)$")
    set(header "${CMAKE_MATCH_1}")
    string(APPEND text_of_${header} "")
  elseif(line MATCHES "^[+] +([a-z0-9_]+) +(aclnnStatus .+)$")
    set(header "${CMAKE_MATCH_1}")
    string(APPEND text_of_${header} "\nPORTACL_API ${CMAKE_MATCH_2};\n")
  else()
    message(FATAL_ERROR "${table}: not a row: ${line}")
  endif()
  list(APPEND headers "${header}")
endforeach()
list(REMOVE_DUPLICATES headers)

# A compiler must not find headers of functions that only an earlier table had.
file(GLOB earlier RELATIVE "${PORTACL_GENERATED_INCLUDE}/aclnnop" "${PORTACL_GENERATED_INCLUDE}/aclnnop/*.h")
foreach(name IN LISTS earlier)
  string(REGEX REPLACE "^aclnn_(.*)[.]h$" "\\1" header "${name}")
  if(NOT header IN_LIST headers)
    file(REMOVE "${PORTACL_GENERATED_INCLUDE}/aclnnop/${name}" "${PORTACL_GENERATED_INCLUDE}/aclnnop/level2/${name}")
  endif()
endforeach()

set(made "Made by cmake/aten_functions.cmake of src/aten/functions.txt.")
set(included "// ${made}\n")
foreach(header IN LISTS headers)
  set(file "aclnnop/aclnn_${header}.h")
  string(APPEND included "#include \"${file}\"\n")
  if(EXISTS "${PROJECT_SOURCE_DIR}/include/${file}")
    continue()
  endif()
  string(TOUPPER "PORTACL_ACLNNOP_ACLNN_${header}_H_" guard)
  file(CONFIGURE OUTPUT "${PORTACL_GENERATED_INCLUDE}/${file}" CONTENT
"/* ${made} */
#ifndef ${guard}
#define ${guard}

#include \"aclnn/aclnn_base.h\"

#ifdef __cplusplus
extern \"C\" {
#endif
${text_of_${header}}
#ifdef __cplusplus
}
#endif

#endif /* ${guard} */
" @ONLY)
  set(PORTACL_HEADER "aclnnop/aclnn_${header}.h")
  configure_file(cmake/level2.h.in "${PORTACL_GENERATED_INCLUDE}/aclnnop/level2/aclnn_${header}.h" @ONLY)
endforeach()
file(CONFIGURE OUTPUT "${PORTACL_GENERATED_PRIVATE}/aten_headers.h" CONTENT "${included}" @ONLY)
file(CONFIGURE OUTPUT "${PORTACL_GENERATED_PRIVATE}/aten_rows.inc" CONTENT
"// ${made}
${rows}
constexpr const Row* kRows[] = {${row_list}};
constexpr const Row* kFallbackRows[] = {${fallback_list}};
" @ONLY)
file(CONFIGURE OUTPUT "${PORTACL_GENERATED_PRIVATE}/aten_functions.inc" CONTENT
"// ${made}
${functions}" @ONLY)

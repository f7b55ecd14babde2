# libcust_opapi.so: functions of DrivingSDK's package on portacl's operators (docs/compatibility.md). Programs
# look for a library of this name before libopapi.so, so it is built and installed only if asked for; the
# tests build theirs.
add_library(portacl_cust_opapi SHARED "${PROJECT_SOURCE_DIR}/src/cust_opapi/functions.cc")
target_link_libraries(portacl_cust_opapi PRIVATE portacl portacl_strict_warnings)
target_include_directories(portacl_cust_opapi PRIVATE
  "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${PORTACL_GENERATED_INCLUDE}")
target_compile_definitions(portacl_cust_opapi PRIVATE PORTACL_BUILDING=1)
if(NOT PORTACL_CUST_OPAPI)
  set_target_properties(portacl_cust_opapi PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
set_target_properties(portacl_cust_opapi PROPERTIES
  OUTPUT_NAME cust_opapi INSTALL_RPATH "$ORIGIN" LIBRARY_OUTPUT_DIRECTORY "$<TARGET_FILE_DIR:portacl>")

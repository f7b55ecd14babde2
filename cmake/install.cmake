# The install tree: usable as ASCEND_HOME_PATH, by find_package(portacl) and by pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS portacl EXPORT portaclTargets
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY include/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(DIRECTORY "${PORTACL_GENERATED_INCLUDE}/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(TARGET portacl_cli)
  install(TARGETS portacl_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(TARGETS portacl_call RUNTIME DESTINATION libexec/portacl)
  set(manual "${PROJECT_BINARY_DIR}/manual")
  install(FILES "${manual}/portacl.man" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1"
          RENAME portacl.1)
  install(FILES "${manual}/portacl.bash" RENAME portacl
          DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES "${manual}/portacl.zsh" RENAME _portacl
          DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
endif()

# What is installed, without tests and benchmarks.
add_custom_target(portacl_product DEPENDS portacl)
if(TARGET portacl_cli)
  add_dependencies(portacl_product portacl_cli portacl_manual)
endif()

# Names that vendor programs link or load. They are symbolic links to one file, so a program that
# loads several of them still gets one library with one state. The first line has functions of its
# own here; torch_npu names those of the second, and programs for newer toolkits those of the third.
# No regular file may be called libopapi_*.so: torch_npu opens such a file as a library of operators.
set(PORTACL_COMPAT_NAMES
    ascendcl nnopbase opapi acl_op_compiler
    hccl ge_runner graph acl_tdt_channel
    opapi_cv opapi_nn opapi_math)
set(compat_dir "${PROJECT_BINARY_DIR}/compat")
file(MAKE_DIRECTORY "${compat_dir}")
foreach(name IN LISTS PORTACL_COMPAT_NAMES)
  file(CREATE_LINK libportacl.so "${compat_dir}/lib${name}.so" SYMBOLIC)
  install(FILES "${compat_dir}/lib${name}.so" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endforeach()

# Folders that programs for the vendor's toolkit look for: the operators' (nothing is kept there) and
# those of its parts, where some builds look for the libraries.
install(DIRECTORY DESTINATION opp)
file(CREATE_LINK "../${CMAKE_INSTALL_LIBDIR}" "${compat_dir}/lib64" SYMBOLIC)
foreach(part IN ITEMS runtime compiler)
  install(FILES "${compat_dir}/lib64" DESTINATION ${part})
endforeach()

# The package for whole torch_npu programs, which the library finds beside itself.
install(DIRECTORY python/portacl_npu DESTINATION python
        FILES_MATCHING PATTERN "*.py" PATTERN "*.cc" PATTERN "*.h")

# Shells that cannot name the file they source fall back to the folder known here.
set(PORTACL_HOME_FALLBACK "${CMAKE_INSTALL_PREFIX}")
configure_file(cmake/set_env.sh.in "${PROJECT_BINARY_DIR}/set_env.sh" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/set_env.sh" DESTINATION .)

# share/: find_package looks there on every system; Debian's CMake does not look into lib64.
set(package_dir "${CMAKE_INSTALL_DATADIR}/cmake/portacl")
configure_package_config_file(cmake/portaclConfig.cmake.in "${PROJECT_BINARY_DIR}/portaclConfig.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/portaclConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/portaclConfig.cmake"
              "${PROJECT_BINARY_DIR}/portaclConfigVersion.cmake" DESTINATION "${package_dir}")
install(EXPORT portaclTargets NAMESPACE portacl:: DESTINATION "${package_dir}")

file(RELATIVE_PATH PORTACL_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" PORTACL_PC_PREFIX "${PORTACL_PC_PREFIX}")
configure_file(cmake/portacl.pc.in "${PROJECT_BINARY_DIR}/portacl.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/portacl.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# The install tree: usable as ASCEND_HOME_PATH, by find_package(portacl) and by pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS portacl EXPORT portaclTargets
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(TARGET portacl_cuda)  # libportacl.so looks for it beside itself
  install(TARGETS portacl_cuda LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(TARGET portacl_aten)  # the same
  install(TARGETS portacl_aten LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(PORTACL_CUST_OPAPI)
  install(TARGETS portacl_cust_opapi LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
portacl_install_aten_sources("${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY include/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(DIRECTORY "${PORTACL_GENERATED_INCLUDE}/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(TARGET portacl_cli)
  install(TARGETS portacl_cli portacl_npu_smi RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
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
add_custom_target(portacl_product DEPENDS portacl portacl_gdb_types)
foreach(part IN ITEMS portacl_aten portacl_aten_checked)
  if(TARGET ${part})
    add_dependencies(portacl_product ${part})
  endif()
endforeach()
if(PORTACL_CUST_OPAPI)
  add_dependencies(portacl_product portacl_cust_opapi)
endif()
if(TARGET portacl_cli)
  add_dependencies(portacl_product portacl_cli portacl_npu_smi portacl_manual)
endif()

# The parts that stand for the vendor's toolkit: its folders, names of libraries, and files of
# versions.
set(tree_links ${PORTACL_TREE_LINKS})
if(NOT PORTACL_VENDOR_TREE)
  set(tree_links ${PORTACL_PLAIN_LINKS})
endif()
foreach(pair IN LISTS PORTACL_TREE_LINKS)
  portacl_tree_link("${pair}" path target)
  get_filename_component(folder "${path}" DIRECTORY)
  file(MAKE_DIRECTORY "${PORTACL_TREE_BUILD}/${folder}")
  file(CREATE_LINK "${target}" "${PORTACL_TREE_BUILD}/${path}" SYMBOLIC)
  if(pair IN_LIST tree_links)
    install(FILES "${PORTACL_TREE_BUILD}/${path}" DESTINATION "./${folder}")
  endif()
endforeach()
if(PORTACL_VENDOR_TREE)
  install(DIRECTORY DESTINATION opp)
  install(DIRECTORY DESTINATION toolkit)
  install(DIRECTORY "${PORTACL_TREE_BUILD}/files/" DESTINATION .)
  install(FILES cmake/setenv.bash DESTINATION bin)
endif()

portacl_install_gdb("${CMAKE_INSTALL_LIBDIR}" "libportacl.so.${PROJECT_VERSION}")

# The package for whole torch_npu programs: the library finds it beside itself.
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

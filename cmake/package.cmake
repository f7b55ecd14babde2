# `cpack -G DEB` in the build folder: the Debian package. Its layout is the install component
# `debian`: portacl's own files where Debian looks for them, and what stands for the vendor's toolkit
# apart in /usr/lib/portacl/ascend (usable as ASCEND_HOME_PATH), so that it never shadows a real one.
set(debian_lib lib)
if(CMAKE_LIBRARY_ARCHITECTURE)
  set(debian_lib "lib/${CMAKE_LIBRARY_ARCHITECTURE}")
endif()
set(ascend lib/portacl/ascend)
set(debian_build "${PROJECT_BINARY_DIR}/debian")

# Only by the package: not part of the install tree.
function(install_debian)
  install(${ARGN} COMPONENT debian EXCLUDE_FROM_ALL)
endfunction()
# A symbolic link FOLDER/NAME to another path of the package.
function(install_debian_link folder name target)
  file(RELATIVE_PATH path "/${folder}" "/${target}")
  string(MAKE_C_IDENTIFIER "${folder}" unique)
  file(MAKE_DIRECTORY "${debian_build}/${unique}")
  file(CREATE_LINK "${path}" "${debian_build}/${unique}/${name}" SYMBOLIC)
  install_debian(FILES "${debian_build}/${unique}/${name}" DESTINATION "${folder}")
endfunction()

install(TARGETS portacl EXPORT portaclDebianTargets LIBRARY DESTINATION "${debian_lib}"
        COMPONENT debian EXCLUDE_FROM_ALL INCLUDES DESTINATION include)
install_debian(DIRECTORY include/portacl "${PORTACL_GENERATED_INCLUDE}/portacl" DESTINATION include)
# Not the install tree's folder: CMake writes files of the same name and folder over each other.
set(debian_package_dir "${debian_lib}/cmake/portacl")
install_debian(EXPORT portaclDebianTargets FILE portaclTargets.cmake NAMESPACE portacl::
               DESTINATION "${debian_package_dir}")
install_debian(FILES "${PROJECT_BINARY_DIR}/portaclConfig.cmake"
                     "${PROJECT_BINARY_DIR}/portaclConfigVersion.cmake"
               DESTINATION "${debian_package_dir}")
install_debian(FILES LICENSE DESTINATION share/doc/portacl RENAME copyright)
if(TARGET portacl_cli)
  install_debian(TARGETS portacl_cli RUNTIME DESTINATION bin)
  install_debian(TARGETS portacl_call RUNTIME DESTINATION libexec/portacl)
  install_debian(FILES "${PROJECT_BINARY_DIR}/manual/portacl.bash" RENAME portacl
                 DESTINATION share/bash-completion/completions)
  install_debian(FILES "${PROJECT_BINARY_DIR}/manual/portacl.zsh" RENAME _portacl
                 DESTINATION share/zsh/vendor-completions)
  install(CODE "execute_process(COMMAND gzip -9nc \"${PROJECT_BINARY_DIR}/manual/portacl.man\"
                                OUTPUT_FILE \"${debian_build}/portacl.1.gz\" COMMAND_ERROR_IS_FATAL ANY)"
          COMPONENT debian EXCLUDE_FROM_ALL)
  install_debian(FILES "${debian_build}/portacl.1.gz" DESTINATION share/man/man1)
endif()

# pkg-config's file lies in share/, two folders below the prefix as in the install tree.
set(CMAKE_INSTALL_INCLUDEDIR include)
set(CMAKE_INSTALL_LIBDIR "${debian_lib}")
configure_file(cmake/portacl.pc.in "${debian_build}/portacl.pc" @ONLY)
install_debian(FILES "${debian_build}/portacl.pc" DESTINATION share/pkgconfig)

install_debian(DIRECTORY include/acl include/aclnn include/aclnnop
               "${PORTACL_GENERATED_INCLUDE}/aclnnop" DESTINATION "${ascend}/include")
install_debian_link("${ascend}/include" portacl include/portacl)
foreach(name IN LISTS PORTACL_COMPAT_NAMES ITEMS portacl)
  install_debian_link("${ascend}/lib64" lib${name}.so
                      "${debian_lib}/libportacl.so.${PROJECT_VERSION_MAJOR}")
endforeach()
install_debian(DIRECTORY DESTINATION "${ascend}/opp")
foreach(part IN ITEMS runtime compiler)
  install_debian_link("${ascend}/${part}" lib64 "${ascend}/lib64")
endforeach()
set(CMAKE_INSTALL_LIBDIR lib64)
set(PORTACL_HOME_FALLBACK "/usr/${ascend}")
configure_file(cmake/set_env.sh.in "${debian_build}/set_env.sh" @ONLY)
install_debian(FILES "${debian_build}/set_env.sh" DESTINATION "${ascend}")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "portacl maintainers <maintainers@portacl.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};${PROJECT_NAME};debian;/")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # Depends: what the library and the program link
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/lib")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
include(CPack)

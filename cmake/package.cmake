# `cpack -G DEB` in the build folder: the Debian packages, split as Debian splits a library.
#
#   libportacl0       the library
#   libportacl-dev    headers, link names, files for CMake and pkg-config, and what stands for the
#                     vendor's toolkit, apart in /usr/lib/portacl/ascend (usable as ASCEND_HOME_PATH), so
#                     that it never shadows a real one
#   portacl           the program
#   python3-portacl   the Python package, where the build has it (PORTACL_PYTHON)
#
# One install component each; their texts are in packaging/debian. script/check deb builds and tries them.
set(debian_lib lib)
if(CMAKE_LIBRARY_ARCHITECTURE)
  set(debian_lib "lib/${CMAKE_LIBRARY_ARCHITECTURE}")
endif()
set(ascend lib/portacl/ascend)
set(debian_build "${PROJECT_BINARY_DIR}/debian")
set(debian_texts "${PROJECT_SOURCE_DIR}/packaging/debian")
set(debian_release 0portacl1)  # below the 1 of a package that Debian itself would make

# install_debian(PACKAGE ...): only by that package, not part of the install tree.
function(install_debian package)
  install(${ARGN} COMPONENT deb-${package} EXCLUDE_FROM_ALL)
endfunction()
# A symbolic link FOLDER/NAME to another path of the packages.
function(install_debian_link package folder name target)
  file(RELATIVE_PATH path "/${folder}" "/${target}")
  string(MAKE_C_IDENTIFIER "${folder}" unique)
  file(MAKE_DIRECTORY "${debian_build}/${unique}")
  file(CREATE_LINK "${path}" "${debian_build}/${unique}/${name}" SYMBOLIC)
  install_debian(${package} FILES "${debian_build}/${unique}/${name}" DESTINATION "${folder}")
endfunction()
# install_debian_gzip(PACKAGE SOURCE FOLDER NAME): compressed as Debian wants it, the same bytes each time.
function(install_debian_gzip package source folder name)
  set(file "${debian_build}/${package}/${name}")
  install(CODE "file(MAKE_DIRECTORY \"${debian_build}/${package}\")
                execute_process(COMMAND gzip -9nc \"${source}\" OUTPUT_FILE \"${file}\"
                                COMMAND_ERROR_IS_FATAL ANY)"
          COMPONENT deb-${package} EXCLUDE_FROM_ALL)
  install_debian(${package} FILES "${file}" DESTINATION "${folder}")
endfunction()
# install_debian_without_rpath(PACKAGE PATH): Debian's loader knows where its libraries are.
function(install_debian_without_rpath package path)
  install(CODE "file(RPATH_REMOVE FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${path}\")"
          COMPONENT deb-${package} EXCLUDE_FROM_ALL)
endfunction()

# libportacl0, and the link in libportacl-dev by which it is linked
install(TARGETS portacl EXPORT portaclDebianTargets
        LIBRARY DESTINATION "${debian_lib}" COMPONENT deb-libportacl0
        NAMELINK_COMPONENT deb-libportacl-dev EXCLUDE_FROM_ALL INCLUDES DESTINATION include)

# libportacl-dev
install_debian(libportacl-dev DIRECTORY include/portacl "${PORTACL_GENERATED_INCLUDE}/portacl"
               DESTINATION include)
# Not the install tree's folder: CMake's files of the same name in one folder overwrite each other.
set(debian_package_dir "${debian_lib}/cmake/portacl")
install_debian(libportacl-dev EXPORT portaclDebianTargets FILE portaclTargets.cmake
               NAMESPACE portacl:: DESTINATION "${debian_package_dir}")
install_debian(libportacl-dev FILES "${PROJECT_BINARY_DIR}/portaclConfig.cmake"
                                    "${PROJECT_BINARY_DIR}/portaclConfigVersion.cmake"
               DESTINATION "${debian_package_dir}")

set(CMAKE_INSTALL_INCLUDEDIR include)
set(CMAKE_INSTALL_LIBDIR "${debian_lib}")
# Where gdb loads such files from unasked.
portacl_install_gdb("share/gdb/auto-load/usr/${debian_lib}" "libportacl.so.${PROJECT_VERSION}"
                    COMPONENT deb-libportacl-dev EXCLUDE_FROM_ALL)
file(RELATIVE_PATH PORTACL_PC_PREFIX "/${debian_lib}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" PORTACL_PC_PREFIX "${PORTACL_PC_PREFIX}")
configure_file(cmake/portacl.pc.in "${debian_build}/portacl.pc" @ONLY)
install_debian(libportacl-dev FILES "${debian_build}/portacl.pc"
               DESTINATION "${debian_lib}/pkgconfig")

install_debian(libportacl-dev DIRECTORY include/acl include/aclnn include/aclnnop
               "${PORTACL_GENERATED_INCLUDE}/aclnnop" DESTINATION "${ascend}/include")
install_debian_link(libportacl-dev "${ascend}/include" portacl include/portacl)
install_debian_link(libportacl-dev "${ascend}/lib64" libportacl.so
                    "${debian_lib}/libportacl.so.${PROJECT_VERSION_MAJOR}")
foreach(pair IN LISTS PORTACL_TREE_LINKS)
  portacl_tree_link("${pair}" path target)
  get_filename_component(folder "${path}" DIRECTORY)
  install_debian(libportacl-dev FILES "${PORTACL_TREE_BUILD}/${path}" DESTINATION "${ascend}/${folder}")
endforeach()
install_debian(libportacl-dev DIRECTORY DESTINATION "${ascend}/opp")
install_debian(libportacl-dev DIRECTORY DESTINATION "${ascend}/toolkit")
install_debian(libportacl-dev DIRECTORY "${PORTACL_TREE_BUILD}/files/" DESTINATION "${ascend}")
install_debian(libportacl-dev FILES cmake/setenv.bash DESTINATION "${ascend}/bin")
install(DIRECTORY python/portacl_npu DESTINATION "${ascend}/python"
        COMPONENT deb-libportacl-dev EXCLUDE_FROM_ALL
        FILES_MATCHING PATTERN "*.py" PATTERN "*.cc" PATTERN "*.h")
set(CMAKE_INSTALL_LIBDIR lib64)
set(PORTACL_HOME_FALLBACK "/usr/${ascend}")
configure_file(cmake/set_env.sh.in "${debian_build}/set_env.sh" @ONLY)
install_debian(libportacl-dev FILES "${debian_build}/set_env.sh" DESTINATION "${ascend}")
set(debian_packages libportacl0 libportacl-dev)
if(portacl_aten_of_system)  # built with Debian's libtorch-dev
  list(APPEND debian_packages libportacl-aten)
  install_debian(libportacl-aten TARGETS portacl_aten LIBRARY DESTINATION "${debian_lib}/portacl")
endif()

if(TARGET portacl_cli)
  install_debian(libportacl-dev TARGETS portacl_npu_smi RUNTIME DESTINATION "${ascend}/bin")
  install_debian_without_rpath(libportacl-dev "${ascend}/bin/npu-smi")
  list(APPEND debian_packages portacl)
  install_debian(portacl TARGETS portacl_cli RUNTIME DESTINATION bin)
  install_debian_without_rpath(portacl bin/portacl)
  install_debian(portacl TARGETS portacl_call RUNTIME DESTINATION libexec/portacl)
  install_debian(portacl FILES "${PROJECT_BINARY_DIR}/manual/portacl.bash" RENAME portacl
                 DESTINATION share/bash-completion/completions)
  install_debian(portacl FILES "${PROJECT_BINARY_DIR}/manual/portacl.zsh" RENAME _portacl
                 DESTINATION share/zsh/vendor-completions)
  install_debian_gzip(portacl "${PROJECT_BINARY_DIR}/manual/portacl.man" share/man/man1 portacl.1.gz)
endif()

if(TARGET portacl_python)
  list(APPEND debian_packages python3-portacl)
  set(debian_python lib/python3/dist-packages)
  install_debian(python3-portacl TARGETS portacl_python LIBRARY DESTINATION ${debian_python}/portacl)
  install_debian_without_rpath(python3-portacl
    "${debian_python}/portacl/$<TARGET_FILE_NAME:portacl_python>")
  install_debian(python3-portacl FILES "${PROJECT_BINARY_DIR}/python/_core.pyi"
                 DESTINATION ${debian_python}/portacl)
  install(DIRECTORY python/portacl DESTINATION ${debian_python}
          COMPONENT deb-python3-portacl EXCLUDE_FROM_ALL
          FILES_MATCHING PATTERN "*.py" PATTERN "py.typed")
  file(GLOB debian_examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.py")
  install_debian(python3-portacl FILES ${debian_examples}
                 DESTINATION ${debian_python}/portacl/examples)
  configure_file(packaging/debian/METADATA.in "${debian_build}/METADATA" @ONLY)
  install_debian(python3-portacl FILES "${debian_build}/METADATA"
                 DESTINATION ${debian_python}/portacl-${PROJECT_VERSION}.dist-info)
endif()

# Every package's licence and changelog, which has the date of the sources.
set(PORTACL_DEBIAN_MAINTAINER "portacl maintainers <maintainers@portacl.invalid>")
configure_file("${debian_texts}/changelog.in" "${debian_build}/changelog" @ONLY)
foreach(package IN LISTS debian_packages)
  install_debian(${package} FILES "${debian_texts}/copyright" DESTINATION share/doc/${package})
  install_debian_gzip(${package} "${debian_build}/changelog" share/doc/${package} changelog.Debian.gz)
  if(EXISTS "${debian_texts}/${package}.lintian-overrides")
    install_debian(${package} FILES "${debian_texts}/${package}.lintian-overrides" RENAME ${package}
                   DESTINATION share/lintian/overrides)
  endif()
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "${PORTACL_DEBIAN_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
    GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};${PROJECT_NAME};ALL;/")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
list(TRANSFORM debian_packages PREPEND deb- OUTPUT_VARIABLE CPACK_COMPONENTS_ALL)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${debian_release})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # Depends: what the library and the program link
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/lib")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
# CPack's default; it does not put it before each package's own description.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_NAME} built using CMake")

# debian_package(NAME SECTION DEPENDS SUMMARY TEXT): the control fields of one package.
macro(debian_package name section depends summary text)
  string(TOUPPER "deb-${name}" key)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${key}_PACKAGE_DEPENDS "${depends}")
  set(CPACK_DEBIAN_${key}_DESCRIPTION
"image-resampling gradients on any CPU (${summary})
portacl computes the gradients of grid sampling and nearest-exact resizing
on any CPU, with the same bits for every number of threads.
.
${text}")
endmacro()
set(same "(= ${PROJECT_VERSION}-${debian_release})")
debian_package(libportacl0 libs "" "library" "This package has the library.")
set(CPACK_DEBIAN_DEB-LIBPORTACL0_PACKAGE_CONTROL_EXTRA "${debian_texts}/triggers")
debian_package(libportacl-dev libdevel "libportacl0 ${same}" "development files"
"This package has the headers and, in /usr/lib/portacl/ascend, a tree with which
programs for Ascend's aclnn API are built and run.")
debian_package(libportacl-aten libs "libportacl0 ${same}" "PyTorch's kernels"
"This package has what computes further functions of the aclnn API with
PyTorch's CPU kernels.")
debian_package(portacl science "libportacl0 ${same}" "command line"
"This package has the program portacl, which runs the operators on pictures and
arrays, and verifies other implementations of them.")
if(TARGET portacl_python)
  math(EXPR next "${PORTACL_PYTHON_MINOR} + 1")  # the extension is for this version only
  set(this_python "python3 (>= 3.${PORTACL_PYTHON_MINOR}), python3 (<< 3.${next})")
  debian_package(python3-portacl python "libportacl0 ${same}, python3-numpy, ${this_python}"
    "Python 3"
"This package has the Python package portacl, for NumPy arrays, PyTorch and JAX.")
  set(CPACK_DEBIAN_DEB-PYTHON3-PORTACL_PACKAGE_RECOMMENDS portacl)
  set(CPACK_DEBIAN_DEB-PYTHON3-PORTACL_PACKAGE_CONTROL_EXTRA
      "${debian_texts}/python3-portacl/postinst;${debian_texts}/python3-portacl/prerm")
endif()
include(CPack)

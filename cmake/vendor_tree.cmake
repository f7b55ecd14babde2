# The layout of the vendor's toolkit, in links and files of names: programs for the toolkit look for
# these. The install tree, the Debian package and (by the list that is written here) `portacl
# sdk-path` have it.
#
#   PORTACL_COMPAT_NAMES    libNAME.so is a link to libportacl.so
#   PORTACL_PLAIN_LINKS     those of the first of these names, without a folder of the vendor's
#   PORTACL_TREE_LINKS      PATH=TARGET: symbolic links of the tree, the targets relative to them
#   PORTACL_TREE_BUILD      where they are made; its files/ holds the files of versions

# Names that programs link or load. They are links to one file, so a program that loads several of them
# still gets one library with one state. First line: libraries with functions in portacl. Second
# line: torch_npu names these. Third line: programs for newer toolkits name these. Last two lines:
# names for the linker alone. Programs pass them and call nothing in them; portacl has none of their
# functions. No regular file may be called libopapi_*.so: torch_npu opens such a file as a library
# of operators.
set(PORTACL_COMPAT_NAMES
    ascendcl nnopbase opapi acl_op_compiler
    hccl ge_runner graph acl_tdt_channel
    opapi_cv opapi_nn opapi_math)
set(PORTACL_PLAIN_LINKS ${PORTACL_COMPAT_NAMES})
list(TRANSFORM PORTACL_PLAIN_LINKS REPLACE "(.+)" "${CMAKE_INSTALL_LIBDIR}/lib\\1.so=libportacl.so")
list(APPEND PORTACL_COMPAT_NAMES
    c_sec runtime register tiling_api ascendalog platform profapi
    acl_dvpp acl_dvpp_mpi acl_cblas acl_retr msprofiler)

set(PORTACL_ARCH_FOLDER "${CMAKE_SYSTEM_PROCESSOR}-linux")
set(PORTACL_TREE_LINKS "")
foreach(name IN LISTS PORTACL_COMPAT_NAMES)
  list(APPEND PORTACL_TREE_LINKS
       "${CMAKE_INSTALL_LIBDIR}/lib${name}.so=libportacl.so"
       "${CMAKE_INSTALL_LIBDIR}/stub/lib${name}.so=../libportacl.so")
endforeach()
foreach(part IN ITEMS runtime compiler acllib atc fwkacllib "${PORTACL_ARCH_FOLDER}")
  list(APPEND PORTACL_TREE_LINKS
       "${part}/include=../include" "${part}/lib64=../${CMAKE_INSTALL_LIBDIR}")
endforeach()
list(APPEND PORTACL_TREE_LINKS
     "${PORTACL_ARCH_FOLDER}/devlib=../${CMAKE_INSTALL_LIBDIR}/stub" "devlib=${CMAKE_INSTALL_LIBDIR}/stub")

# portacl_tree_link(PAIR PATH TARGET): the two halves of an entry, into variables of those names.
function(portacl_tree_link pair path target)
  string(REGEX MATCH "^([^=]+)=(.+)$" ignored "${pair}")
  set(${path} "${CMAKE_MATCH_1}" PARENT_SCOPE)
  set(${target} "${CMAKE_MATCH_2}" PARENT_SCOPE)
endfunction()

# Files of versions: programs look for a line in them. The version is portacl's own, as in
# aclrtGetVersion().
set(PORTACL_TREE_BUILD "${PROJECT_BINARY_DIR}/compat")
file(REMOVE_RECURSE "${PORTACL_TREE_BUILD}")
foreach(part IN ITEMS . runtime compiler opp)
  configure_file(cmake/version.info.in "${PORTACL_TREE_BUILD}/files/${part}/version.info" @ONLY)
endforeach()
configure_file(cmake/version.cfg.in "${PORTACL_TREE_BUILD}/files/version.cfg" @ONLY)
configure_file(cmake/toolkit_install.info.in
  "${PORTACL_TREE_BUILD}/files/${PORTACL_ARCH_FOLDER}/ascend_toolkit_install.info" @ONLY)

string(REPLACE ";" "\n" lines "${PORTACL_TREE_LINKS}")
file(WRITE "${PORTACL_TREE_BUILD}/vendor_tree.txt" "${lines}\n")

# gdb's printers for handles (packaging/gdb). They lie beside the library, and gdb finds them by
# name. An object file, linked to nothing, holds the types that they read.
set(gdb_folder "${PROJECT_SOURCE_DIR}/packaging/gdb")
add_library(portacl_gdb_types OBJECT "${gdb_folder}/types.cc")
target_link_libraries(portacl_gdb_types PRIVATE portacl_internal portacl_strict_warnings)
target_compile_options(portacl_gdb_types PRIVATE -g -gz -femit-class-debug-always
  "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=."
  "-ffile-prefix-map=${PROJECT_BINARY_DIR}=.")
# portacl_install_gdb(FOLDER LIBRARY ...): for that file name of the library; more arguments go to
# install(). If FOLDER is gdb's own, the types still go beside the library.
function(portacl_install_gdb folder library)
  install(FILES "${gdb_folder}/printers.py" RENAME "${library}-gdb.py" DESTINATION "${folder}" ${ARGN})
  string(REGEX REPLACE "^share/gdb/auto-load/usr/" "" library_folder "${folder}")
  install(FILES $<TARGET_OBJECTS:portacl_gdb_types> RENAME libportacl-types.o
          DESTINATION "${library_folder}" ${ARGN})
endfunction()

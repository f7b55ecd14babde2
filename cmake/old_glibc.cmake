# PORTACL_LINK_ROOT, a folder that script/link_root makes: the build then runs with glibc 2.28, and
# with no C++ library, oneTBB or Highway of the system. Sources are compiled with this system's
# headers, as always. Only the linker sees an old C library, and complains of each name that it
# lacks.
if(NOT PORTACL_LINK_ROOT)
  return()
endif()
foreach(kind IN ITEMS EXE SHARED MODULE)
  string(APPEND CMAKE_${kind}_LINKER_FLAGS " -L${PORTACL_LINK_ROOT}/glibc -static-libstdc++ -Wl,--exclude-libs,ALL"
         " ${PORTACL_LINK_ROOT}/old_glibc.o")
endforeach()

# Programs start as with glibc 2.28. This system's libgcc_s.so.1 wants newer names, and the linker
# would want them in programs; systems that run the programs have an older one.
string(APPEND CMAKE_EXE_LINKER_FLAGS " ${PORTACL_LINK_ROOT}/old_glibc_start.o"
       " -Wl,--wrap=__libc_start_main -Wl,--allow-shlib-undefined")

# Archives, instead of the libraries in the packages' own CMake files.
function(portacl_link_archive target archive)
  get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
  foreach(configuration IN LISTS configurations)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} "${archive}")
  endforeach()
endfunction()
portacl_link_archive(TBB::tbb "${PORTACL_LINK_ROOT}/lib/libtbb.a")
if(NOT PORTACL_SCALAR)
  portacl_link_archive(hwy::hwy "${PORTACL_LINK_ROOT}/lib/libhwy.a")
endif()
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)  # libpng, libjpeg-turbo, zlib

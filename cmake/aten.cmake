# libportacl_aten.so: src/aten/torch, what computes the functions of src/aten/functions.txt with PyTorch's
# CPU kernels. libportacl.so loads it from its own folder when a program calls such a function; nothing is
# linked with it, and only its build needs libtorch. A process that has loaded PyTorch uses that one, any
# other the one of PORTACL_ATEN_TORCH.
set(PORTACL_ATEN_TORCH "" CACHE PATH "libportacl_aten.so is built with this libtorch: the folder of include and lib")
if(NOT PORTACL_ATEN_TORCH)
  return()
endif()
if(NOT EXISTS "${PORTACL_ATEN_TORCH}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "PORTACL_ATEN_TORCH: no lib/libtorch_cpu.so in ${PORTACL_ATEN_TORCH}")
endif()
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/aten/torch/*.cc")
add_library(portacl_aten MODULE ${sources})
target_include_directories(portacl_aten PRIVATE
  "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${PORTACL_GENERATED_INCLUDE}")
target_include_directories(portacl_aten SYSTEM PRIVATE "${PORTACL_ATEN_TORCH}/include")
target_compile_definitions(portacl_aten PRIVATE PORTACL_BUILDING=1)
target_link_libraries(portacl_aten PRIVATE portacl_warnings
  "${PORTACL_ATEN_TORCH}/lib/libtorch_cpu.so" "${PORTACL_ATEN_TORCH}/lib/libc10.so" ${CMAKE_DL_LIBS})
target_link_options(portacl_aten PRIVATE -Wl,--no-as-needed)
set_target_properties(portacl_aten PROPERTIES
  NO_SONAME ON BUILD_RPATH "${PORTACL_ATEN_TORCH}/lib" INSTALL_RPATH "${PORTACL_ATEN_TORCH}/lib"
  LIBRARY_OUTPUT_DIRECTORY "$<TARGET_FILE_DIR:portacl>")

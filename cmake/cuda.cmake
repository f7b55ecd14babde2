# libportacl_cuda.so: the backend for NVIDIA GPUs, of src/cuda/*.cu. libportacl.so loads it from its own
# folder when a program asks for a GPU; nothing is linked with it, and only its build needs the toolkit.
file(GLOB PORTACL_CUDA_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cuda/*.cu")
if(NOT PORTACL_CUDA)
  return()
endif()
set(CMAKE_CUDA_ARCHITECTURES "${PORTACL_CUDA_ARCHITECTURES}")
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know the flag of nvcc 13
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
add_library(portacl_cuda SHARED ${PORTACL_CUDA_SOURCES})
target_include_directories(portacl_cuda PRIVATE
  "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${PORTACL_GENERATED_INCLUDE}")
target_compile_definitions(portacl_cuda PRIVATE PORTACL_BUILDING=1)
# No product is fused with a sum unless the source says so: then the bits equal the CPU's.
target_compile_options(portacl_cuda PRIVATE
  -fmad=false --expt-relaxed-constexpr "SHELL:-Xcompiler -ffp-contract=off")
set_target_properties(portacl_cuda PROPERTIES
  CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_VISIBILITY_PRESET hidden CUDA_RUNTIME_LIBRARY Static
  NO_SONAME ON BUILD_RPATH "" LIBRARY_OUTPUT_DIRECTORY $<TARGET_FILE_DIR:portacl>)

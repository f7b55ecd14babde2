# Conan profile for a machine whose own packages (Debian's: script/setup --product) are the dependencies:
#
#   conan create packaging/conan --profile:all packaging/conan/system.profile
#
# Nothing comes from a Conan server. The versions are the oldest that the recipe takes; CMake checks
# the real ones. It needs a compiler with C++20 and CMake.
{% set compiler, version, _ = detect_api.detect_default_compiler() %}
[settings]
os=Linux
arch={{ detect_api.detect_arch() }}
build_type=Release
compiler={{ compiler }}
compiler.version={{ detect_api.default_compiler_version(compiler, version) }}
compiler.libcxx=libstdc++11
compiler.cppstd=20

[platform_requires]
onetbb/2021.8.0
highway/1.0.3
fmt/9.0.0
spdlog/1.10.0
nlohmann_json/3.11.0
cli11/2.1.0
stb/system
libpng/1.6.0
libjpeg-turbo/2.1.0

[conf]
tools.cmake.cmake_layout:test_folder=$TMP

"""Conan recipe: the library, its headers and the program.

    conan create packaging/conan --build=missing

builds the clone that holds it; Conan's own oneTBB, Highway and the rest are used, or with
`--profile:all packaging/conan/system.profile` those of the system (script/check recipes tries that).
"""

from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rm

required_conan_version = ">=2.0"
HEADERS = {
    "fmt": "FMT",
    "spdlog": "SPDLOG",
    "nlohmann_json": "JSON",
    "cli11": "CLI11",
    "stb": "STB",
    "libjpeg-turbo": "TURBOJPEG",
}


class PortaclConan(ConanFile):
    name = "portacl"
    description = "Image-resampling gradients on any CPU, reproducible to the bit"
    license = "Apache-2.0"
    topics = ("grid-sample", "interpolate", "gradient", "aclnn", "simd")
    package_type = "shared-library"
    settings = ("os", "arch", "compiler", "build_type")
    options = {"scalar": [True, False]}
    default_options = {"scalar": False}

    @property
    def _clone(self):
        return Path(self.recipe_folder).resolve().parents[1]

    def set_version(self):
        text = load(self, self._clone / "CMakeLists.txt")
        self.version = text.split("project(portacl VERSION ")[1].split()[0]

    def export_sources(self):
        export = Path(self.export_sources_folder)
        for name in ("CMakeLists.txt", "CHANGELOG.md", "LICENSE", "THIRD_PARTY_LICENSES.txt"):
            copy(self, name, self._clone, export)
        copy(self, "shapes.json", self._clone / "bench", export / "bench")
        for folder in ("cmake", "packaging", "include", "src", "tools"):
            copy(self, "*", self._clone / folder, export / folder)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("portacl runs on Linux only")
        check_min_cppstd(self, 20)

    def requirements(self):
        self.requires("onetbb/[>=2021.8]")
        if not self.options.scalar:
            self.requires("highway/[>=1.0.3 <2]")
        self.requires("fmt/[>=9 <12]")
        self.requires("spdlog/[>=1.10 <2]")
        self.requires("nlohmann_json/[>=3.11 <4]")
        self.requires("cli11/[>=2.1 <3]")
        self.requires("stb/[*]")
        self.requires("libpng/[>=1.6 <2]")
        self.requires("libjpeg-turbo/[>=2.1 <4]")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["PORTACL_SCALAR"] = bool(self.options.scalar)
        for part in ("TESTS", "EXAMPLES", "BENCH"):
            toolchain.cache_variables[f"PORTACL_{part}"] = False
        # Headers and a library that portacl finds by file name, unless they are the system's.
        for name, header in HEADERS.items():
            if name not in self.dependencies:
                continue
            folders = self.dependencies[name].cpp_info.aggregated_components().includedirs
            toolchain.cache_variables[f"PORTACL_{header}_INCLUDE"] = folders[0]
        if "libjpeg-turbo" in self.dependencies:
            jpeg = self.dependencies["libjpeg-turbo"].cpp_info.aggregated_components().libdirs[0]
            (library,) = Path(jpeg).glob("libturbojpeg.*")
            toolchain.cache_variables["PORTACL_TURBOJPEG_LIBRARY"] = str(library)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        for name in ("LICENSE", "THIRD_PARTY_LICENSES.txt"):
            copy(self, name, self.source_folder, Path(self.package_folder) / "licenses")
        CMake(self).install()
        rm(self, "*.pc", self.package_folder, recursive=True)  # Conan writes its own

    def package_info(self):
        self.cpp_info.libs = ["portacl"]
        self.cpp_info.set_property("cmake_file_name", "portacl")
        self.cpp_info.set_property("cmake_target_name", "portacl::portacl")
        self.cpp_info.set_property("pkg_config_name", "portacl")

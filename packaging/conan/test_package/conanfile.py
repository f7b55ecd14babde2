"""Uses the package as a project does: find_package, then a program of the native API is built and run."""

from pathlib import Path

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout


class PortaclTest(ConanFile):
    settings = ("os", "arch", "compiler", "build_type")

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # leaves the clone alone
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            self.run(str(Path(self.cpp.build.bindir, "consumer").resolve()), env="conanrun")
            self.run("portacl info", env="conanrun")

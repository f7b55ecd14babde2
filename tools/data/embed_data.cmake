# Run as a script: writes OUTPUT, a C++ file that defines EmbeddedFile() of tools/data/embedded.h with
# the contents of FILES (separated by commas).
string(REPLACE "," ";" files "${FILES}")
set(arrays "")
set(table "")
set(number 0)
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  string(APPEND arrays "constexpr unsigned char kFile${number}[] = {\n${bytes}\n};\n")
  string(APPEND table "    {\"${name}\", kFile${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUTPUT}" "// Made by tools/data/embed_data.cmake from tools/data.
#include \"tools/data/embedded.h\"

#include <string>

#include \"tools/cli_error.h\"

namespace portacl::cli {
namespace {

${arrays}
struct File {
  std::string_view name;
  std::span<const unsigned char> contents;
};
constexpr File kFiles[] = {
${table}};

}  // namespace

std::span<const unsigned char> EmbeddedFile(std::string_view name) {
  for (const File& file : kFiles) {
    if (file.name == name) return file.contents;
  }
  throw RuntimeFailure(\"no embedded file is called \" + std::string(name));
}

}  // namespace portacl::cli
")

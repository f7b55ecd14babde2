// Writing and reading of manifests, and of the output files that they name.
#include "tools/testing/manifest.h"

#include <fmt/format.h>
#include <portacl/portacl.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/cli_error.h"
#include "tools/file/file_io.h"
#include "tools/file/npy.h"
#include "tools/testing/golden_set.h"
#include "tools/testing/sha256.h"

namespace portacl::golden {
namespace {

using cli::BadInput;
using nlohmann::json;

const char* const kSuffixes[3] = {".npy", ".float64.npy", ".bound.npy"};

StoredOutput& OutputCalled(const std::string& parameter, const std::string& folder,
                           std::vector<StoredOutput>& outputs) {
  for (StoredOutput& output : outputs) {
    if (output.parameter == parameter) return output;
  }
  outputs.push_back({parameter, folder, DataType::kFloat32, {}, {}});
  return outputs.back();
}

Shape ReadShape(const json& value) {
  const auto is_extent = [](const json& extent) {
    return extent.is_number_unsigned() && extent.get<uint64_t>() <= INT64_MAX;
  };
  if (!value.is_array() || !std::all_of(value.begin(), value.end(), is_extent)) {
    throw BadInput(fmt::format("shape {}: wanted a list of integers from 0 on", value.dump()));
  }
  return value.get<Shape>();
}

StoredCase ReadEntry(const json& entry, const std::string& folder) {
  StoredCase stored;
  stored.c = ParseCase(entry.at("case").get<std::string>());
  stored.c.name = entry.at("name").get<std::string>();
  stored.folder = folder;
  const std::string case_folder = folder + "/" + stored.c.name;
  for (const json& tensor : entry.at("tensors")) {
    const std::string role = tensor.at("role"), file = tensor.at("file");
    if (role == "input") continue;
    StoredOutput& output = OutputCalled(tensor.at("parameter"), case_folder, stored.outputs);
    output.shape = ReadShape(tensor.at("shape"));
    const auto dtype = cli::ParseDataType(tensor.at("dtype").get<std::string>());
    if (role == "output" && dtype) output.dtype = *dtype;
    for (size_t i = 0; i < 3; ++i) {
      if (file == stored.c.name + "/" + output.parameter + kSuffixes[i]) {
        output.sha256[i] = tensor.at("sha256");
      }
    }
  }
  return stored;
}

// The elements of a file of the set. Its bytes must have the manifest's checksum.
std::vector<std::byte> ReadChecked(const StoredOutput& output, size_t which,
                                   const std::string& descr) {
  const std::string path = output.folder + "/" + output.parameter + kSuffixes[which];
  if (Sha256(cli::ReadText(path)) != output.sha256[which]) {
    throw BadInput(path + ": is not the file of the manifest (its sha256 is another one)");
  }
  cli::NpyArray array = cli::ReadNpyArray(path);
  if (array.descr != descr || array.shape != output.shape) {
    throw BadInput(fmt::format("{}: holds {} {}, but the manifest says {} {}", path, array.descr,
                               cli::ToString(array.shape), descr, cli::ToString(output.shape)));
  }
  return std::move(array.bytes);
}

std::vector<double> AsDoubles(const std::vector<std::byte>& bytes) {
  std::vector<double> values(bytes.size() / sizeof(double));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace

std::string ManifestText(const std::vector<std::string>& entries) {
  std::string text = fmt::format(
      "{{\"schema\": \"portacl-golden\", \"version\": {}, \"portacl\": \"{}\",\n \"cases\": [",
      kManifestVersion, portaclGetVersion());
  for (size_t i = 0; i < entries.size(); ++i) text += (i > 0 ? ",\n  " : "\n  ") + entries[i];
  return text + "\n]}\n";
}

bool IsGoldenSet(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::path(folder) / kManifestName, ignored);
}

std::vector<StoredCase> ReadManifest(const std::string& folder) {
  const std::string path = folder + "/" + kManifestName;
  if (!cli::IsFolder(folder)) throw BadInput(folder + ": no such folder");
  if (!IsGoldenSet(folder)) {
    throw BadInput(
        folder +
        ": no manifest.json in it: `portacl golden` has not written it, or not to its end");
  }
  const json manifest = json::parse(cli::ReadText(path), nullptr, false);
  if (!manifest.is_object() || manifest.value("schema", json()) != "portacl-golden") {
    throw BadInput(path + ": is not a manifest of golden results");
  }
  if (manifest.value("version", json()) != kManifestVersion) {
    throw BadInput(fmt::format("{}: version {}, but this program reads version {}", path,
                               manifest.value("version", json()).dump(), kManifestVersion));
  }
  std::vector<StoredCase> cases;
  std::set<std::string> names;
  try {
    for (const json& entry : manifest.at("cases")) {
      cases.push_back(ReadEntry(entry, folder));
      if (!names.insert(cases.back().c.name).second) {
        throw BadInput(fmt::format("two cases are called '{}'", cases.back().c.name));
      }
    }
  } catch (const std::exception& error) {
    throw BadInput(fmt::format("{}: case {}: {}", path, names.size() + 1, error.what()));
  }
  return cases;
}

GoldenOutput ReadOutput(const StoredOutput& output) {
  GoldenOutput golden{output.parameter, output.dtype, output.shape, {}, {}};
  golden.golden = ReadChecked(output, 0, cli::NpyDescr(output.dtype));
  golden.exact.value = AsDoubles(ReadChecked(output, 1, "<f8"));
  golden.exact.bound = AsDoubles(ReadChecked(output, 2, "<f8"));
  return golden;
}

}  // namespace portacl::golden

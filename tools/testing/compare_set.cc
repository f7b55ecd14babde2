// Reading of results, and the verdict case by case.
#include "tools/testing/compare_set.h"

#include <fmt/format.h>

#include <filesystem>

#include "tools/cli_error.h"
#include "tools/file/file_io.h"
#include "tools/file/npy.h"
#include "tools/testing/manifest.h"
#include "tools/testing/parallel_cases.h"

namespace portacl::golden {
namespace {

using cli::BadInput;
namespace fs = std::filesystem;

std::vector<std::byte> ReadRaw(const std::string& path, DataType dtype, const Shape& shape) {
  cli::InputFile file(path);
  const size_t size = cli::CountBytes(shape, cli::ElementSize(dtype), path);
  if (file.size() != size) {
    throw BadInput(fmt::format("{}: {} bytes, but {} {} elements need {}", path, file.size(),
                               cli::ToString(shape), cli::DataTypeName(dtype), size));
  }
  std::vector<std::byte> bytes(size);
  file.Read(bytes.data(), size, "data");
  return bytes;
}

bool IsBFloat16(const std::string& descr) {
  return descr == "<u2" || descr == "<V2" || descr == "|V2";
}

std::vector<std::byte> ReadArray(const std::string& path, DataType dtype, const Shape& shape) {
  cli::NpyArray array = cli::ReadNpyArray(path);
  const std::string wanted = cli::NpyDescr(dtype);
  const bool right = dtype == DataType::kBFloat16 ? IsBFloat16(array.descr) : array.descr == wanted;
  if (!right) {
    throw BadInput(fmt::format("{}: holds '{}', but {} ('{}') is wanted", path, array.descr,
                               cli::DataTypeName(dtype), wanted));
  }
  if (array.shape != shape) {
    throw BadInput(fmt::format("{}: has shape {}, but {} is wanted", path,
                               cli::ToString(array.shape), cli::ToString(shape)));
  }
  return std::move(array.bytes);
}

ReportRow CompareCase(const StoredCase& golden, const std::string& other,
                      const CompareSetOptions& options) {
  ReportRow row{{golden.c, {}, "", false, 0}, {}};
  for (size_t i = 0; i < golden.outputs.size(); ++i) {
    const StoredOutput& output = golden.outputs[i];
    const GoldenOutput wanted = ReadOutput(output);  // its failure is everybody's
    try {
      const auto read = [&](const std::string& folder) {
        return ReadActual(folder + "/" + golden.c.name, output.parameter, i, output.dtype,
                          output.shape);
      };
      const std::vector<std::byte> actual = read(other);
      std::vector<std::byte> second;
      if (!options.second.empty()) second = read(options.second);
      row.Add(wanted, actual, options.standard, options.with_pictures,
              options.second.empty() ? nullptr : &second);
      row.verdict.outputs.back().actual_file =
          ActualFile(other + "/" + golden.c.name, output.parameter, i);
    } catch (const BadInput& error) {
      row.verdict.error += (row.verdict.error.empty() ? "" : "; ") + std::string(error.what());
      row.verdict.bad_input = true;
    }
  }
  return row;
}

}  // namespace

std::string ActualFile(const std::string& case_folder, const std::string& parameter,
                       size_t number) {
  const std::string stem = case_folder + "/" + parameter;
  const std::string numbered = fmt::format("{}/output_{}.npy", case_folder, number);
  for (const std::string& file : {stem + ".npy", stem + ".bin", numbered}) {
    if (fs::exists(file)) return file;
  }
  throw BadInput(
      fmt::format("{}.npy: no such file, nor {}.bin, nor output_{}.npy", stem, parameter, number));
}

std::vector<std::byte> ReadActual(const std::string& case_folder, const std::string& parameter,
                                  size_t number, DataType dtype, const Shape& shape) {
  const std::string file = ActualFile(case_folder, parameter, number);
  return file.ends_with(".bin") ? ReadRaw(file, dtype, shape) : ReadArray(file, dtype, shape);
}

std::vector<ReportRow> CompareSets(const std::vector<StoredCase>& golden, const std::string& other,
                                   const CompareSetOptions& options) {
  for (const std::string& folder : {other, options.second}) {
    if (!folder.empty() && !fs::is_directory(folder)) throw BadInput(folder + ": no such folder");
  }
  std::vector<ReportRow> rows(golden.size());
  ForEachCase(golden.size(), options.jobs, options.on_case_done,
              [&](size_t i) { rows[i] = CompareCase(golden[i], other, options); });
  return rows;
}

std::vector<ReportRow> ShowSet(const std::vector<StoredCase>& golden,
                               const CompareSetOptions& options) {
  std::vector<ReportRow> rows(golden.size());
  ForEachCase(golden.size(), options.jobs, options.on_case_done, [&](size_t i) {
    rows[i].verdict.c = golden[i].c;
    for (const StoredOutput& output : golden[i].outputs) rows[i].AddGolden(ReadOutput(output));
  });
  return rows;
}

}  // namespace portacl::golden

// Computing golden cases, and writing a set that survives an interruption.
#include "tools/testing/golden_set.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <portacl/portacl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "tools/cli_error.h"
#include "tools/file/file_io.h"
#include "tools/file/npy.h"
#include "tools/testing/call_native.h"
#include "tools/testing/host_tensors.h"
#include "tools/testing/manifest.h"
#include "tools/testing/parallel_cases.h"
#include "tools/testing/sha256.h"

namespace portacl::golden {
namespace {

using cli::BadInput;
namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kProgress = ".portacl-progress";

[[noreturn]] void FailWriting(const fs::path& path, int error) {
  throw cli::RuntimeFailure(
      fmt::format("{}: writing failed: {}", path.string(), std::strerror(error)));
}

// A file with one owner, in a folder that nobody looks into before it is whole.
class RawFile {
 public:
  RawFile(const fs::path& path, int flags) : path_(path) {
    file_ = open(path.c_str(), flags | O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0)
      throw BadInput(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
  }
  ~RawFile() {
    if (file_ >= 0) close(file_);
  }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  void Write(const void* data, size_t size) {
    const char* bytes = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t written = write(file_, bytes, size);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) FailWriting(path_, written < 0 ? errno : ENOSPC);
      bytes += written;
      size -= static_cast<size_t>(written);
    }
  }

 private:
  fs::path path_;
  int file_ = -1;
};

// Writes the files of one case and notes each in the manifest's entry.
class CaseWriter {
 public:
  CaseWriter(const GoldenCase& golden, fs::path folder)
      : golden_(golden), folder_(std::move(folder)) {}

  // The entry; `bytes` grows by what was written.
  ordered_json Write(uint64_t& bytes) {
    ordered_json entry = {
        {"name", golden_.c.name}, {"case", ToString(golden_.c)}, {"status", golden_.c.expect}};
    if (golden_.c.expect == 0) {
      const OperatorRow& op = *golden_.c.op;
      size_t inputs = 0, outputs = 0;
      for (const size_t i : golden_.call.With(Role::kInput)) {
        const ViewTensor& tensor = golden_.call.arguments[i].tensor;
        AddTensor(op.parameters[i].name, "input", static_cast<DataType>(tensor.dtype()),
                  tensor.shape(), tensor.Dense());
        Link(op.parameters[i].name, fmt::format("input_{}.npy", inputs++));
      }
      for (const GoldenOutput& output : golden_.outputs) {
        AddOutput(output);
        Link(output.parameter, fmt::format("output_{}.npy", outputs++));
      }
    }
    entry["tensors"] = std::move(tensors_);
    bytes += bytes_;
    return entry;
  }

 private:
  ordered_json& AddFile(const std::string& name, const char* role, const std::string& dtype,
                        const Shape& shape, const std::string& head, const void* body,
                        size_t size) {
    std::string text = head;
    text.append(static_cast<const char*>(body), size);
    RawFile(folder_ / name, O_TRUNC).Write(text.data(), text.size());
    bytes_ += text.size();
    tensors_.push_back({{"file", golden_.c.name + "/" + name},
                        {"parameter", name.substr(0, name.find('.'))},
                        {"role", role},
                        {"dtype", dtype},
                        {"shape", shape},
                        {"sha256", Sha256(text)}});
    return tensors_.back();
  }

  void AddTensor(const std::string& name, const char* role, DataType dtype, const Shape& shape,
                 const std::vector<std::byte>& dense) {
    const std::string type = cli::DataTypeName(dtype);
    const auto note_bits = [&](ordered_json& entry) -> ordered_json& {
      if (dtype == DataType::kBFloat16) entry["stored"] = "the bits, as uint16";
      return entry;
    };
    note_bits(AddFile(name + ".npy", role, type, shape, cli::NpyHead(cli::NpyDescr(dtype), shape),
                      dense.data(), dense.size()));
    note_bits(AddFile(name + ".bin", role, type, shape, "", dense.data(), dense.size()));
  }

  void AddOutput(const GoldenOutput& output) {
    const size_t first = tensors_.size();
    AddTensor(output.parameter, "output", output.dtype, output.shape, output.golden);
    double largest = 0;
    int64_t undetermined = 0;
    for (const double bound : output.exact.bound) {
      if (std::isinf(bound)) ++undetermined;
      if (std::isfinite(bound)) largest = std::max(largest, bound);
    }
    const ordered_json bound = {
        {"file", fmt::format("{}/{}.bound.npy", golden_.c.name, output.parameter)},
        {"largest", largest},
        {"undetermined", undetermined}};
    for (size_t i = first; i < tensors_.size(); ++i) tensors_[i]["bound"] = bound;
    AddDoubles(output.parameter + ".float64.npy", "exact", output.shape, output.exact.value);
    AddDoubles(output.parameter + ".bound.npy", "bound", output.shape, output.exact.bound);
  }

  void AddDoubles(const std::string& name, const char* role, const Shape& shape,
                  const std::vector<double>& values) {
    AddFile(name, role, "float64", shape, cli::NpyHead("<f8", shape), values.data(),
            values.size() * sizeof(double));
  }

  void Link(const std::string& parameter, const std::string& name) const {
    std::error_code error;
    const fs::path from = folder_ / (parameter + ".npy");
    fs::create_hard_link(from, folder_ / name, error);
    if (error) fs::copy_file(from, folder_ / name, fs::copy_options::overwrite_existing);
  }

  const GoldenCase& golden_;
  fs::path folder_;
  ordered_json tensors_ = ordered_json::array();
  uint64_t bytes_ = 0;
};

std::string Identity(const std::vector<Case>& cases) {
  std::string strings = fmt::format("{} {}\n", kManifestVersion, portaclGetVersion());
  for (const Case& c : cases) strings += ToString(c) + "\n";
  return Sha256(strings);
}

// The written folder, its record of finished cases, and its removal if that fails.
class SetFolder {
 public:
  SetFolder(const fs::path& folder, const std::vector<Case>& cases)
      : folder_(folder), cases_(cases), lines_(cases.size()) {
    made_ = !fs::exists(folder);
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) {
      throw BadInput(fmt::format("{}: cannot be made: {}", folder.string(), error.message()));
    }
    const std::string identity = Identity(cases);
    if (!ReadProgress(identity)) {
      for (const Case& c : cases) {
        if (fs::exists(folder / c.name)) {
          throw BadInput(fmt::format("{}: is there already", (folder / c.name).string()));
        }
      }
      const std::string head = identity + "\n";
      RawFile(folder / kProgress, O_TRUNC).Write(head.data(), head.size());
      began_ = true;
    }
    for (const Case& c : cases) fs::remove_all(Unfinished(c), error);
    progress_ = std::make_unique<RawFile>(folder / kProgress, O_APPEND);
  }

  ~SetFolder() {
    if (finished_) return;
    std::error_code ignored;
    for (const size_t i : written_) fs::remove_all(folder_ / cases_[i].name, ignored);
    for (const Case& c : cases_) fs::remove_all(Unfinished(c), ignored);
    if (began_) fs::remove(folder_ / kProgress, ignored);
    if (made_) fs::remove(folder_, ignored);
  }
  SetFolder(const SetFolder&) = delete;
  SetFolder& operator=(const SetFolder&) = delete;

  bool IsDone(size_t i) const { return !lines_[i].empty(); }
  size_t resumed() const { return resumed_; }
  fs::path Unfinished(const Case& c) const {
    return folder_ / fmt::format(".portacl-{}.tmp", c.name);
  }

  // The case's files lie in Unfinished(). Any thread.
  void Add(size_t i, const ordered_json& entry) {
    const std::string line = entry.dump();
    const std::lock_guard lock(mutex_);
    std::error_code error;
    fs::rename(Unfinished(cases_[i]), folder_ / cases_[i].name, error);
    if (error) FailWriting(folder_ / cases_[i].name, error.value());
    written_.push_back(i);
    lines_[i] = line;
    const std::string text = fmt::format("{} {}\n", i, line);
    progress_->Write(text.data(), text.size());
  }

  void Finish() {
    cli::WriteFile((folder_ / kManifestName).string(), ManifestText(lines_), nullptr, 0);
    finished_ = true;
    progress_.reset();
    fs::remove(folder_ / kProgress);
  }

 private:
  // Whether there was one, of the same cases.
  bool ReadProgress(const std::string& identity) {
    const fs::path path = folder_ / kProgress;
    if (!fs::exists(path)) return false;
    const std::string text = cli::ReadText(path.string());
    const std::string head = identity + "\n";
    // Interrupted before its first line was whole: nothing was made yet.
    if (text.size() < head.size() && head.starts_with(text)) return false;
    if (!text.starts_with(head)) {
      throw BadInput(fmt::format(
          "{}: holds the beginning of another set (other cases or another version); remove it",
          folder_.string()));
    }
    size_t begin = head.size();
    for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const auto [i, entry] = DoneCase(text.substr(begin, end - begin));
      if (!fs::exists(folder_ / cases_[i].name)) continue;
      if (!IsDone(i)) ++resumed_;
      lines_[i] = entry;
    }
    // A line that was cut by the interruption must not be continued. If a case was moved to its
    // place but not noted, it is made again.
    if (begin < text.size()) fs::resize_file(path, begin);
    std::error_code ignored;
    for (size_t i = 0; i < cases_.size(); ++i) {
      if (!IsDone(i)) fs::remove_all(folder_ / cases_[i].name, ignored);
    }
    return true;
  }

  // Reads a line of the record: a case's number and its entry of the manifest. Throws if it is not
  // such a line.
  std::pair<size_t, std::string> DoneCase(const std::string& line) const {
    size_t i = cases_.size();
    const char* const end = line.data() + line.size();
    const char* const space = std::from_chars(line.data(), end, i).ptr;
    ordered_json entry;
    if (space != end && *space == ' ') entry = ordered_json::parse(space + 1, end, nullptr, false);
    if (i >= cases_.size() || !entry.is_object() || entry.value("name", "") != cases_[i].name) {
      throw BadInput(fmt::format("{}: its record {} is damaged; remove the folder",
                                 folder_.string(), kProgress));
    }
    return {i, {space + 1, end}};
  }

  fs::path folder_;
  const std::vector<Case>& cases_;
  std::vector<std::string> lines_;  // of the manifest; "" for a case that is not done
  std::vector<size_t> written_;
  size_t resumed_ = 0;
  bool made_ = false, began_ = false, finished_ = false;
  std::unique_ptr<RawFile> progress_;
  std::mutex mutex_;
};

// Whether the folder holds exactly this set already. Throws if it holds another one.
bool IsComplete(const std::vector<Case>& cases, const std::string& folder) {
  if (!IsGoldenSet(folder)) return false;
  const std::vector<StoredCase> stored = ReadManifest(folder);
  bool same = stored.size() == cases.size();
  for (size_t i = 0; same && i < cases.size(); ++i) {
    same =
        ToString(stored[i].c) == ToString(cases[i]) && fs::exists(fs::path(folder) / cases[i].name);
  }
  if (!same) throw BadInput(folder + ": holds another golden set already; give another folder");
  return true;
}

}  // namespace

GoldenCase ComputeGolden(const Case& c) {
  GoldenCase golden{c, MakeCall(c), {}};
  if (c.expect != 0) return golden;
  RunNative(golden.call);
  std::vector<Exact> exact = ExactOutputs(golden.call);
  const std::vector<size_t> outputs = golden.call.With(Role::kOutput);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const CallArgument& argument = golden.call.arguments[outputs[i]];
    if (!argument.wanted) continue;
    golden.outputs.push_back({c.op->parameters[outputs[i]].name, c.dtype, argument.tensor.shape(),
                              argument.tensor.Dense(), std::move(exact[i])});
  }
  return golden;
}

GoldenSummary WriteGoldenSet(const std::vector<Case>& cases, const std::string& folder,
                             const GoldenOptions& options) {
  GoldenSummary summary{cases.size(), 0, 0};
  if (IsComplete(cases, folder)) {
    summary.resumed = cases.size();
    return summary;
  }
  SetFolder set(folder, cases);
  summary.resumed = set.resumed();
  std::mutex mutex;
  ForEachCase(cases.size(), options.jobs, options.on_case_done, [&](size_t i) {
    if (set.IsDone(i)) return;
    const GoldenCase golden = ComputeGolden(cases[i]);
    const fs::path unfinished = set.Unfinished(cases[i]);
    fs::create_directory(unfinished);
    uint64_t bytes = 0;
    const ordered_json entry = CaseWriter(golden, unfinished).Write(bytes);
    set.Add(i, entry);
    const std::lock_guard lock(mutex);
    summary.bytes += bytes;
  });
  set.Finish();
  return summary;
}

}  // namespace portacl::golden

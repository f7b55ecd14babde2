// `portacl-call FOLDER [FILE...]`: runs cases through the aclnn library in a folder, and through
// the named files, for `portacl verify`. It is a separate program, not linked to libportacl.so. So
// only those libraries are loaded, and a crash costs one case.
//
// Protocol. A text is a uint32 length and its bytes. At the start standard output has two texts.
// The first says why the library cannot be used, the second names the functions that its runtime
// lacks for kOnTheStream; "" if there is nothing to say. A line of standard input is a case: the
// hardships, a decimal number (hardships.h), and the case's string. A second call of the case has
// the seed that follows (SecondOf()). The answer to a case, on standard output: uint32 number of
// calls, the calls, uint32 number of functions that are called for the first time. Each of these
// has two texts, its name and its file. A call: int32 status, texts for the function that failed
// and its message, uint32 number of outputs, and each output's elements (uint64 length, bytes),
// dense. If no function failed, its text is "", and the message names another problem or is "". The
// report of a crash may take the place of an answer (crash_report.h).
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/cli_error.h"
#include "tools/testing/call_aclnn.h"
#include "tools/testing/crash_report.h"

namespace portacl::golden {
namespace {

namespace fs = std::filesystem;

// Runtime first: the others may need it.
constexpr const char* kRuntimeNames[] = {"libascendcl.so", "libnnopbase.so"};
constexpr const char* kOperatorNames[] = {"libopapi.so",      "libopapi_cv.so",   "libopapi_nn.so",
                                          "libopapi_math.so", "libcust_opapi.so", "libportacl.so"};

// The file itself, whatever links lead to it.
std::string RealPath(const fs::path& path) {
  std::error_code ignored;
  return fs::weakly_canonical(path, ignored).string();
}

// The file that has the code at an address.
std::string FileOf(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? RealPath(info.dli_fname) : "";
}

class Library {
 public:
  Library(std::string folder, std::vector<std::string> files)
      : folder_(std::move(folder)), files_(std::move(files)) {}

  // "" or the problem.
  std::string Load() {
    if (!folder_.empty()) {
      for (const char* const name : kRuntimeNames) LoadInFolder(name, /*own=*/false);
      for (const char* const name : kOperatorNames) LoadInFolder(name, /*own=*/true);
    }
    for (const std::string& file : files_) LoadFile(file, /*own=*/true);
    if (!problem_.empty() || !loaded_.empty()) return problem_;
    return fmt::format("{}: no aclnn library in it (looked for {}, {})", folder_,
                       fmt::join(kRuntimeNames, ", "), fmt::join(kOperatorNames, ", "));
  }

  void* Find(const char* name) {
    for (const Loaded& library : loaded_) {
      if (void* const address = dlsym(library.handle, name)) return Note(name, address);
    }
    return nullptr;
  }

  // dlsym() also searches libraries that a library is linked to, such as libportacl.so. Then
  // portacl would be judged by itself.
  void* FindOwn(const char* name) {
    std::string elsewhere;
    for (const Loaded& library : loaded_) {
      void* const address = dlsym(library.handle, name);
      if (address == nullptr) continue;
      if (IsOwn(FileOf(address))) return Note(name, address);
      elsewhere = FileOf(address);
    }
    if (elsewhere.empty()) throw cli::RuntimeFailure(fmt::format("the library has no {}", name));
    throw cli::RuntimeFailure(fmt::format("{} comes from {}, not from {}", name, elsewhere,
                                          folder_.empty() ? files_.at(0) : folder_));
  }

  // Name and file of the functions that were found since the last call.
  std::vector<std::pair<std::string, std::string>> TakeNews() { return std::exchange(news_, {}); }

 private:
  struct Loaded {
    void* handle;
    std::string file;
    bool own;  // may hold the functions under test
  };

  void LoadInFolder(const char* name, bool own) {
    const fs::path path = fs::path(folder_) / name;
    std::error_code ignored;
    if (fs::exists(path, ignored)) LoadFile(path, own);
  }

  void LoadFile(const fs::path& path, bool own) {
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle != nullptr) {
      loaded_.push_back({handle, RealPath(path), own});
    } else if (problem_.empty()) {
      const std::string error = dlerror();  // begins with the path, or with a dependency's
      problem_ = error.rfind(path.string(), 0) == 0 ? error : path.string() + ": " + error;
    }
  }

  // Files in the folder count, except a runtime's file beside libraries of operators. A link to a
  // file elsewhere counts if it is named like a library of operators. portacl's file counts too,
  // except beside another library: there it would answer for functions that the other library
  // lacks.
  bool IsOwn(const std::string& file) const {
    const std::string portacl = FileOf(dlsym(RTLD_DEFAULT, "portaclGetVersion"));
    bool operators = false, others = false, runtime = false, own = false;
    for (const Loaded& library : loaded_) {
      operators = operators || library.own;
      others = others || (library.own && library.file != portacl && !IsPortaclsToo(library.file));
      if (library.file != file) continue;
      own = own || library.own;
      runtime = runtime || !library.own;
    }
    if (file == portacl && others) return false;
    if (own) return true;
    if (runtime) return !operators;
    return !folder_.empty() && fs::path(file).parent_path() == RealPath(folder_);
  }

  // portacl's library with DrivingSDK's names. It asks libportacl.so for functions that a vendor's
  // library of this name does not mention.
  static bool IsPortaclsToo(const std::string& file) {
    const fs::path portacl = FileOf(dlsym(RTLD_DEFAULT, "portaclGetVersion"));
    if (fs::path(file) != portacl.parent_path() / "libcust_opapi.so") return false;
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(stream), {});
    return bytes.find("portaclCustomPlan") != std::string::npos;
  }

  void* Note(const std::string& name, void* address) {
    if (known_.insert(name).second) news_.emplace_back(name, FileOf(address));
    return address;
  }

  std::string folder_;
  std::vector<std::string> files_;
  std::string problem_;
  std::vector<Loaded> loaded_;
  std::set<std::string> known_;
  std::vector<std::pair<std::string, std::string>> news_;
};

// The parent reads the standard output that this process began with.
class Answer {
 public:
  explicit Answer(int file) : file_(file) {}

  void Bytes(const void* data, size_t size) { text_.append(static_cast<const char*>(data), size); }
  template <class T>
  void Number(T value) {
    Bytes(&value, sizeof(value));
  }
  void Text(const std::string& text) {
    Number(static_cast<uint32_t>(text.size()));
    Bytes(text.data(), text.size());
  }
  void Send() {
    for (size_t at = 0; at < text_.size();) {
      const ssize_t written = write(file_, text_.data() + at, text_.size() - at);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) std::exit(3);  // nobody reads any more
      at += static_cast<size_t>(written);
    }
    text_.clear();
  }

 private:
  int file_;
  std::string text_;
};

void Add(Answer& answer, const AclnnOutcome& outcome, const Call& call) {
  answer.Number(outcome.status);
  answer.Text(outcome.call);
  answer.Text(outcome.message);
  std::vector<const ViewTensor*> outputs;
  if (outcome.status == 0) {
    for (const size_t i : call.With(Role::kOutput)) {
      if (call.arguments[i].wanted) outputs.push_back(&call.arguments[i].tensor);
    }
  }
  answer.Number(static_cast<uint32_t>(outputs.size()));
  for (const ViewTensor* const output : outputs) {
    const std::vector<std::byte> dense = output->Dense();
    answer.Number(static_cast<uint64_t>(dense.size()));
    answer.Bytes(dense.data(), dense.size());
  }
}

void RunLine(AclnnCaller& caller, Library& library, const std::string& line, Answer& answer) {
  size_t space = 0;
  auto hardships = static_cast<Hardships>(std::stoul(line, &space));
  const Case c = ParseCase(line.substr(space + 1));
  // A second call of a refusal would show nothing new.
  if (c.expect != 0) hardships &= ~Hardships{kSecondCall};
  Call calls[] = {MakeCall(c), MakeCall((hardships & kOtherData) != 0 ? SecondOf(c) : c)};
  std::vector<AclnnOutcome> outcomes;
  try {
    outcomes = caller.Rehearse(calls[0], calls[1], hardships);
  } catch (const std::exception& error) {
    outcomes = {{-1, "", error.what()}};  // no call returned that
  }
  answer.Number(static_cast<uint32_t>(outcomes.size()));
  for (size_t i = 0; i < outcomes.size(); ++i) Add(answer, outcomes[i], calls[i]);
  const auto news = library.TakeNews();
  answer.Number(static_cast<uint32_t>(news.size()));
  for (const auto& [name, file] : news) {
    answer.Text(name);
    answer.Text(file);
  }
  answer.Send();
}

int Main(const std::string& folder, const std::vector<std::string>& files) {
  // The library may print; that must not be taken for an answer.
  const int answers = dup(STDOUT_FILENO);
  if (answers < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 3;
  ReportCrashes(answers);
  Answer answer(answers);
  Library library(folder, files);
  std::unique_ptr<AclnnCaller> caller;
  std::string problem = library.Load();
  try {
    if (problem.empty()) {
      caller =
          std::make_unique<AclnnCaller>([&](const char* name) { return library.Find(name); },
                                        [&](const char* name) { return library.FindOwn(name); });
    }
  } catch (const std::exception& error) {
    problem = fmt::format("{}: {}", folder.empty() ? files.at(0) : folder, error.what());
  }
  answer.Text(problem);
  answer.Text(caller != nullptr ? caller->Missing() : "");
  answer.Send();
  if (!problem.empty()) return 2;
  for (std::string line; std::getline(std::cin, line);) {
    RunLine(*caller, library, line, answer);
  }
  return 0;
}

}  // namespace
}  // namespace portacl::golden

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: portacl-call FOLDER [FILE...] (it is started by `portacl verify`)\n",
               stderr);
    return 2;
  }
  return portacl::golden::Main(argv[1], {argv + 2, argv + argc});
}

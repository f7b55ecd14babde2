// `portacl-call FOLDER`: runs cases through the aclnn library that lies in a folder, for `portacl
// verify`. A program of its own, which is not linked to libportacl.so: so nothing but that library
// is loaded, and a crash costs one case.
//
// Protocol. Standard input: a case's string, one a line. Standard output, for each: int32 status,
// then texts (uint32 length, bytes) for the call that failed ("" where none did: the message says
// what is wrong, or there is none) and its message, uint32 number of
// outputs, and each output's elements (uint64 length, bytes), dense. At the start one text: "" or
// why the library cannot be used.
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tools/testing/call_aclnn.h"

namespace portacl::golden {
namespace {

// Runtime first: the others may need it.
constexpr const char* kNames[] = {"libascendcl.so",   "libnnopbase.so", "libopapi.so",
                                  "libopapi_cv.so",   "libopapi_nn.so", "libopapi_math.so",
                                  "libcust_opapi.so", "libportacl.so"};

class Library {
 public:
  // "" or what is wrong.
  std::string Load(const std::string& folder) {
    for (const char* const name : kNames) {
      const std::filesystem::path path = std::filesystem::path(folder) / name;
      std::error_code ignored;
      if (!std::filesystem::exists(path, ignored)) continue;
      void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
      if (handle == nullptr) {
        const std::string error = dlerror();  // begins with the path, or with that of a dependency
        return error.rfind(path.string(), 0) == 0 ? error : path.string() + ": " + error;
      }
      handles_.push_back(handle);
    }
    if (!handles_.empty()) return "";
    return fmt::format("{}: no aclnn library in it (looked for {})", folder,
                       fmt::join(kNames, ", "));
  }

  void* Find(const char* name) const {
    for (void* const handle : handles_) {
      if (void* const address = dlsym(handle, name)) return address;
    }
    return nullptr;
  }

 private:
  std::vector<void*> handles_;
};

// What the parent reads: the standard output that this process began with.
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

void RunLine(AclnnCaller& caller, const std::string& line, Answer& answer) {
  Call call = MakeCall(ParseCase(line));
  AclnnOutcome outcome;
  try {
    outcome = caller.Run(call);
  } catch (const std::exception& error) {
    outcome = {-1, "", error.what()};  // no call returned that
  }
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
  answer.Send();
}

int Main(const std::string& folder) {
  // The library may print; that must not be taken for an answer.
  const int answers = dup(STDOUT_FILENO);
  if (answers < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 3;
  Answer answer(answers);
  Library library;
  std::unique_ptr<AclnnCaller> caller;
  std::string problem = library.Load(folder);
  try {
    if (problem.empty()) {
      caller = std::make_unique<AclnnCaller>([&](const char* name) { return library.Find(name); });
    }
  } catch (const std::exception& error) {
    problem = fmt::format("{}: {}", folder, error.what());
  }
  answer.Text(problem);
  answer.Send();
  if (!problem.empty()) return 2;
  for (std::string line; std::getline(std::cin, line);) RunLine(*caller, line, answer);
  return 0;
}

}  // namespace
}  // namespace portacl::golden

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: portacl-call FOLDER (it is started by `portacl verify`)\n", stderr);
    return 2;
  }
  return portacl::golden::Main(argv[1]);
}

// Writes the trace file.
#include "runtime/trace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <utility>

#include "base/fork.h"
#include "base/json_text.h"
#include "base/settings.h"

namespace portacl::runtime {
namespace {

using base::JsonString;

constexpr size_t kBufferBytes = size_t{32} << 10;
constexpr auto kMaxAge = std::chrono::milliseconds(250);
constexpr std::string_view kHead = R"({"displayTimeUnit":"ns","traceEvents":[)";
constexpr std::string_view kTail = "\n]}\n";  // the next write overwrites it

struct Descriptor {
  explicit Descriptor(int opened) : number(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  const int number;
};

// Writes events. The file is complete after each write: every batch ends with the file's tail, and
// the next batch overwrites the tail.
class TraceFile {
 public:
  explicit TraceFile(const char* path)
      : path_(path),
        file_(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)),
        owner_(getpid()) {
    if (file_.number < 0) {
      std::fprintf(stderr, "portacl: PORTACL_TRACE: cannot write %s: %s\n", path,
                   std::strerror(errno));
      return;
    }
    pending_ = kHead;
    Flush();
  }

  // False in a child of fork(), because it must not write into its parent's file.
  bool usable() const { return file_.number >= 0 && !full_ && owner_ == getpid(); }

  void Add(const TraceRow& row, const TraceSpan& span) {
    const std::lock_guard lock(mutex_);
    const int64_t process = row.device + 1;
    const int64_t thread = row.device < 0 ? syscall(SYS_gettid) : row.stream;
    NameRow(process, thread);
    const std::string arguments =
        span.detail.empty() ? "{}" : fmt::format(R"({{"detail":{}}})", JsonString(span.detail));
    AddEvent(fmt::format(
        R"({{"ph":"X","cat":{},"name":{},"pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{}}})",
        JsonString(span.category), JsonString(span.name), process, thread,
        Microseconds(span.begin - start_), Microseconds(span.end - span.begin), arguments));
    if (pending_.size() > kBufferBytes || span.end - flushed_ > kMaxAge) Flush();
  }

  void AddArrow(const TraceOrigin& from, const TraceRow& row, TraceTime at) {
    const std::lock_guard lock(mutex_);
    ++arrows_;
    AddArrowEnd("s", 0, from.thread, from.at);
    AddArrowEnd("f", row.device + 1, row.stream, at);
  }

  void FlushNow() {
    const std::lock_guard lock(mutex_);
    Flush();
  }

 private:
  static double Microseconds(std::chrono::steady_clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
  }

  void AddEvent(std::string_view event) {
    constexpr std::string_view kSeparator = ",\n";
    pending_.reserve(pending_.size() + kSeparator.size() + event.size());  // adds all or nothing
    pending_ += kSeparator.substr(first_ ? 1 : 0);
    first_ = false;
    pending_ += event;
  }

  void AddArrowEnd(std::string_view end, int64_t process, int64_t thread, TraceTime at) {
    NameRow(process, thread);
    AddEvent(fmt::format(
        R"({{"ph":"{}","bp":"e","cat":"enqueue","name":"enqueue","id":{},"pid":{},"tid":{},"ts":{:.3f}}})",
        end, arrows_, process, thread, Microseconds(at - start_)));
  }

  void NameRow(int64_t process, int64_t thread) {
    constexpr auto kName = R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":"{}"}}}})";
    const bool host = process == 0;
    if (!named_.contains({process, -1})) {
      AddEvent(fmt::format(fmt::runtime(kName), "process_name", process, 0,
                           host ? "host" : fmt::format("device {}", process - 1)));
      named_.emplace(process, -1);
    }
    if (!named_.contains({process, thread})) {
      AddEvent(fmt::format(fmt::runtime(kName), "thread_name", process, thread,
                           fmt::format("{} {}", host ? "thread" : "stream", thread)));
      named_.emplace(process, thread);
    }
  }

  void Flush() {
    flushed_ = std::chrono::steady_clock::now();
    if (pending_.empty() || !usable()) return;
    const size_t kept = pending_.size();
    pending_ += kTail;
    errno = 0;
    const ssize_t written = pwrite(file_.number, pending_.data(), pending_.size(), end_);
    if (written == static_cast<ssize_t>(pending_.size())) {
      end_ += static_cast<off_t>(kept);
    } else {
      EndEarly(errno != 0 ? errno : ENOSPC);  // a full disk may take a part of the batch
    }
    pending_.clear();
  }

  // Ends the trace if the disk is full: the file gets its previous end back.
  void EndEarly(int error) {
    full_ = true;
    const bool whole = ftruncate(file_.number, end_) == 0 &&
                       pwrite(file_.number, kTail.data(), kTail.size(), end_) ==
                           static_cast<ssize_t>(kTail.size());
    std::fprintf(stderr, "portacl: PORTACL_TRACE: writing %s failed: %s; the trace %s\n",
                 path_.c_str(), std::strerror(error), whole ? "ends here" : "is lost");
  }

  const std::string path_;
  const Descriptor file_;
  const pid_t owner_;
  const TraceTime start_ = std::chrono::steady_clock::now();
  base::ForkSafe<std::mutex> mutex_{base::LockRank::kTrace};
  std::string pending_;
  off_t end_ = 0;  // of the written events, without the tail
  bool first_ = true;
  std::atomic<bool> full_ = false;
  TraceTime flushed_;
  std::set<std::pair<int64_t, int64_t>> named_;
  uint64_t arrows_ = 0;
};

// Returns null if no trace is wanted. Never destroyed, like the objects of base::Immortal.
TraceFile* TheFile() {
  static constinit base::Once<TraceFile*> file;
  return file.Get([]() -> TraceFile* {
    const char* const path = base::settings::Trace();
    if (*path == '\0') return nullptr;
    auto made = std::make_unique<TraceFile>(path);
    if (!made->usable()) return nullptr;
    std::atexit(FlushTrace);
    return made.release();
  });
}

}  // namespace

bool TraceEnabled() noexcept {
  try {
    return TheFile() != nullptr;
  } catch (...) {  // no memory, or no way to report it: the next call tries again
    return false;
  }
}

void AddTraceSpan(const TraceRow& row, const TraceSpan& span) noexcept {
  try {
    TraceFile* const file = TheFile();
    if (file != nullptr && file->usable()) file->Add(row, span);
  } catch (...) {  // the timeline lacks a span, but the work is done
  }
}

TraceOrigin TraceHere() noexcept {
  if (!TraceEnabled()) return {};
  return {syscall(SYS_gettid), std::chrono::steady_clock::now()};
}

void AddTraceArrow(const TraceOrigin& from, const TraceRow& row, TraceTime at) noexcept {
  if (from.thread == 0) return;
  try {
    TraceFile* const file = TheFile();
    if (file != nullptr && file->usable()) file->AddArrow(from, row, at);
  } catch (...) {  // the timeline lacks an arrow
  }
}

void FlushTrace() {
  if (TraceFile* const file = TheFile()) file->FlushNow();
}

}  // namespace portacl::runtime

// One row for each function of the C API: a correct call, and its answer if memory, mappings or
// threads have run out. The rows stand in *_calls_test.cc, by topic.
#ifndef PORTACL_TESTS_FAULTS_CALLS_H_
#define PORTACL_TESTS_FAULTS_CALLS_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"
#include "portacl/portacl.h"

namespace portacl_test {

// The objects that rows use: a process's device, and room for outputs, compared byte by byte. Made
// by MakeWorld(), in a separate process for each row.
struct World {
  static constexpr size_t kDeviceBytes = size_t{256} << 10;
  static constexpr size_t kOutputBytes = 1024;
  static constexpr unsigned char kUntouched = 0xA5;

  aclrtContext context = nullptr;
  aclrtStream stream = nullptr;
  aclrtStream other_stream = nullptr;
  aclrtEvent event = nullptr;
  char* device = nullptr;  // kDeviceBytes
  char* host = nullptr;    // as many, of aclrtMallocHost
  alignas(64) std::array<unsigned char, kOutputBytes> output{};
  // What prepare() leaves for call() and clean().
  std::array<void*, 6> made{};
  uint64_t size = 0;

  // Room for an output, `offset` bytes into the array.
  template <class T>
  T* Out(size_t offset = 0) {
    return reinterpret_cast<T*>(output.data() + offset);
  }
  template <class T>
  T Get(size_t offset = 0) const {
    T value;
    std::memcpy(&value, output.data() + offset, sizeof value);
    return value;
  }
  template <class T>
  T* Made(size_t index = 0) const {
    return static_cast<T*>(made[index]);
  }
};

// The answer of a function that returns a handle or a text, and of one that cannot fail.
inline constexpr int64_t kNothing = -1;
template <class T>
int64_t Answer(T* handle) {
  return handle == nullptr ? kNothing : 0;
}
inline int64_t Answer(int64_t code) { return code; }
inline constexpr int64_t kVoid = 0;

using Step = void (*)(World&);

struct RowDetails {
  int64_t good = 0;               // the answer where nothing fails
  std::vector<int64_t> bad = {};  // the answers where something did; empty: its family's
  bool bare = false;              // in a process that has no device set
  size_t nulls = 0;               // bytes of the output that a failure sets to 0
  bool settle = true;             // whether streams can be waited for after every call
  bool pending = false;           // prepare() leaves work on a stream
  const char* variant = "";       // where a function has several rows
};

struct Row : RowDetails {
  using Call = int64_t (*)(World&);
  Row(const char* name, Call call_of, Step before, Step after, RowDetails details = {})
      : RowDetails(std::move(details)),
        function(name),
        call(call_of),
        prepare(before),
        clean(after) {}
  Row(const char* name, Call call_of, Step before, RowDetails details = {})
      : Row(name, call_of, before, nullptr, std::move(details)) {}
  Row(const char* name, Call call_of, RowDetails details = {})
      : Row(name, call_of, nullptr, nullptr, std::move(details)) {}

  const char* function;
  Call call;
  Step prepare;  // before every call
  Step clean;    // after every good call
};

// Enters a file's rows: const Rows rows(MakeRows()).
class Rows {
 public:
  explicit Rows(std::vector<Row> rows);
};
const std::vector<Row>& AllRows();

}  // namespace portacl_test

// The body of Row::call for an expression over `w`.
#define PORTACL_CALL(...)       \
  [](World& w) -> int64_t {     \
    (void)w;                    \
    return Answer(__VA_ARGS__); \
  }
#define PORTACL_DO(...) \
  [](World& w) {        \
    (void)w;            \
    __VA_ARGS__;        \
  }
// The same for functions that return nothing or any number.
#define PORTACL_USE(...)            \
  [](World& w) -> int64_t {         \
    (void)w;                        \
    static_cast<void>(__VA_ARGS__); \
    return kVoid;                   \
  }

#endif  // PORTACL_TESTS_FAULTS_CALLS_H_

// What the aclnn examples share: stop with the library's message on an error, device memory that
// frees itself, and tensors on it.
#ifndef PORTACL_EXAMPLES_ACL_EXAMPLE_H_
#define PORTACL_EXAMPLES_ACL_EXAMPLE_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"

// Ends the program where `call` does not return 0.
#define ACL_EXAMPLE_CHECK(call)                                    \
  do {                                                             \
    const int code_ = (call);                                      \
    if (code_ != 0) {                                              \
      const char* message_ = aclGetRecentErrMsg();                 \
      std::fprintf(stderr, "%s: error %d: %s\n", #call, code_,     \
                   message_ != nullptr ? message_ : "no message"); \
      std::exit(1);                                                \
    }                                                              \
  } while (false)

namespace example {

// A device and a stream for the life of the program.
class Device {
 public:
  Device() {
    ACL_EXAMPLE_CHECK(aclInit(nullptr));
    ACL_EXAMPLE_CHECK(aclrtSetDevice(0));
    ACL_EXAMPLE_CHECK(aclrtCreateStream(&stream_));
  }
  ~Device() {
    aclrtDestroyStream(stream_);
    aclrtResetDevice(0);
    aclFinalize();
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  aclrtStream stream() const { return stream_; }
  void Synchronize() const { ACL_EXAMPLE_CHECK(aclrtSynchronizeStream(stream_)); }

 private:
  aclrtStream stream_ = nullptr;
};

// Device memory, copied from and to host vectors.
class Buffer {
 public:
  explicit Buffer(size_t bytes) : bytes_(bytes) {
    if (bytes > 0) ACL_EXAMPLE_CHECK(aclrtMalloc(&data_, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  }
  explicit Buffer(const std::vector<float>& values) : Buffer(values.size() * sizeof(float)) {
    ACL_EXAMPLE_CHECK(aclrtMemcpy(data_, bytes_, values.data(), bytes_, ACL_MEMCPY_HOST_TO_DEVICE));
  }
  ~Buffer() {
    if (data_ != nullptr) aclrtFree(data_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  std::vector<float> Read() const {
    std::vector<float> values(bytes_ / sizeof(float));
    ACL_EXAMPLE_CHECK(aclrtMemcpy(values.data(), bytes_, data_, bytes_, ACL_MEMCPY_DEVICE_TO_HOST));
    return values;
  }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

// A contiguous FLOAT tensor on a buffer; to be destroyed with aclDestroyTensor.
inline aclTensor* MakeTensor(const std::vector<int64_t>& shape, aclFormat format,
                             const Buffer& buffer) {
  return aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, nullptr, 0, format, shape.data(),
                         shape.size(), buffer.data());
}

// Prints a matrix of `columns` columns.
inline void Print(const char* name, const std::vector<float>& values, size_t columns) {
  std::printf("%s\n", name);
  for (size_t i = 0; i < values.size(); ++i) {
    std::printf("%8.4f%s", static_cast<double>(values[i]), (i + 1) % columns == 0 ? "\n" : " ");
  }
}

}  // namespace example

#endif  // PORTACL_EXAMPLES_ACL_EXAMPLE_H_

// The list of all settings from the environment, and how each setting is read.
//
// A setting is one line of PORTACL_SETTINGS. The line declares a function that reads the variable,
// and makes the name known, so that it is not reported as misspelled. A setting needs a row in
// docs/settings.md (tests/script/settings_test.sh).
#ifndef PORTACL_BASE_SETTINGS_H_
#define PORTACL_BASE_SETTINGS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace portacl::base::settings {

// Each line: the function, the variable, its purpose. An integer has its range before the purpose.
//
//   TEXT(F, ...)     const char* F()              "" if the variable is not set
//   FLAG(F, ...)     bool F()                     true if it is "1"
//   INTEGER(F, ...)  int64_t F(int64_t fallback)  a decimal number in the range
//   BYTES(F, ...)    size_t F(size_t fallback)    a number; a suffix K, M or G is a power of 1024
// PYTHON(F, ...)   none: only the Python package reads it; here its name is known
//
// Invalid values are reported on stderr and ignored.
#define PORTACL_SETTINGS(TEXT, FLAG, INTEGER, BYTES, PYTHON)                                     \
  TEXT(Profile, "PORTACL_PROFILE", "what the aclnn API accepts")                                 \
  TEXT(Edition, "PORTACL_EDITION", "which published pages the aclnn API follows: 8.x, 9.x")      \
  FLAG(Strict, "PORTACL_STRICT", "refuses what is otherwise accepted with a warning")            \
  TEXT(Impl, "PORTACL_IMPL",                                                                     \
       "forces a kernel (avx2), or a path or all but it (avx2:slab, :-slab)")                    \
  INTEGER(NumThreads, "PORTACL_NUM_THREADS", 1, 1024, "threads of the kernels")                  \
  INTEGER(AdaptThreads, "PORTACL_ADAPT_THREADS", 0, 1, "0: always all of them, however busy")    \
  INTEGER(Devices, "PORTACL_DEVICES", 1, 64, "devices, with memory and streams of their own")    \
  BYTES(DeviceMemory, "PORTACL_DEVICE_MEMORY", "memory that a device says it has")               \
  BYTES(PoolBytes, "PORTACL_POOL_BYTES", "freed device memory that is kept for the next blocks") \
  TEXT(GuardText, "PORTACL_GUARD", "device memory faults on host access")                        \
  TEXT(CudaLibrary, "PORTACL_CUDA_LIBRARY", "the file of the backend for NVIDIA GPUs")           \
  TEXT(AtenLibrary, "PORTACL_ATEN_LIBRARY", "the file of what computes with PyTorch's kernels")  \
  FLAG(Lazy, "PORTACL_LAZY", "streams begin their work as late as they may")                     \
  TEXT(Log, "PORTACL_LOG", "the log's level, and whether calls are logged")                      \
  TEXT(Trace, "PORTACL_TRACE", "the file of a timeline")                                         \
  PYTHON(PoolMegabytes, "PORTACL_POOL_MB", "memory of large results that is kept for the next")  \
  TEXT(Cache, "PORTACL_CACHE", "the folder of files built once a machine")                       \
  PYTHON(Npu, "PORTACL_NPU", "0: torch_npu calls the aclnn functions itself, as on a device")    \
  PYTHON(Torch, "PORTACL_TORCH", "1, forward: portacl under PyTorch without an import")          \
  PYTHON(NpuRandom, "PORTACL_NPU_RANDOM", "cpu: random numbers of the CPU's generator")          \
  PYTHON(NpuFloat64, "PORTACL_NPU_FLOAT64", "1: casts to float64 on npu give float64")

#define PORTACL_DECLARE_TEXT(function, name, meaning) const char* function();
#define PORTACL_DECLARE_FLAG(function, name, meaning) bool function();
#define PORTACL_DECLARE_INTEGER(function, name, low, high, meaning) \
  int64_t function(int64_t fallback);
#define PORTACL_DECLARE_BYTES(function, name, meaning) size_t function(size_t fallback);
#define PORTACL_DECLARE_NOTHING(function, name, meaning)
PORTACL_SETTINGS(PORTACL_DECLARE_TEXT, PORTACL_DECLARE_FLAG, PORTACL_DECLARE_INTEGER,
                 PORTACL_DECLARE_BYTES, PORTACL_DECLARE_NOTHING)
#undef PORTACL_DECLARE_TEXT
#undef PORTACL_DECLARE_FLAG
#undef PORTACL_DECLARE_INTEGER
#undef PORTACL_DECLARE_BYTES
#undef PORTACL_DECLARE_NOTHING

// Returns true if PORTACL_GUARD is 1 or exit. Reports other values on stderr.
bool Guard();

// Variables of other programs that the library follows; "" if they are not set.
const char* OpenMpThreads();         // OMP_NUM_THREADS
const char* VendorLogLevel();        // ASCEND_GLOBAL_LOG_LEVEL
bool VendorLogOnStdout();            // ASCEND_SLOG_PRINT_TO_STDOUT
const char* VendorVisibleDevices();  // ASCEND_RT_VISIBLE_DEVICES
const char* VendorDevice();          // ASCEND_DEVICE_ID

// Read a variable of any name; the functions above use them.
const char* ReadText(const char* name);
bool ReadFlag(const char* name);
int64_t ReadInteger(const char* name, int64_t low, int64_t high, int64_t fallback);
size_t ReadBytes(const char* name, size_t fallback);

}  // namespace portacl::base::settings

#endif  // PORTACL_BASE_SETTINGS_H_

// The floating-point state of tasks: round to nearest, keep subnormals, whatever the caller set.
#ifndef PORTACL_RUNTIME_FP_ENV_H_
#define PORTACL_RUNTIME_FP_ENV_H_

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace portacl::runtime {

// Saves the thread's rounding mode, FTZ/DAZ and exception masks, and sets the defaults. The
// destructor restores the saved state. Costs a few cycles if nothing has to change. Exception flags
// that are raised inside are not seen outside.
class FpEnvironment {
 public:
#if defined(__x86_64__)
  FpEnvironment() : saved_(_mm_getcsr()) {
    if ((saved_ & ~kFlags) != kDefault) _mm_setcsr(kDefault);
  }
  ~FpEnvironment() {
    if (_mm_getcsr() != saved_) _mm_setcsr(saved_);
  }
#elif defined(__aarch64__)
  FpEnvironment() : saved_(Get()) {
    if (saved_ != 0) Set(0);
  }
  ~FpEnvironment() {
    if (Get() != saved_) Set(saved_);
  }
#else
#error "Floating-point control of this architecture is unknown: add it here."
#endif
  FpEnvironment(const FpEnvironment&) = delete;
  FpEnvironment& operator=(const FpEnvironment&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr uint32_t kFlags = 0x3F;      // sticky exception flags
  static constexpr uint32_t kDefault = 0x1F80;  // all exceptions masked, nearest, no FTZ/DAZ
  uint32_t saved_;
#elif defined(__aarch64__)
  static uint64_t Get() {
    uint64_t value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void Set(uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value)); }
  uint64_t saved_;
#endif
};

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_FP_ENV_H_

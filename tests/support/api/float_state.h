// A floating-point state that a caller of the library may have set.
#ifndef PORTACL_TESTS_SUPPORT_API_FLOAT_STATE_H_
#define PORTACL_TESTS_SUPPORT_API_FLOAT_STATE_H_

#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace portacl_test {

// Sets a rounding mode during its life. On x86-64, if asked for, subnormals also count as 0, and
// operations on NaN raise SIGFPE.
class FloatState {
 public:
  explicit FloatState(int rounding, bool flush = false, bool trap = false) {
    std::fegetenv(&saved_);
    std::fesetround(rounding);
#if defined(__x86_64__)
    if (flush) _mm_setcsr(_mm_getcsr() | 0x8040);  // FTZ and DAZ
    if (trap) _mm_setcsr(_mm_getcsr() & ~static_cast<unsigned>(_MM_MASK_INVALID));
#else
    static_cast<void>(flush);
    static_cast<void>(trap);
#endif
  }
  ~FloatState() { std::fesetenv(&saved_); }
  FloatState(const FloatState&) = delete;
  FloatState& operator=(const FloatState&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_FLOAT_STATE_H_

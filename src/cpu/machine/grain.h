// When a loop is worth another thread, and how it is cut. Plain C++, the same for every instruction
// set.
#ifndef PORTACL_CPU_MACHINE_GRAIN_H_
#define PORTACL_CPU_MACHINE_GRAIN_H_

#include <cstdint>

namespace portacl::cpu {

// A call that moves fewer bytes runs on the calling thread: waking another costs as much.
inline constexpr int64_t kGrainBytes = int64_t{256} << 10;

// a / b, rounded up; of numbers from 0 on, and b at least 1.
constexpr int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_MACHINE_GRAIN_H_

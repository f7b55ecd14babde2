// The seeded random numbers of `random:SEED`: the same on every machine.
#ifndef PORTACL_TOOLS_TENSOR_RANDOM_H_
#define PORTACL_TOOLS_TENSOR_RANDOM_H_

#include <cstdint>

namespace portacl::cli {

// SplitMix64: state += 0x9E3779B97F4A7C15, then mixed.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  // Uniform in [-1, 1): a multiple of 2^-52, exact in double.
  double NextSigned() { return static_cast<double>(Next() >> 11) * 0x1p-52 - 1.0; }

 private:
  uint64_t state_;
};

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_TENSOR_RANDOM_H_

// A small seeded generator whose numbers are the same on every machine, compiler and library (the
// standard's distributions are not), and in tests/data/make_pytorch_goldens.py.
#ifndef PORTACL_TESTS_SUPPORT_API_RANDOM_H_
#define PORTACL_TESTS_SUPPORT_API_RANDOM_H_

#include <cstdint>

namespace portacl_test {

// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Bits() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // In [0, 1), with 53 random bits.
  double Unit() { return static_cast<double>(Bits() >> 11) * 0x1p-53; }
  // In [low, high).
  double Uniform(double low, double high) { return low + (high - low) * Unit(); }
  // In [low, high], both included.
  int64_t Integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Bits() % static_cast<uint64_t>(high - low + 1));
  }
  bool Coin() { return (Bits() & 1) != 0; }

 private:
  uint64_t state_;
};

// A seed for random tests: PORTACL_TEST_SEED, or from the clock. Print it (SCOPED_TRACE) so that a
// failure can be repeated.
uint64_t FreshSeed();

// PORTACL_TEST_SHORT=1: sanitizer and emulator runs, which do a third of the work or less.
bool ShortRun();
inline int64_t ByRunLength(int64_t full, int64_t shortened) {
  return ShortRun() ? shortened : full;
}

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_RANDOM_H_

// Seeds the CPU's generators from the device's generators.
#include "random.h"

#include <ATen/CPUGeneratorImpl.h>

#include <array>
#include <cstdlib>
#include <string_view>

namespace portacl_npu {
namespace {

std::array<c10::GeneratorImpl*, 64> default_generators{};

bool CpuNumbersWanted() {
  static const bool wanted = [] {
    const char* const text = std::getenv("PORTACL_NPU_RANDOM");
    return text != nullptr && std::string_view(text) == "cpu";
  }();
  return wanted;
}

// Neighbouring pairs give seeds that have nothing in common (the finaliser of SplitMix64).
uint64_t Mix(uint64_t seed, uint64_t offset) {
  uint64_t mixed = seed + offset * 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
  return mixed ^ (mixed >> 31);
}

uint64_t NextSeed(at::Generator& generator) {
  constexpr uint64_t kStep = 4;  // generators of devices want multiples of it
  const std::lock_guard<std::mutex> lock(generator.mutex());
  const uint64_t offset = generator.get_offset();
  generator.set_offset(offset + kStep);
  return Mix(generator.current_seed(), offset);
}

std::optional<at::Generator> DefaultGenerator(c10::Device device) {
  auto* const own = default_generators.at(static_cast<size_t>(device.index()));
  if (own == nullptr || CpuNumbersWanted()) return std::nullopt;
  return at::Generator(c10::intrusive_ptr<c10::GeneratorImpl>::reclaim_copy(own));
}

std::mutex& DefaultMutex() {
  static auto& mutex = *new std::mutex;
  return mutex;
}

}  // namespace

void SetDefaultGenerator(int device, c10::GeneratorImpl* generator) {
  default_generators.at(static_cast<size_t>(device)) = generator;
}

at::Generator NextNumbers(at::Generator generator) {
  return at::detail::createCPUGenerator(NextSeed(generator));
}

std::optional<at::Generator> NextDefaultNumbers(c10::Device device) {
  auto generator = DefaultGenerator(device);
  if (!generator) return std::nullopt;
  return NextNumbers(*generator);
}

BorrowedDefaultGenerator::BorrowedDefaultGenerator(c10::Device device) {
  auto own = DefaultGenerator(device);
  if (!own) return;
  lock_ = std::unique_lock<std::mutex>(DefaultMutex());
  auto generator = at::globalContext().defaultGenerator(at::kCPU);
  const uint64_t seed = NextSeed(*own);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  saved_ = generator.get_state();
  generator.set_current_seed(seed);
}

BorrowedDefaultGenerator::~BorrowedDefaultGenerator() {
  if (!saved_.defined()) return;
  auto generator = at::globalContext().defaultGenerator(at::kCPU);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(saved_);
}

}  // namespace portacl_npu

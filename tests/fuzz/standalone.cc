// Runs a fuzz target without libFuzzer, with any compiler: every file of its corpus,
// then inputs made of them by a seeded generator. Coverage does not guide it; script/fuzz does
// that.
//
//   portacl_NAME_fuzz CORPUS_FOLDER [RUNS [SEED]]
//   portacl_NAME_fuzz FILE                          one input, to repeat a failure
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "support/api/random.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;
using Input = std::vector<uint8_t>;
using portacl_test::Random;

Input ReadInput(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<Input> ReadCorpus(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Input> corpus;
  for (const fs::path& path : paths) corpus.push_back(ReadInput(path));
  return corpus;
}

size_t Index(Random& random, size_t count) {
  return static_cast<size_t>(random.Integer(0, static_cast<int64_t>(count) - 1));
}

// A bit turned, a byte replaced, a piece repeated or left out, the rest of another input.
void MutateOnce(Random& random, const std::vector<Input>& corpus, Input* input) {
  if (input->empty()) input->push_back(0);
  const size_t at = Index(random, input->size());
  const auto place = input->begin() + static_cast<std::ptrdiff_t>(at);
  const auto piece =
      static_cast<std::ptrdiff_t>(Index(random, std::min<size_t>(16, input->size() - at)) + 1);
  switch (random.Integer(0, 4)) {
    case 0:
      *place = static_cast<uint8_t>(*place ^ (1 << random.Integer(0, 7)));
      break;
    case 1:
      *place = static_cast<uint8_t>(random.Bits());
      break;
    case 2: {
      const Input copy(place, place + piece);
      input->insert(place, copy.begin(), copy.end());
      break;
    }
    case 3:
      input->erase(place, place + piece);
      break;
    default: {
      const Input& other = corpus[Index(random, corpus.size())];
      const size_t from = std::min(at, other.size());
      input->erase(place, input->end());
      input->insert(input->end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
    }
  }
}

// A file is written there for every run: no disk takes that.
fs::path MemoryFolder() {
  return access("/dev/shm", W_OK) == 0 ? fs::path("/dev/shm") : fs::temp_directory_path();
}

// The input that is running, for whoever has to repeat a failure.
void RunMutant(const Input& input, const fs::path& kept) {
  std::ofstream(kept, std::ios::binary)
      .write(reinterpret_cast<const char*>(input.data()),
             static_cast<std::streamsize>(input.size()));
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER [RUNS [SEED]] | FILE\n", argv[0]);
    return 2;
  }
  const fs::path path = argv[1];
  if (!fs::is_directory(path)) {
    const Input input = ReadInput(path);
    return LLVMFuzzerTestOneInput(input.data(), input.size()) <= 0 ? 0 : 1;
  }
  const std::vector<Input> corpus = ReadCorpus(path);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no files\n", argv[1]);
    return 2;
  }
  for (const Input& input : corpus) LLVMFuzzerTestOneInput(input.data(), input.size());
  const uint64_t runs = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  const fs::path kept = MemoryFolder() / (fs::path(argv[0]).filename().string() + "-" +
                                          std::to_string(getpid()) + "-failed.input");
  std::printf("%zu files, %llu mutants of seed %llu; one that fails is left in %s\n", corpus.size(),
              static_cast<unsigned long long>(runs), static_cast<unsigned long long>(seed),
              kept.c_str());
  std::fflush(stdout);
  Random random(seed);
  for (uint64_t run = 0; run < runs; ++run) {
    Input input = corpus[Index(random, corpus.size())];
    for (int64_t i = random.Integer(1, 8); i > 0; --i) MutateOnce(random, corpus, &input);
    RunMutant(input, kept);
  }
  std::error_code ignored;
  fs::remove(kept, ignored);
  return 0;
}

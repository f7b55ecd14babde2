// Reads NumPy's .npz as np.savez writes it: members stored without compression.
#ifndef PORTACL_TESTS_SUPPORT_API_NPZ_H_
#define PORTACL_TESTS_SUPPORT_API_NPZ_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace portacl_test {

struct NpyArray {
  std::string dtype;  // NumPy's, for example "<f8"
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;  // row-major

  // The elements of a member whose dtype is that of T; throws std::runtime_error otherwise.
  template <class T>
  std::vector<T> As() const;
  std::string AsText() const;
};

using Npz = std::map<std::string, NpyArray>;

// Throws std::runtime_error for a file that is missing, damaged or compressed.
Npz ReadNpz(const std::string& path);

// The file `name` of tests/data.
Npz ReadGoldens(const std::string& name);

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_NPZ_H_

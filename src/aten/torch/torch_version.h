// Differences between PyTorch 1.13 (in Debian 12) and 2.7. All other sources in this folder are the
// same for all versions.
#ifndef PORTACL_ATEN_TORCH_TORCH_VERSION_H_
#define PORTACL_ATEN_TORCH_TORCH_VERSION_H_

#include <c10/core/ScalarType.h>
#include <c10/macros/Macros.h>

#if __has_include(<torch/headeronly/version.h>)
#include <torch/headeronly/version.h>
#else
#include <torch/csrc/api/include/torch/version.h>
#endif

#include <optional>
#include <string_view>

#define PORTACL_TORCH_BEFORE(major, minor) \
  (TORCH_VERSION_MAJOR < (major) ||        \
   (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR < (minor)))

// Such as "2.15".
#define PORTACL_TORCH_VERSION \
  C10_STRINGIZE(TORCH_VERSION_MAJOR) "." C10_STRINGIZE(TORCH_VERSION_MINOR)

namespace portacl::aten {

inline constexpr char kTorchVersion[] = PORTACL_TORCH_VERSION;

#if PORTACL_TORCH_BEFORE(2, 5)
template <class T>
using Optional = c10::optional<T>;
using Text = c10::string_view;
#else
template <class T>
using Optional = std::optional<T>;
using Text = std::string_view;
#endif

#if PORTACL_TORCH_BEFORE(2, 3)
inline constexpr std::optional<c10::ScalarType> kUInt16, kUInt32, kUInt64;
#else
inline constexpr auto kUInt16 = c10::ScalarType::UInt16;
inline constexpr auto kUInt32 = c10::ScalarType::UInt32;
inline constexpr auto kUInt64 = c10::ScalarType::UInt64;
#endif

}  // namespace portacl::aten

#endif  // PORTACL_ATEN_TORCH_TORCH_VERSION_H_

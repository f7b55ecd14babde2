// The text of DIR/manifest.json, which golden_set.h describes.
#ifndef PORTACL_TOOLS_TESTING_MANIFEST_H_
#define PORTACL_TOOLS_TESTING_MANIFEST_H_

#include <string>
#include <vector>

#include "tools/tensor/element.h"

namespace portacl::golden {

inline constexpr const char* kManifestName = "manifest.json";

// How .npy files call the type; bfloat16 goes as its bits, "<u2".
std::string NpyDescr(DataType dtype);

// The whole text from the entries of the cases, one line each.
std::string ManifestText(const std::vector<std::string>& entries);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_MANIFEST_H_

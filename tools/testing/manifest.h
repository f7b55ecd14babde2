// The text of DIR/manifest.json, which golden_set.h describes.
#ifndef PORTACL_TOOLS_TESTING_MANIFEST_H_
#define PORTACL_TOOLS_TESTING_MANIFEST_H_

#include <string>
#include <vector>

namespace portacl::golden {

inline constexpr const char* kManifestName = "manifest.json";

// The whole text from the entries of the cases, one line each.
std::string ManifestText(const std::vector<std::string>& entries);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_MANIFEST_H_

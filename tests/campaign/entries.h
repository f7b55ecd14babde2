// The ways into an operator: portacl's own API, the two-phase API, and by graph name.
#ifndef PORTACL_TESTS_CAMPAIGN_ENTRIES_H_
#define PORTACL_TESTS_CAMPAIGN_ENTRIES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "campaign/case.h"

namespace portacl_test {

// What a call answered, and its outputs.
struct Outcome {
  int32_t code = 0;
  std::string message;
  std::vector<Tensor> outputs;
};

enum class Entry { kNative, kAclnn, kByName };
const char* NameOf(Entry entry);

// False for calls that the entry has no words for: by name tensors have no strides.
bool CanExpress(Entry entry, const CampaignCase& c);

// Runs the case's call on copies of its outputs. The profile is "open", device 0 is set.
Outcome RunEntry(Entry entry, const CampaignCase& c, aclrtStream stream);

}  // namespace portacl_test

#endif  // PORTACL_TESTS_CAMPAIGN_ENTRIES_H_

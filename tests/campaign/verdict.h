// Judging one case: every entry, kernel family, number of threads and pool against the oracle and
// against each other.
#ifndef PORTACL_TESTS_CAMPAIGN_VERDICT_H_
#define PORTACL_TESTS_CAMPAIGN_VERDICT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "campaign/case.h"
#include "campaign/entries.h"

namespace portacl_test {

class Judge {
 public:
  // Sets device 0 and the profile "open".
  Judge();
  ~Judge();
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  // "" where all is right, else what is wrong.
  std::string Try(const CampaignCase& c);

  // Runs of operators until now, and those that each entry accepted.
  int64_t runs() const { return runs_; }
  const std::map<std::string, int64_t>& accepted() const { return accepted_; }

 private:
  Outcome Run(Entry entry, const CampaignCase& c);
  std::string TryOverlap(const CampaignCase& c);
  std::string TryEntries(const CampaignCase& c, const Outcome& want);
  std::string TryKernels(const CampaignCase& c, const Outcome& want);
  std::string TryPools(const CampaignCase& c, const Outcome& want);

  aclrtStream stream_ = nullptr;
  const std::vector<std::string> impls_;
  int64_t runs_ = 0;
  std::map<std::string, int64_t> accepted_;
};

}  // namespace portacl_test

#endif  // PORTACL_TESTS_CAMPAIGN_VERDICT_H_

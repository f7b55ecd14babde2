// A random call of one operator: drawn from a seed and a number, so that these two say it all.
#ifndef PORTACL_TESTS_CAMPAIGN_CASE_H_
#define PORTACL_TESTS_CAMPAIGN_CASE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/api/grid_oracle.h"
#include "support/api/tensor.h"

namespace portacl_test {

enum class CampaignOp { kNearest, kNearestBackward, kGrid, kGridBackward };

struct CampaignCase {
  CampaignOp op = CampaignOp::kNearest;
  Element element = Element::kFloat;
  std::vector<Tensor> inputs;   // in the order of the functions
  std::vector<Tensor> outputs;  // not wanted ones are left out
  std::vector<double> scales;   // nearest: empty, or one for each spatial axis
  GridMode mode;
  bool want_input_grad = true;
  bool want_grid_grad = true;
  bool finite = true;     // every value; what the oracle in double is for
  bool overlaps = false;  // an output lies over an input: to be refused

  // One line for people.
  std::string Describe() const;
};

CampaignCase DrawCase(uint64_t seed, uint64_t number);

}  // namespace portacl_test

#endif  // PORTACL_TESTS_CAMPAIGN_CASE_H_

// A random one of several.
#ifndef PORTACL_TESTS_SUPPORT_API_PICK_H_
#define PORTACL_TESTS_SUPPORT_API_PICK_H_

#include <iterator>

#include "support/api/random.h"

namespace portacl_test {

template <class Range>
const auto& PickOf(Random& random, const Range& values) {
  return values[static_cast<size_t>(random.Integer(0, std::ssize(values) - 1))];
}

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_PICK_H_

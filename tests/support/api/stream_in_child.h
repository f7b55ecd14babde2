// A device and a stream for a body that runs in a process of its own (child_process.h).
#ifndef PORTACL_TESTS_SUPPORT_API_STREAM_IN_CHILD_H_
#define PORTACL_TESTS_SUPPORT_API_STREAM_IN_CHILD_H_

#include <gtest/gtest.h>

#include <utility>

#include "acl/acl.h"

namespace portacl_test {

// Calls body(stream), and gives both back: guard mode reports what is left.
template <class Body>
void WithStream(Body&& body) {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  std::forward<Body>(body)(stream);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_STREAM_IN_CHILD_H_

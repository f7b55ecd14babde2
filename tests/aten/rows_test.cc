// The PyTorch of the build has what each row of functions.txt calls, and rows with mistakes are
// found.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "acl/acl.h"
#include "aten/backend.h"
#include "aten/row.h"

namespace portacl_test {
namespace {

using portacl::aten::Parameter;
using portacl::aten::Row;
using testing::HasSubstr;

#include "aten_rows.inc"

class AtenRows : public testing::Test {
 protected:
  // libportacl_aten.so beside libportacl.so.
  AtenRows() {
    Dl_info library;
    if (dladdr(reinterpret_cast<const void*>(&aclrtSetDevice), &library) == 0) return;
    const std::string file = library.dli_fname;
    const std::string backend = file.substr(0, file.rfind('/') + 1) + "libportacl_aten.so";
    void* const handle = dlopen(backend.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    const auto function = reinterpret_cast<portacl::aten::BackendFunction>(
        dlsym(handle, portacl::aten::kBackendFunction));
    if (function != nullptr) backend_ = function();
  }
  void SetUp() override { ASSERT_NE(backend_, nullptr) << dlerror(); }

  std::string Check(const char* right) const {
    static constexpr Parameter kParameters[] = {{"self", "T"}, {"dim", "i"}, {"out", "O"}};
    return backend_->check_row(Row{"aclnnOfTest", "", kParameters, right});
  }

  const portacl::aten::Backend* backend_ = nullptr;
};

TEST_F(AtenRows, PyTorchHasWhatEachCalls) {
  for (const Row* const row : kRows) {
    EXPECT_EQ(backend_->check_row(*row), "") << row->function << " = " << row->right;
  }
  for (const Row* const row : kFallbackRows) {
    EXPECT_EQ(backend_->check_row(*row), "") << row->function << " = " << row->right;
  }
}

TEST_F(AtenRows, MistakesAreNamed) {
  EXPECT_EQ(Check("softmax.int(self, dim)"), "");
  EXPECT_THAT(Check("sftmax(self, dim)"), HasSubstr("no operator sftmax"));
  EXPECT_THAT(Check("softmax.integer(self, dim)"), HasSubstr("no operator softmax.integer"));
  EXPECT_THAT(Check("@Sftmax"), HasSubstr("no composition @Sftmax"));
  EXPECT_THAT(Check("softmax.int(self, axis)"), HasSubstr("no parameter axis"));
  EXPECT_THAT(Check("softmax.int(self)"), HasSubstr("the operator needs dim"));
  EXPECT_THAT(Check("softmax.int(self, dim, none, 1)"), HasSubstr("too many arguments"));
  EXPECT_THAT(Check("softmax.int(self, dim, kind=dim)"), HasSubstr("no argument kind"));
  EXPECT_THAT(Check("softmax.int(dim, self)"), HasSubstr("self of the operator is a tensor"));
  EXPECT_THAT(Check("softmax.int(self, self)"), HasSubstr("dim of the operator is no tensor"));
  EXPECT_THAT(Check("exp_(self)"), HasSubstr("writes its argument self"));
  EXPECT_THAT(Check("_assert_scalar(dim, 'words')"), HasSubstr("has 0 results"));
}

}  // namespace
}  // namespace portacl_test

// Rows with mistakes are found. cmake/aten_rows.cc, a step of the build, looks at the rows of
// functions.txt.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "acl/acl.h"
#include "aten/backend.h"
#include "aten/row.h"

namespace portacl_test {
namespace {

using portacl::aten::Parameter;
using portacl::aten::Row;
using testing::HasSubstr;

class AtenRows : public testing::Test {
 protected:
  AtenRows() {
    void* const handle = dlopen(File().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    const auto function = reinterpret_cast<portacl::aten::BackendFunction>(
        dlsym(handle, portacl::aten::kBackendFunction));
    if (function != nullptr) backend_ = function();
  }
  void SetUp() override { ASSERT_NE(backend_, nullptr) << dlerror(); }

  // What PORTACL_ATEN_LIBRARY names, else libportacl_aten.so beside libportacl.so.
  static std::string File() {
    if (const char* const named = std::getenv("PORTACL_ATEN_LIBRARY")) return named;
    Dl_info library;
    if (dladdr(reinterpret_cast<const void*>(&aclrtSetDevice), &library) == 0) return "";
    const std::string file = library.dli_fname;
    return file.substr(0, file.rfind('/') + 1) + "libportacl_aten.so";
  }

  std::string Check(const char* right) const {
    static constexpr Parameter kParameters[] = {{"self", "T"}, {"dim", "i"}, {"out", "O"}};
    return backend_->check_row(Row{"aclnnOfTest", "", kParameters, right});
  }

  const portacl::aten::Backend* backend_ = nullptr;
};

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
  EXPECT_THAT(Check("_assert_async(self)"), HasSubstr("has 0 results"));
}

// A name that was looked up is forgotten, because its text may change.
TEST_F(AtenRows, NamesOfNoCompositionAreNotKept) {
  static char right[] = "@GroupedMatmuk";  // stands just before the right name in an ordered map
  EXPECT_THAT(Check(right), HasSubstr("no composition @GroupedMatmuk"));
  right[sizeof right - 2] = 'l';
  EXPECT_EQ(Check(right), "");
}

}  // namespace
}  // namespace portacl_test

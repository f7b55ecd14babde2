// The PyTorch of the build has what each row of functions.txt calls, and rows with mistakes are
// found.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

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

// Functions that lacking.txt has below "## PyTorch 1.13".
std::set<std::string> Lacking(const std::string& torch) {
  std::ifstream file(PORTACL_ATEN_LACKING);
  EXPECT_TRUE(file) << PORTACL_ATEN_LACKING;
  std::set<std::string> functions;
  bool here = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind('#', 0) == 0) {
      here = line == "## PyTorch " + torch;
      continue;
    }
    std::istringstream names(line);
    for (std::string name; here && names >> name;) functions.insert("aclnn" + name);
  }
  return functions;
}

TEST_F(AtenRows, PyTorchHasWhatEachCalls) {
  const std::set<std::string> lacking = Lacking(backend_->torch);
  std::vector<const Row*> rows(std::begin(kRows), std::end(kRows));
  rows.insert(rows.end(), std::begin(kFallbackRows), std::end(kFallbackRows));
  for (const Row* const row : rows) {
    const std::string error = backend_->check_row(*row);
    if (lacking.count(row->function) == 0) {
      EXPECT_EQ(error, "") << row->function << " = " << row->right;
    } else {
      EXPECT_THAT(error, HasSubstr("PyTorch ")) << row->function << " is in lacking.txt";
    }
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
  EXPECT_THAT(Check("_assert_async(self)"), HasSubstr("has 0 results"));
}

}  // namespace
}  // namespace portacl_test

// Copies, casts and fills of the types that the companion operators do not compute with: UINT16,
// UINT32, UINT64 and complex numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_fill_scalar.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_ones.h"
#include "aclnnop/aclnn_zero.h"
#include "support/api/companion_call.h"
#include "support/api/compare.h"

namespace portacl_test {
namespace {

class CompanionCopy : public AclTest {};

// Elements of any type on the device, dense.
template <class T>
class DeviceRow {
 public:
  DeviceRow(aclDataType dtype, const std::vector<T>& values)
      : memory_(values.size() * sizeof(T)), count_(values.size()) {
    args = {{static_cast<int64_t>(count_)}, dtype, ACL_FORMAT_ND, memory_.get()};
    EXPECT_EQ(
        aclrtMemcpy(memory_.get(), Bytes(), values.data(), Bytes(), ACL_MEMCPY_HOST_TO_DEVICE), 0);
  }
  std::vector<T> Now() const {
    std::vector<T> values(count_);
    EXPECT_EQ(
        aclrtMemcpy(values.data(), Bytes(), memory_.get(), Bytes(), ACL_MEMCPY_DEVICE_TO_HOST), 0);
    return values;
  }
  TensorArgs args;

 private:
  size_t Bytes() const { return count_ * sizeof(T); }
  DeviceMemory memory_;
  size_t count_;
};

aclnnStatus Copy(const TensorArgs& to, const TensorArgs& from, aclrtStream stream) {
  const TensorHandle out = to.Make();
  const TensorHandle in = from.Make();
  return PORTACL_RUN(aclnnInplaceCopy, stream, out.get(), in.get());
}

// ---- unsigned integers -------------------------------------------------------------------------

// Converts an element's value, a double, by the library's rule for values that do not fit.
template <class T>
T Truncated(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) {
    if (sizeof(T) < 8) return std::numeric_limits<T>::max();
    return static_cast<T>(value >= 0x1p64 ? ~uint64_t{0} : static_cast<uint64_t>(value));
  }
  return static_cast<T>(value < -0x1p63 ? INT64_MIN : static_cast<int64_t>(value));
}

template <class T>
void ConvertsToAndFromEveryElement(aclDataType dtype, aclrtStream stream) {
  const std::vector<double> values = {
      0,   -0.0, 1,   -1.5,   2.75, 127,   128,          255,      -129,     65504,
      1e5, -3e9, 5e9, 0x1p63, 1e20, -1e20, std::nan(""), INFINITY, -INFINITY};
  const std::vector<T> numbers = {
      0, 1, 2, 255, 256, 2049, 40000, static_cast<T>(0x000fedcba9876543)};  // exact as doubles
  for (const Element element : kAllElements) {
    SCOPED_TRACE(NameOf(element));
    Tensor from(element, {static_cast<int64_t>(values.size())});
    from.Fill(values);
    const DeviceTensor source(&from);
    const DeviceRow<T> to(dtype, std::vector<T>(values.size(), 77));
    ASSERT_EQ(Copy(to.args, source.args(), stream), 0) << TakeMessage();
    std::vector<T> want;
    for (const double value : from.Values()) {
      const bool last = IsInteger(element) && value == 0x1p63;  // INT64_MAX, as a double
      want.push_back(last ? static_cast<T>(INT64_MAX) : Truncated<T>(value));
    }
    EXPECT_EQ(to.Now(), want);

    const DeviceRow<T> back(dtype, numbers);
    Tensor result(element, {static_cast<int64_t>(numbers.size())});
    DeviceTensor target(&result);
    const TensorHandle in = back.args.Make();
    const TensorHandle out = target.args().Make();
    ASSERT_EQ(PORTACL_RUN(aclnnCast, stream, in.get(), ToAcl(element), out.get()), 0)
        << TakeMessage();
    target.Download();
    Tensor expected(element, result.shape());
    expected.Fill(std::vector<double>(numbers.begin(), numbers.end()));
    EXPECT_EQ(result.Values(), expected.Values());
  }
}

TEST_F(CompanionCopy, UnsignedIntegersAreConvertedFromAndToEveryElement) {
  ConvertsToAndFromEveryElement<uint16_t>(ACL_UINT16, stream_);
  ConvertsToAndFromEveryElement<uint32_t>(ACL_UINT32, stream_);
  ConvertsToAndFromEveryElement<uint64_t>(ACL_UINT64, stream_);
}

TEST_F(CompanionCopy, UnsignedIntegersKeepTheirLowBits) {
  const DeviceRow<uint64_t> wide(ACL_UINT64, {0x123456789abcdef0, ~uint64_t{0}, 5});
  const DeviceRow<uint32_t> middle(ACL_UINT32, {1, 1, 1});
  const DeviceRow<uint16_t> narrow(ACL_UINT16, {1, 1, 1});
  const DeviceRow<int64_t> integers(ACL_INT64, {1, 1, 1});
  ASSERT_EQ(Copy(middle.args, wide.args, stream_), 0) << TakeMessage();
  ASSERT_EQ(Copy(narrow.args, middle.args, stream_), 0) << TakeMessage();
  ASSERT_EQ(Copy(integers.args, wide.args, stream_), 0) << TakeMessage();
  EXPECT_EQ(middle.Now(), (std::vector<uint32_t>{0x9abcdef0, ~uint32_t{0}, 5}));
  EXPECT_EQ(narrow.Now(), (std::vector<uint16_t>{0xdef0, 0xffff, 5}));
  EXPECT_EQ(integers.Now(), (std::vector<int64_t>{0x123456789abcdef0, -1, 5}));
  ASSERT_EQ(Copy(wide.args, integers.args, stream_), 0) << TakeMessage();
  EXPECT_EQ(wide.Now(), (std::vector<uint64_t>{0x123456789abcdef0, ~uint64_t{0}, 5}));
  ASSERT_EQ(Copy(wide.args, narrow.args, stream_), 0) << TakeMessage();
  EXPECT_EQ(wide.Now(), (std::vector<uint64_t>{0xdef0, 0xffff, 5}));
}

// Just above the middle between two neighbours, by a bit that a wider type has no room for.
TEST_F(CompanionCopy, LargeUnsignedIntegersAreRoundedOnce) {
  const uint64_t top = uint64_t{1} << 63;
  const auto above = [&](int digits) { return top + (top >> digits) + 1; };
  const DeviceRow<uint64_t> x(ACL_UINT64, {top, above(53), above(24), above(8), ~uint64_t{0}});
  const auto neighbour = [](int digits) { return 0x1p63 + std::ldexp(1, 64 - digits); };
  const DeviceRow<double> wide(ACL_DOUBLE, std::vector<double>(5));
  ASSERT_EQ(Copy(wide.args, x.args, stream_), 0) << TakeMessage();
  EXPECT_EQ(wide.Now(),
            (std::vector<double>{0x1p63, neighbour(53), 0x1p63 + 0x1p39, 0x1p63 + 0x1p55, 0x1p64}));
  const DeviceRow<float> single(ACL_FLOAT, std::vector<float>(5));
  ASSERT_EQ(Copy(single.args, x.args, stream_), 0) << TakeMessage();
  EXPECT_EQ(single.Now(), (std::vector<float>{0x1p63F, 0x1p63F, static_cast<float>(neighbour(24)),
                                              0x1p63F + 0x1p55F, 0x1p64F}));
  Tensor brain(Element::kBFloat16, {5});
  DeviceTensor target(&brain);
  ASSERT_EQ(Copy(target.args(), x.args, stream_), 0) << TakeMessage();
  target.Download();
  EXPECT_EQ(brain.Values(), (std::vector<double>{0x1p63, 0x1p63, 0x1p63, neighbour(8), 0x1p64}));
}

TEST_F(CompanionCopy, UnsignedIntegersAreFilled) {
  const DeviceRow<uint16_t> narrow(ACL_UINT16, std::vector<uint16_t>(600, 9));
  const DeviceRow<uint64_t> wide(ACL_UINT64, std::vector<uint64_t>(600, 9));
  const TensorHandle a = narrow.args.Make();
  const TensorHandle b = wide.args.Make();
  ASSERT_EQ(PORTACL_RUN(aclnnInplaceOne, stream_, a.get()), 0) << TakeMessage();
  EXPECT_EQ(narrow.Now(), std::vector<uint16_t>(600, 1));
  const ScalarHandle large = MakeScalar(1e19);
  ASSERT_EQ(PORTACL_RUN(aclnnInplaceFillScalar, stream_, b.get(), large.get()), 0) << TakeMessage();
  EXPECT_EQ(wide.Now(), std::vector<uint64_t>(600, 10000000000000000000U));
  ASSERT_EQ(PORTACL_RUN(aclnnInplaceZero, stream_, b.get()), 0) << TakeMessage();
  EXPECT_EQ(wide.Now(), std::vector<uint64_t>(600, 0));
}

// ---- moved as they are -------------------------------------------------------------------------

// An element of 2 to 16 bytes.
template <size_t kBytes>
using Blob = std::array<uint8_t, kBytes>;

template <size_t kBytes>
std::vector<Blob<kBytes>> Blobs(int count) {
  std::vector<Blob<kBytes>> blobs(static_cast<size_t>(count));
  uint8_t next = 1;
  for (auto& blob : blobs) {
    for (uint8_t& byte : blob) byte = next++;
  }
  return blobs;
}

template <size_t kBytes>
void CopiesAsItIs(aclDataType dtype, aclrtStream stream) {
  SCOPED_TRACE(dtype);
  const auto blobs = Blobs<kBytes>(6);
  const DeviceRow<Blob<kBytes>> x(dtype, blobs);
  const DeviceRow<Blob<kBytes>> same(dtype, Blobs<kBytes>(7));
  TensorArgs six = same.args;
  six.shape = {6};
  ASSERT_EQ(Copy(six, x.args, stream), 0) << TakeMessage();
  auto want = blobs;
  want.push_back(Blobs<kBytes>(7)[6]);
  EXPECT_EQ(same.Now(), want);

  // Transposed, backwards, and one element everywhere.
  TensorArgs from = x.args;
  from.shape = {3, 2};
  from.strides = Shape{1, 3};
  from.storage = Shape{6};
  const DeviceRow<Blob<kBytes>> dense(dtype, std::vector<Blob<kBytes>>(6));
  TensorArgs to = dense.args;
  to.shape = {3, 2};
  to.storage = Shape{6};
  ASSERT_EQ(Copy(to, from, stream), 0) << TakeMessage();
  EXPECT_EQ(dense.Now(), (std::vector<Blob<kBytes>>{blobs[0], blobs[3], blobs[1], blobs[4],
                                                    blobs[2], blobs[5]}));
  from.strides = Shape{-2, -1};
  from.offset = 5;
  ASSERT_EQ(Copy(to, from, stream), 0) << TakeMessage();
  EXPECT_EQ(dense.Now(), std::vector<Blob<kBytes>>(blobs.rbegin(), blobs.rend()));
  from.strides = Shape{0, 0};
  ASSERT_EQ(Copy(to, from, stream), 0) << TakeMessage();
  EXPECT_EQ(dense.Now(), std::vector<Blob<kBytes>>(6, blobs[5]));

  const TensorHandle out = to.Make();
  ASSERT_EQ(PORTACL_RUN(aclnnInplaceZero, stream, out.get()), 0) << TakeMessage();
  EXPECT_EQ(dense.Now(), std::vector<Blob<kBytes>>(6));
}

TEST_F(CompanionCopy, EveryTypeIsCopiedAndZeroedAsBytes) {
  CopiesAsItIs<2>(ACL_UINT16, stream_);
  CopiesAsItIs<4>(ACL_UINT32, stream_);
  CopiesAsItIs<8>(ACL_UINT64, stream_);
  CopiesAsItIs<4>(ACL_COMPLEX32, stream_);
  CopiesAsItIs<8>(ACL_COMPLEX64, stream_);
  CopiesAsItIs<16>(ACL_COMPLEX128, stream_);
}

TEST_F(CompanionCopy, LongRowsOfSixteenBytes) {
  const auto blobs = Blobs<16>(80000);
  const DeviceRow<Blob<16>> x(ACL_COMPLEX128, blobs);
  const DeviceRow<Blob<16>> y(ACL_COMPLEX128, std::vector<Blob<16>>(40000));
  TensorArgs every_other = x.args;
  every_other.shape = {40000};
  every_other.strides = Shape{2};
  every_other.storage = Shape{80000};
  ASSERT_EQ(Copy(y.args, every_other, stream_), 0) << TakeMessage();
  std::vector<Blob<16>> want;
  for (size_t i = 0; i < blobs.size(); i += 2) want.push_back(blobs[i]);
  EXPECT_EQ(y.Now(), want);
}

TEST_F(CompanionCopy, AComplexScalarFillsItsOwnType) {
  const DeviceRow<std::array<double, 2>> x(ACL_COMPLEX128, std::vector<std::array<double, 2>>(600));
  const TensorHandle self = x.args.Make();
  double value[] = {1.5, -2.5};
  const ScalarHandle scalar(aclCreateScalar(value, ACL_COMPLEX128));
  ASSERT_EQ(PORTACL_RUN(aclnnInplaceFillScalar, stream_, self.get(), scalar.get()), 0)
      << TakeMessage();
  EXPECT_EQ(x.Now(), (std::vector<std::array<double, 2>>(600, {1.5, -2.5})));
}

TEST_F(CompanionCopy, ComplexMembersAreJoined) {
  const auto blobs = Blobs<16>(5);
  const DeviceRow<Blob<16>> a(ACL_COMPLEX128, {blobs[0], blobs[1]});
  const DeviceRow<Blob<16>> b(ACL_COMPLEX128, {blobs[2], blobs[3], blobs[4]});
  const DeviceRow<Blob<16>> to(ACL_COMPLEX128, std::vector<Blob<16>>(5));
  const ListHandle list = MakeList({a.args, b.args});
  const TensorHandle out = to.args.Make();
  ASSERT_EQ(PORTACL_RUN(aclnnCat, stream_, list.get(), 0, out.get()), 0) << TakeMessage();
  EXPECT_EQ(to.Now(), blobs);
}

TEST_F(CompanionCopy, RefusalsNameTheTypes) {
  const DeviceMemory memory(4096);
  const auto make = [&](aclDataType dtype, size_t place) {
    return TensorArgs{{4}, dtype, ACL_FORMAT_ND, static_cast<char*>(memory.get()) + place}.Make();
  };
  const TensorHandle real = make(ACL_FLOAT, 0);
  const TensorHandle complex = make(ACL_COMPLEX64, 1024);
  const TensorHandle text = make(ACL_STRING, 2048);
  const TensorHandle small = make(ACL_UINT16, 3072);
  const ScalarHandle one = MakeScalar(1);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  const auto refused = [&](aclnnStatus status, const std::string& part) {
    EXPECT_EQ(status, ACLNN_ERR_PARAM_INVALID) << part;
    EXPECT_THAT(TakeMessage(), testing::HasSubstr(part));
  };
  refused(aclnnInplaceCopyGetWorkspaceSize(real.get(), complex.get(), &size, &executor),
          "src has data type COMPLEX64, but a conversion needs FLOAT, ");
  refused(aclnnInplaceCopyGetWorkspaceSize(complex.get(), real.get(), &size, &executor),
          "selfRef has data type COMPLEX64, but a conversion needs FLOAT, ");
  refused(aclnnInplaceFillScalarGetWorkspaceSize(complex.get(), one.get(), &size, &executor),
          "selfRef has data type COMPLEX64");
  refused(aclnnInplaceOneGetWorkspaceSize(complex.get(), &size, &executor),
          "selfRef has data type COMPLEX64");
  refused(aclnnInplaceZeroGetWorkspaceSize(text.get(), &size, &executor),
          "selfRef has data type STRING");
  refused(aclnnInplaceMulGetWorkspaceSize(small.get(), small.get(), &size, &executor),
          "selfRef has data type UINT16, but must have FLOAT, ");
}

}  // namespace
}  // namespace portacl_test

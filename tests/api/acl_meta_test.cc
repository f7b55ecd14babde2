// The handles of aclnn/acl_meta.h: what goes in comes out, and bad arguments are errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>

#include "support/api/acl_fixture.h"

namespace portacl_test {
namespace {

using testing::HasSubstr;

class AclMeta : public testing::Test {
 protected:
  AclMeta() { TakeMessage(); }
};

// A shape as one of the getters returns it; the array is the caller's.
using Getter = aclnnStatus (*)(const aclTensor*, int64_t**, uint64_t*);
Shape Dims(Getter getter, const aclTensor* tensor) {
  int64_t* dims = nullptr;
  uint64_t count = 0;
  EXPECT_EQ(getter(tensor, &dims, &count), 0);
  const std::unique_ptr<int64_t[]> owned(dims);
  return Shape(dims, dims + count);
}

TEST_F(AclMeta, ATensorReportsWhatItWasMadeWith) {
  int data = 0;
  const TensorHandle tensor =
      TensorArgs{{2, 3, 5}, ACL_BF16, ACL_FORMAT_NCL, &data, Shape{15, -5, 0}, 7, Shape{4, 100}}
          .Make();
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(Dims(aclGetViewShape, tensor.get()), (Shape{2, 3, 5}));
  EXPECT_EQ(Dims(aclGetViewStrides, tensor.get()), (Shape{15, -5, 0}));
  EXPECT_EQ(Dims(aclGetStorageShape, tensor.get()), (Shape{4, 100}));
  int64_t offset = 0;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  aclDataType type = ACL_DT_UNDEFINED;
  void* address = nullptr;
  EXPECT_EQ(aclGetViewOffset(tensor.get(), &offset), 0);
  EXPECT_EQ(aclGetFormat(tensor.get(), &format), 0);
  EXPECT_EQ(aclGetDataType(tensor.get(), &type), 0);
  EXPECT_EQ(aclGetRawTensorAddr(tensor.get(), &address), 0);
  EXPECT_EQ(offset, 7);
  EXPECT_EQ(format, ACL_FORMAT_NCL);
  EXPECT_EQ(type, ACL_BF16);
  EXPECT_EQ(address, &data);
  EXPECT_EQ(aclSetRawTensorAddr(tensor.get(), &offset), 0);
  EXPECT_EQ(aclGetRawTensorAddr(tensor.get(), &address), 0);
  EXPECT_EQ(address, &offset);
}

TEST_F(AclMeta, NullStridesAreContiguous) {
  const TensorHandle tensor = TensorArgs{{2, 3, 5, 7}}.Make();
  EXPECT_EQ(Dims(aclGetViewStrides, tensor.get()), (Shape{105, 35, 7, 1}));
}

TEST_F(AclMeta, ScalarsAndAnyRankUpTo16AreTensorsToo) {
  aclTensor* scalar =
      aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
  ASSERT_NE(scalar, nullptr);
  EXPECT_EQ(Dims(aclGetViewShape, scalar), Shape{});
  EXPECT_EQ(aclDestroyTensor(scalar), 0);
  EXPECT_NE((TensorArgs{Shape(16, 1)}.Make()), nullptr);
  EXPECT_EQ((TensorArgs{Shape(17, 1)}.Make()), nullptr);
  EXPECT_THAT(TakeMessage(), HasSubstr("17"));
}

TEST_F(AclMeta, BadTensorsAreRefusedWithAMessage) {
  const int64_t dims[] = {2, 3};
  EXPECT_EQ(aclCreateTensor(nullptr, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 2, nullptr),
            nullptr);
  EXPECT_THAT(TakeMessage(), testing::AllOf(HasSubstr("aclCreateTensor"), HasSubstr("viewDims")));
  EXPECT_EQ(aclCreateTensor(dims, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 2, nullptr),
            nullptr);
  EXPECT_THAT(TakeMessage(), HasSubstr("storageDims"));
  EXPECT_EQ((TensorArgs{{2, -1}}.Make()), nullptr);
  EXPECT_THAT(TakeMessage(), HasSubstr("-1"));
}

TEST_F(AclMeta, InitGivesATensorNewProperties) {
  const TensorHandle tensor = TensorArgs{{2, 3}}.Make();
  const int64_t dims[] = {4};
  int data = 0;
  EXPECT_EQ(
      aclInitTensor(tensor.get(), dims, 1, ACL_DOUBLE, nullptr, 1, ACL_FORMAT_NCHW, dims, 1, &data),
      0);
  EXPECT_EQ(Dims(aclGetViewShape, tensor.get()), Shape{4});
  EXPECT_EQ(aclInitTensor(tensor.get(), nullptr, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1,
                          nullptr),
            ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(Dims(aclGetViewShape, tensor.get()), Shape{4}) << "a refused call changes nothing";
  EXPECT_EQ(aclInitTensor(nullptr, dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, &data),
            ACLNN_ERR_PARAM_NULLPTR);
}

TEST_F(AclMeta, GettersRefuseNullAndDeadHandles) {
  TensorHandle tensor = TensorArgs{{2, 3}}.Make();
  int64_t* dims = nullptr;
  uint64_t count = 0;
  for (const Getter getter : {aclGetViewShape, aclGetViewStrides, aclGetStorageShape}) {
    EXPECT_EQ(getter(nullptr, &dims, &count), ACLNN_ERR_PARAM_NULLPTR);
    EXPECT_EQ(getter(tensor.get(), nullptr, &count), ACLNN_ERR_PARAM_NULLPTR);
    EXPECT_EQ(getter(tensor.get(), &dims, nullptr), ACLNN_ERR_PARAM_NULLPTR);
  }
  EXPECT_EQ(dims, nullptr);
  EXPECT_EQ(aclGetViewOffset(tensor.get(), nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclGetFormat(tensor.get(), nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclGetDataType(tensor.get(), nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclGetRawTensorAddr(tensor.get(), nullptr), ACLNN_ERR_PARAM_NULLPTR);
  aclTensor* const dead = tensor.get();
  tensor.reset();
  for (const Getter getter : {aclGetViewShape, aclGetViewStrides, aclGetStorageShape}) {
    EXPECT_EQ(getter(dead, &dims, &count), ACLNN_ERR_PARAM_INVALID);
  }
  EXPECT_EQ(aclSetRawTensorAddr(dead, nullptr), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclDestroyTensor(dead), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), HasSubstr("aclDestroyTensor"));
}

TEST_F(AclMeta, ArraysCopyTheirValuesAndKnowTheirSize) {
  int64_t ints[] = {1, 2, 3};
  const float floats[] = {1, 2};
  const bool bools[] = {true};
  aclIntArray* int_array = aclCreateIntArray(ints, 3);
  aclFloatArray* float_array = aclCreateFloatArray(floats, 2);
  aclBoolArray* bool_array = aclCreateBoolArray(bools, 1);
  uint64_t size = 0;
  EXPECT_EQ(aclGetIntArraySize(int_array, &size), 0);
  EXPECT_EQ(size, 3u);
  EXPECT_EQ(aclGetFloatArraySize(float_array, &size), 0);
  EXPECT_EQ(size, 2u);
  EXPECT_EQ(aclGetBoolArraySize(bool_array, &size), 0);
  EXPECT_EQ(size, 1u);
  EXPECT_EQ(aclGetIntArraySize(nullptr, &size), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclGetIntArraySize(int_array, nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclDestroyIntArray(int_array), 0);
  EXPECT_EQ(aclDestroyIntArray(int_array), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclGetIntArraySize(int_array, &size), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclDestroyFloatArray(float_array), 0);
  EXPECT_EQ(aclDestroyBoolArray(bool_array), 0);
  aclIntArray* empty = aclCreateIntArray(nullptr, 0);
  ASSERT_NE(empty, nullptr);
  EXPECT_EQ(aclDestroyIntArray(empty), 0);
  EXPECT_EQ(aclCreateIntArray(nullptr, 2), nullptr);
  EXPECT_THAT(TakeMessage(), HasSubstr("aclCreateIntArray"));
  EXPECT_EQ(aclCreateBoolArray(nullptr, 2), nullptr);
  EXPECT_EQ(aclCreateFloatArray(nullptr, 2), nullptr);
}

TEST_F(AclMeta, ScalarsHoldOneValueOfATypeWithASize) {
  double value = 2.5;
  aclScalar* scalar = aclCreateScalar(&value, ACL_DOUBLE);
  ASSERT_NE(scalar, nullptr);
  EXPECT_EQ(aclDestroyScalar(scalar), 0);
  EXPECT_EQ(aclDestroyScalar(scalar), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclCreateScalar(nullptr, ACL_DOUBLE), nullptr);
  EXPECT_EQ(aclCreateScalar(&value, ACL_STRING), nullptr);
  EXPECT_THAT(TakeMessage(), HasSubstr("STRING"));
}

TEST_F(AclMeta, AListOwnsItsMembers) {
  aclTensor* first = TensorArgs{{2}}.Make().release();
  aclTensor* second = TensorArgs{{3}}.Make().release();
  const aclTensor* const tensors[] = {first, second};
  aclTensorList* list = aclCreateTensorList(tensors, 2);
  uint64_t size = 0;
  EXPECT_EQ(aclGetTensorListSize(list, &size), 0);
  EXPECT_EQ(size, 2u);
  EXPECT_EQ(aclDestroyTensorList(list), 0);
  EXPECT_EQ(aclDestroyTensor(first), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclDestroyTensor(second), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclDestroyTensorList(list), ACLNN_ERR_PARAM_INVALID);

  float value = 1;
  aclScalar* scalar = aclCreateScalar(&value, ACL_FLOAT);
  const aclScalar* const scalars[] = {scalar};
  aclScalarList* scalar_list = aclCreateScalarList(scalars, 1);
  EXPECT_EQ(aclGetScalarListSize(scalar_list, &size), 0);
  EXPECT_EQ(size, 1u);
  EXPECT_EQ(aclDestroyScalarList(scalar_list), 0);
  EXPECT_EQ(aclDestroyScalar(scalar), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(AclMeta, ValuesOfArraysComeBack) {
  const std::vector<int64_t> ints = {1, -2, int64_t{1} << 40};
  const std::vector<float> floats = {0.5f, -1e30f};
  const bool bools[] = {true, false, true};
  aclIntArray* int_array = aclCreateIntArray(ints.data(), ints.size());
  aclFloatArray* float_array = aclCreateFloatArray(floats.data(), floats.size());
  aclBoolArray* bool_array = aclCreateBoolArray(bools, 3);
  std::vector<int64_t> got_ints(3);
  std::vector<float> got_floats(2);
  bool got_bools[] = {false, true, false};
  EXPECT_EQ(portaclGetIntArrayValues(int_array, got_ints.data(), 3), 0);
  EXPECT_EQ(portaclGetFloatArrayValues(float_array, got_floats.data(), 2), 0);
  EXPECT_EQ(portaclGetBoolArrayValues(bool_array, got_bools, 3), 0);
  EXPECT_EQ(got_ints, ints);
  EXPECT_EQ(got_floats, floats);
  EXPECT_THAT(got_bools, testing::ElementsAreArray(bools));

  EXPECT_EQ(portaclGetBoolArrayValues(bool_array, got_bools, 2), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(TakeMessage(), "portaclGetBoolArrayValues: size is 2, but array has 3");
  EXPECT_EQ(portaclGetIntArrayValues(int_array, got_ints.data(), 4), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(portaclGetFloatArrayValues(float_array, nullptr, 2), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(portaclGetFloatArrayValues(nullptr, got_floats.data(), 2), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclDestroyIntArray(int_array), 0);
  EXPECT_EQ(portaclGetIntArrayValues(int_array, got_ints.data(), 3), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), HasSubstr("array is not a live handle"));
  EXPECT_EQ(aclDestroyFloatArray(float_array), 0);
  EXPECT_EQ(aclDestroyBoolArray(bool_array), 0);
  aclIntArray* empty = aclCreateIntArray(nullptr, 0);
  EXPECT_EQ(portaclGetIntArrayValues(empty, nullptr, 0), 0);
  EXPECT_EQ(aclDestroyIntArray(empty), 0);
}

TEST_F(AclMeta, TheValueOfAScalarComesBackInItsType) {
  double value = 2.5, got[2] = {0, 7};
  int32_t dtype = ACL_DT_UNDEFINED;
  aclScalar* scalar = aclCreateScalar(&value, ACL_DOUBLE);
  EXPECT_EQ(portaclGetScalarValue(scalar, &dtype, nullptr, 0), 0);
  EXPECT_EQ(dtype, ACL_DOUBLE);
  EXPECT_EQ(portaclGetScalarValue(scalar, &dtype, got, sizeof got), 0);
  EXPECT_EQ(got[0], 2.5);
  EXPECT_EQ(got[1], 7);
  EXPECT_EQ(portaclGetScalarValue(scalar, &dtype, got, 4), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), HasSubstr("size is 4, but a value of DOUBLE has 8 bytes"));
  EXPECT_EQ(portaclGetScalarValue(scalar, nullptr, got, 8), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(portaclGetScalarValue(nullptr, &dtype, got, 8), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclDestroyScalar(scalar), 0);
  EXPECT_EQ(portaclGetScalarValue(scalar, &dtype, got, 8), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(AclMeta, TheMembersOfAListAreTheTensorsThatItWasMadeOf) {
  const aclTensor* const tensors[] = {TensorArgs{{2}}.Make().release(),
                                      TensorArgs{{3}}.Make().release()};
  aclTensorList* list = aclCreateTensorList(tensors, 2);
  const aclTensor* got[2] = {};
  EXPECT_EQ(portaclGetTensorListMembers(list, got, 2), 0);
  EXPECT_THAT(got, testing::ElementsAreArray(tensors));
  EXPECT_EQ(Dims(aclGetViewShape, got[1]), Shape{3});
  EXPECT_EQ(portaclGetTensorListMembers(list, got, 1), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(TakeMessage(), "portaclGetTensorListMembers: size is 1, but list has 2");
  EXPECT_EQ(aclDestroyTensorList(list), 0);
  EXPECT_EQ(portaclGetTensorListMembers(list, got, 2), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(AclMeta, DestroyingNullSucceeds) {
  EXPECT_EQ(aclDestroyTensor(nullptr), 0);
  EXPECT_EQ(aclDestroyScalar(nullptr), 0);
  EXPECT_EQ(aclDestroyIntArray(nullptr), 0);
  EXPECT_EQ(aclDestroyFloatArray(nullptr), 0);
  EXPECT_EQ(aclDestroyBoolArray(nullptr), 0);
  EXPECT_EQ(aclDestroyTensorList(nullptr), 0);
  EXPECT_EQ(aclDestroyScalarList(nullptr), 0);
}

TEST_F(AclMeta, HandlesMayBeMadeAndDestroyedOnManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      for (int round = 0; round < 500; ++round) {
        const TensorHandle tensor = TensorArgs{{i + 1, round + 1}}.Make();
        ASSERT_EQ(Dims(aclGetViewShape, tensor.get()), (Shape{i + 1, round + 1}));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace portacl_test

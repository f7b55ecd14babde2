// Warnings of deformable attention and RoiAlign: levels that do not fit and rois without an image
// give one warning a call, however many there are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "aclnnop/aclnn_multi_scale_deformable_attn_function.h"
#include "aclnnop/aclnn_roi_align_v2.h"
#include "support/api/acl_fixture.h"

namespace portacl_test::detection_warnings {
namespace {

constexpr const char* kEnd = "contributes nothing";

int CountWarnings(const std::string& log) {
  int count = 0;
  for (size_t at = log.find(kEnd); at != std::string::npos; at = log.find(kEnd, at + 1)) ++count;
  return count;
}

template <class T>
TensorHandle OnDevice(const std::vector<T>& values, const Shape& shape, aclDataType dtype,
                      std::vector<DeviceMemory>* memory) {
  const size_t bytes = values.size() * sizeof(T);
  memory->emplace_back(bytes);
  aclrtMemcpy(memory->back().get(), bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
  TensorArgs args{shape, dtype};
  args.data = memory->back().get();
  return args.Make();
}

// Runs both phases so many times and ends the process: 0 if all went well.
template <class PhaseOne, class PhaseTwo>
[[noreturn]] void RunAndExit(int calls, const PhaseOne& phase_one, const PhaseTwo& phase_two,
                             aclrtStream stream) {
  for (int i = 0; i < calls; ++i) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    if (phase_one(&size, &executor) != ACLNN_SUCCESS) std::exit(1);
    const DeviceMemory workspace(size);
    if (phase_two(workspace.get(), size, executor, stream) != ACLNN_SUCCESS) std::exit(2);
    if (aclrtSynchronizeStream(stream) != ACL_SUCCESS) std::exit(3);
  }
  std::exit(0);
}

aclrtStream StreamThatWarns() {
  setenv("PORTACL_LOG", "warn", 1);
  aclrtStream stream = nullptr;
  if (aclrtSetDevice(0) != ACL_SUCCESS || aclrtCreateStream(&stream) != ACL_SUCCESS) std::exit(4);
  return stream;
}

[[noreturn]] void AttendAndExit(int calls) {
  const aclrtStream stream = StreamThatWarns();
  std::vector<DeviceMemory> memory;
  const std::vector<float> some(64, 0.5f);
  const TensorHandle value = OnDevice(some, {1, 8, 2, 4}, ACL_FLOAT, &memory);
  // The first and the last of three levels have more pixels than there are keys.
  const std::vector<int32_t> shapes = {3, 3, 2, 2, 9, 9}, starts = {0, 0, 4};
  const TensorHandle of = OnDevice(shapes, {3, 2}, ACL_INT32, &memory);
  const TensorHandle from = OnDevice(starts, {3}, ACL_INT32, &memory);
  const TensorHandle at = OnDevice(some, {1, 2, 2, 3, 1, 2}, ACL_FLOAT, &memory);
  const TensorHandle weight = OnDevice(some, {1, 2, 2, 3, 1}, ACL_FLOAT, &memory);
  const TensorHandle output = OnDevice(some, {1, 2, 8}, ACL_FLOAT, &memory);
  RunAndExit(
      calls,
      [&](uint64_t* size, aclOpExecutor** executor) {
        return aclnnMultiScaleDeformableAttnFunctionGetWorkspaceSize(
            value.get(), of.get(), from.get(), at.get(), weight.get(), output.get(), size,
            executor);
      },
      aclnnMultiScaleDeformableAttnFunction, stream);
}

[[noreturn]] void PoolAndExit(int calls) {
  const aclrtStream stream = StreamThatWarns();
  std::vector<DeviceMemory> memory;
  const TensorHandle image =
      OnDevice(std::vector<float>(32, 1.0f), {1, 2, 4, 4}, ACL_FLOAT, &memory);
  const std::vector<float> rois = {7, 0, 0, 2, 2, 0, 0, 0, 2, 2, -1, 0, 0, 2, 2};
  const TensorHandle boxes = OnDevice(rois, {3, 5}, ACL_FLOAT, &memory);
  const TensorHandle out = OnDevice(std::vector<float>(24, 9.0f), {3, 2, 2, 2}, ACL_FLOAT, &memory);
  RunAndExit(
      calls,
      [&](uint64_t* size, aclOpExecutor** executor) {
        return aclnnRoiAlignV2GetWorkspaceSize(image.get(), boxes.get(), 2, 2, 1, 2, true,
                                               out.get(), size, executor);
      },
      aclnnRoiAlignV2, stream);
}

class DetectionWarningsDeathTest : public testing::TestWithParam<int> {
 protected:
  DetectionWarningsDeathTest() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};
INSTANTIATE_TEST_SUITE_P(Calls, DetectionWarningsDeathTest, testing::Values(1, 3));

TEST_P(DetectionWarningsDeathTest, OneACallForLevels) {
  EXPECT_EXIT(AttendAndExit(GetParam()), testing::ExitedWithCode(0),
              testing::ResultOf(CountWarnings, GetParam()));
}

TEST_P(DetectionWarningsDeathTest, OneACallForRois) {
  EXPECT_EXIT(PoolAndExit(GetParam()), testing::ExitedWithCode(0),
              testing::ResultOf(CountWarnings, GetParam()));
}

}  // namespace
}  // namespace portacl_test::detection_warnings

// Good calls on small tensors. The script spoils their fields one after the other.
#include "fuzz/spoiled_calls.h"

#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "support/api/acl_fixture.h"
#include "support/api/forward_call.h"
#include "support/api/op_call.h"

namespace portacl_fuzz {
namespace {

using portacl_test::Shape;
using portacl_test::TensorArgs;

// Sizes around 0, around a vector's length, and far beyond the memory. No sizes between, because
// with a stride of 0 they may be valid, and take for ever.
int64_t DrawSize(Script* script) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr std::array<int64_t, 16> kSizes = {0,
                                              1,
                                              2,
                                              3,
                                              4,
                                              5,
                                              8,
                                              17,
                                              -1,
                                              -7,
                                              int64_t{1} << 40,
                                              int64_t{1} << 62,
                                              kMost,
                                              kMost - 1,
                                              -kMost,
                                              std::numeric_limits<int64_t>::min()};
  return kSizes[script->Below(kSizes.size())];
}

// The memory of a call's tensors, each at the end of a block of its own, for AddressSanitizer.
class Memory {
 public:
  TensorArgs Tensor(const Shape& shape) {
    const auto elements = static_cast<size_t>(portacl_test::ProductOf(shape));
    blocks_.emplace_back(elements * sizeof(double));  // of whatever type it becomes
    TensorArgs tensor;
    tensor.shape = shape;
    tensor.data = blocks_.back().data();
    tensor.storage = Shape{static_cast<int64_t>(elements)};
    return tensor;
  }

 private:
  std::vector<std::vector<char>> blocks_;
};

// At most one call of a script's has another shape: two that fit would be much work, and right.
void SpoilShape(Script* script, Shape* shape) {
  switch (script->Below(3)) {
    case 0:
      if (!shape->empty()) (*shape)[script->Below(shape->size())] = DrawSize(script);
      break;
    case 1:
      shape->resize(script->Below(10), 1);
      break;
    default:
      shape->insert(shape->begin(), DrawSize(script));
  }
}

void SpoilTensor(Script* script, bool* shaped, TensorArgs* tensor) {
  switch (script->Below(8)) {
    case 0:
      tensor->dtype = static_cast<aclDataType>(script->Byte() - 2);
      break;
    case 1:
      tensor->format = static_cast<aclFormat>(script->Byte() - 2);
      break;
    case 2:
      tensor->offset = DrawSize(script);
      break;
    case 3:
      tensor->null = true;
      break;
    case 4:
      tensor->data = nullptr;
      break;
    case 5:
      tensor->strides = Shape(tensor->shape.size(), 1);
      for (int64_t& stride : *tensor->strides) stride = DrawSize(script);
      break;
    case 6:
      tensor->storage = Shape{static_cast<int64_t>(script->Below(3))};
      break;
    default:
      if (!*shaped) SpoilShape(script, &tensor->shape);
      *shaped = true;
  }
}

template <size_t kCount>
void SpoilTensors(Script* script, const std::array<TensorArgs*, kCount>& tensors) {
  bool shaped = false;
  for (size_t i = script->Below(3); i > 0; --i) {
    SpoilTensor(script, &shaped, tensors[script->Below(kCount)]);
  }
}

template <class Call>
void Run(const Call& call, aclrtStream stream) {
  static_cast<void>(Execute(call, stream));
}

void RunNearest(Script* script, aclrtStream stream) {
  Memory memory;
  const size_t spatial = script->Below(3) + 1;
  Shape small(spatial + 2, 3);
  Shape large(spatial + 2, 5);
  large[0] = small[0] = 1;
  large[1] = small[1] = 2;
  portacl_test::NearestCall call =
      portacl_test::NearestCall::For(memory.Tensor(large), memory.Tensor(small));
  for (double& scale : call.scales) {
    constexpr std::array kScales = {0.0, 2.0, -1.0, 1e308, 1e-308};
    scale = kScales[script->Below(kScales.size())];
  }
  if (script->Below(4) == 0) call.output_size = portacl_test::IntList();
  if (script->Below(4) == 0) SpoilShape(script, &*call.input_size);
  call.null_executor = script->Below(16) == 1;
  call.null_workspace_size = script->Below(16) == 1;
  SpoilTensors<2>(script, {&call.grad_output, &call.out});
  Run(call, stream);
}

void RunGrid(Script* script, aclrtStream stream) {
  Memory memory;
  portacl_test::GridCall call;
  call.volume = script->Below(2) == 1;
  const Shape places = call.volume ? Shape{2, 2, 3} : Shape{2, 3};
  const auto with = [&](Shape shape, const Shape& more) {
    shape.insert(shape.end(), more.begin(), more.end());
    return shape;
  };
  Shape points = with({1}, places);
  points.push_back(static_cast<int64_t>(places.size()));
  const Shape image(places.size() + 2, 2);
  Shape batch_of_one = image;
  batch_of_one[0] = 1;
  call.grad_output = memory.Tensor(with({1, 2}, places));
  call.input = memory.Tensor(batch_of_one);
  call.grid = memory.Tensor(points);
  call.input_grad = memory.Tensor(batch_of_one);
  call.grid_grad = memory.Tensor(points);
  call.interpolation = static_cast<int64_t>(script->Below(5)) - 1;
  call.padding = static_cast<int64_t>(script->Below(5)) - 1;
  call.align_corners = script->Below(2) == 1;
  call.mask = std::vector<bool>(script->Below(4), script->Below(2) == 1);
  if (script->Below(8) == 1) call.mask = std::nullopt;
  SpoilTensors<5>(script,
                  {&call.grad_output, &call.input, &call.grid, &call.input_grad, &call.grid_grad});
  Run(call, stream);
}

void RunByName(Script* script, aclrtStream stream) {
  constexpr std::array kTypes = {"GridSampler2D",
                                 "GridSampler2DGrad",
                                 "UpsampleNearestExact2dGrad",
                                 "GridSampler3D",
                                 "Cast",
                                 ""};
  Memory memory;
  portacl_test::OpCall call;
  call.type = kTypes[script->Below(kTypes.size())];
  call.null_type = script->Below(16) == 1;
  bool shaped = false;
  const auto add = [&](std::vector<portacl_test::Argument>* arguments, const Shape& shape) {
    TensorArgs tensor = memory.Tensor(shape);
    const size_t bytes = static_cast<size_t>((*tensor.storage)[0]) * sizeof(double);
    if (script->Below(4) == 0) SpoilTensor(script, &shaped, &tensor);
    if (tensor.data == nullptr) return;
    arguments->push_back({tensor.shape, tensor.dtype, tensor.format, tensor.data,
                          script->Below(8) == 1 ? 1 : bytes});
    arguments->back().null_desc = tensor.null;
    arguments->back().null_buffer = script->Below(16) == 1;
  };
  for (size_t i = script->Below(4); i > 0; --i) add(&call.inputs, {1, 2, 3, 2});
  for (size_t i = script->Below(3); i > 0; --i) add(&call.outputs, {1, 2, 3, 2});
  if (script->Below(2) == 1) call.attributes["interpolation_mode"] = std::string("bilinear");
  if (script->Below(2) == 1) call.attributes["padding_mode"] = DrawSize(script);
  if (script->Below(2) == 1) call.attributes["output_size"] = Shape{3, DrawSize(script)};
  if (script->Below(2) == 1) call.attributes["input_size"] = Shape{1, 2, 3, 2};
  static_cast<void>(RunOp(call, static_cast<portacl_test::Way>(script->Below(4)), stream));
}

}  // namespace

void RunSpoiledCall(Script* script, aclrtStream stream) {
  switch (script->Below(3)) {
    case 0:
      return RunNearest(script, stream);
    case 1:
      return RunGrid(script, stream);
    default:
      return RunByName(script, stream);
  }
}

}  // namespace portacl_fuzz

// Cases that an operator must refuse: each parameter wrong in each way, by its role.
#include <aclnn/aclnn_base.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/testing/generate_parts.h"

namespace portacl::golden {
namespace {

constexpr int32_t kNull = ACLNN_ERR_PARAM_NULLPTR, kInvalid = ACLNN_ERR_PARAM_INVALID;

class RefusalMaker {
 public:
  RefusalMaker(Case base, std::vector<Case>& cases) : base_(std::move(base)), cases_(cases) {}

  void Make() {
    for (size_t i = 0; i < base_.arguments.size(); ++i) {
      const Role role = base_.op->parameters[i].role;
      const bool optional = std::string_view(base_.op->parameters[i].name).ends_with("Optional");
      if (!optional && (IsTensor(role) || role == Role::kInts || role == Role::kMask)) {
        Add(i, kNull, [](ArgumentCase& a) { a.null = true; });
      }
      if (IsTensor(role)) MakeTensor(i);
      if (role == Role::kMode) {
        Add(i, kInvalid, [](ArgumentCase& a) { a.integers = {-1}; });
        Add(i, kInvalid, [](ArgumentCase& a) { a.integers = {7}; });
      }
      if (role == Role::kMask) {
        Add(i, kInvalid, [](ArgumentCase& a) { a.integers = {1}; });
        Add(i, kInvalid, [](ArgumentCase& a) { a.integers = {1, 1, 1}; });
      }
      if (role == Role::kReal) {
        if (PageFactsOf(*base_.op).refuses_negative_scales) {
          Add(i, kInvalid, [](ArgumentCase& a) { a.real = -1.0; });
        }
        Add(i, kInvalid, [](ArgumentCase& a) { a.real = std::nan(""); });
      }
      if (role == Role::kInts) MakeInts(i);
      if (role == Role::kInteger) Add(i, kInvalid, [](ArgumentCase& a) { a.integers = {-1}; });
    }
  }

 private:
  template <class Change>
  void Add(size_t i, int32_t status, Change change) {
    Case c = base_;
    c.expect = status;
    change(c.arguments[i]);
    cases_.push_back(std::move(c));
  }

  void MakeTensor(size_t i) {
    if (!base_.op->parameters[i].dtype) {  // indices may be int32
      Add(i, kInvalid, [](ArgumentCase& a) { a.dtype = 3; });
    }
    const auto other = static_cast<int32_t>(base_.dtype == DataType::kFloat16 ? DataType::kFloat32
                                                                              : DataType::kFloat16);
    Add(i, kInvalid, [&](ArgumentCase& a) { a.dtype = other; });
    const Shape shape = ShapeOf(i);
    if (shape.size() > 1) {  // a case has no word for a scalar
      Add(i, kInvalid, [&](ArgumentCase& a) { a.shape = Shape(shape.begin() + 1, shape.end()); });
    }
    Shape longer = shape;
    longer.push_back(1);
    Add(i, kInvalid, [&](ArgumentCase& a) { a.shape = longer; });
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (IsFree(i, axis)) continue;
      Shape other_extent = shape;
      ++other_extent[axis];
      Add(i, kInvalid, [&](ArgumentCase& a) { a.shape = other_extent; });
    }
    if (base_.op->parameters[i].role == Role::kOutput) {
      Add(i, kInvalid, [&](ArgumentCase& a) { a.strides = Shape(shape.size(), 0); });
    }
  }

  // True if no other argument determines an extent of a tensor. This holds for the image that a
  // forward operator reads, for all extents of nearest-exact's gradient, and for extents that no
  // other parameter has.
  bool IsFree(size_t i, size_t axis) const {
    const OperatorRow& op = *base_.op;
    if (op.family == Family::kOther) return StandsAlone(Symbols(op.parameters[i])[axis]);
    if (axis < 2 || op.family >= Family::kAffineGrid) return false;
    return !op.strict_sizes() || op.family == Family::kNearestExact ||
           (!op.backward() && i == op.First(Role::kInput));
  }

  bool StandsAlone(const std::string& symbol) const {
    size_t count = 0;
    for (const Parameter& parameter : base_.op->parameters) {
      const std::vector<std::string> symbols = Symbols(parameter);
      count += static_cast<size_t>(std::count(symbols.begin(), symbols.end(), symbol));
    }
    const bool number = symbol[0] >= '0' && symbol[0] <= '9';
    return count == 1 && !number;
  }

  void MakeInts(size_t i) {
    const Shape values = ShapeOf(i);
    Shape longer = values, zero = values;
    longer.push_back(1);
    zero.back() = 0;  // of an affine grid: W
    Add(i, kInvalid, [&](ArgumentCase& a) { a.integers = longer; });
    Add(i, kInvalid, [&](ArgumentCase& a) { a.integers = zero; });
    const bool warned = std::string(base_.op->parameters[i].name) == "inputSize" &&
                        base_.op->family == Family::kNearestExact;
    if (warned) return;
    Shape other = values;
    ++other.back();
    Add(i, kInvalid, [&](ArgumentCase& a) { a.integers = other; });
  }

  // The base case's shape; every symbol has its extent of SetPlainShapes().
  Shape ShapeOf(size_t i) const {
    if (base_.arguments[i].shape) return *base_.arguments[i].shape;
    return *base_.arguments[i].integers;
  }

  Case base_;
  std::vector<Case>& cases_;
};

// Modes that `open` has and a profile lacks.
void AddModesOfOpen(const Case& base, std::vector<Case>& cases) {
  if (!base.op->sampler()) return;
  GenerateOptions atlas;
  atlas.profile = "atlas-a2";
  const ModeCounts counts = ModesFor(*base.op, atlas);
  const auto add = [&](const char* mode, int64_t count) {
    if (count > 2) return;
    Case c = base;
    c.profile = atlas.profile;
    c.expect = kInvalid;
    ArgumentOf(c, mode).integers = {2};
    cases.push_back(std::move(c));
  };
  add("interpolationMode", counts.interpolations);
  add("paddingMode", counts.paddings);
}

}  // namespace

std::vector<Case> Refusals(const GenerateOptions& options) {
  std::vector<Case> cases;
  for (const OperatorRow* row : RowsFor(options)) {
    Case base = EmptyCase(*row, options);
    SetPlainShapes(base);
    RefusalMaker(base, cases).Make();
    AddModesOfOpen(base, cases);
  }
  return Named("refusal", std::move(cases));
}

}  // namespace portacl::golden

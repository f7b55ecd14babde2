// The checks of the affine grid and of its gradient, except the checks on memory.
#include <algorithm>
#include <string>
#include <utility>

#include "ops/call.h"
#include "ops/refusal.h"
#include "ops/shared_checks.h"

namespace portacl::ops {
namespace {

using base::Dims;
using base::Status;

class Checker {
 public:
  explicit Checker(const Call& call)
      : call_(call),
        refusals_(call.op(), call.surface()),
        backward_(call.signature().op == Op::kAffineGridBackward) {}

  Status Run() const {
    const SharedChecks shared(call_);
    PORTACL_RETURN_IF_ERROR(shared.Tensors());
    PORTACL_RETURN_IF_ERROR(shared.Formats());
    PORTACL_RETURN_IF_ERROR(Theta());
    PORTACL_RETURN_IF_ERROR(Grid());
    return Size();
  }

 private:
  const Dims& theta() const { return (backward_ ? call_.output(0) : call_.input(0))->shape; }
  const Dims& grid() const { return (backward_ ? call_.input(0) : call_.output(0))->shape; }
  const char* theta_name() const { return backward_ ? call_.output_name(0) : call_.input_name(0); }
  const char* grid_name() const { return backward_ ? call_.input_name(0) : call_.output_name(0); }
  Rule ThetaRule() const { return backward_ ? Rule::kOutput : Rule::kInput; }
  Rule GridRule() const { return backward_ ? Rule::kInput : Rule::kOutput; }

  Status Theta() const {
    if (theta().rank() != 3) {
      return refusals_.Refuse(ThetaRule(), "{} has shape {} of rank {}, but must have rank 3",
                              theta_name(), theta().ToString(), theta().rank());
    }
    const auto* const size = call_.ints(0);
    if (size != nullptr && size->size() != 4 && size->size() != 5) {
      return refusals_.Refuse(Rule::kAttribute, "{} has {} elements, but must have 4 or 5",
                              call_.ints_name(0), size->size());
    }
    const int64_t axes = size != nullptr ? static_cast<int64_t>(size->size()) - 2 : theta()[1];
    const bool fits = (axes == 2 || axes == 3) && theta()[1] == axes && theta()[2] == axes + 1 &&
                      (size == nullptr || (*size)[0] == theta()[0]);
    if (fits) return {};
    return refusals_.Refuse(ThetaRule(), "{} has shape {}, but must be {}", theta_name(),
                            theta().ToString(), Wanted(size));
  }

  std::string Wanted(const std::vector<int64_t>* size) const {
    if (size == nullptr) return "(N, 2, 3) or (N, 3, 4)";
    return fmt::format("({}, {}), since {} is {}", (*size)[0], size->size() == 4 ? "2, 3" : "3, 4",
                       call_.ints_name(0), SizeText(*size));
  }
  static std::string SizeText(const std::vector<int64_t>& size) {
    return Dims(size.data(), static_cast<int>(size.size())).ToString();
  }

  Status Grid() const {
    const auto* const size = call_.ints(0);
    const auto axes = static_cast<int>(theta()[1]);
    bool fits = grid().rank() == axes + 2 && grid()[axes + 1] == axes && grid()[0] == theta()[0];
    for (int axis = 1; fits && size != nullptr && axis <= axes; ++axis) {
      fits = grid()[axis] == (*size)[static_cast<size_t>(axis) + 1];
    }
    if (!fits) {
      return refusals_.Refuse(GridRule(), "{} has shape {}, but {} {}{} asks for {}", grid_name(),
                              grid().ToString(), theta_name(), theta().ToString(),
                              size == nullptr ? "" : fmt::format(" with size {}", SizeText(*size)),
                              axes == 2 ? "(N, H, W, 2)" : "(N, D, H, W, 3)");
    }
    if (size != nullptr) return {};
    for (int axis = 1; axis <= axes; ++axis) {
      if (grid()[axis] >= 1) continue;
      return refusals_.Refuse(GridRule(), "{} has shape {}, but its extents must be at least 1",
                              grid_name(), grid().ToString());
    }
    return {};
  }

  Status Size() const {
    const auto* const size = call_.ints(0);
    if (size == nullptr) return {};
    constexpr int64_t kLongest = 100 * 1000;  // the page states it, but no error
    for (size_t i = 0; i < size->size(); ++i) {
      if ((*size)[i] >= 1) continue;
      return refusals_.Refuse(Rule::kAttribute, "{}[{}] is {}, but must be at least 1",
                              call_.ints_name(0), i, (*size)[i]);
    }
    if (*std::max_element(size->begin(), size->end()) <= kLongest) return {};
    return refusals_.Warn(Rule::kAttribute,
                          fmt::format("{} is {}, but the page's longest is {}", call_.ints_name(0),
                                      SizeText(*size), kLongest));
  }

  const Call& call_;
  const Refusals refusals_;
  const bool backward_;
};

}  // namespace

Status CheckAffineGrid(const Call& call) { return Checker(call).Run(); }

}  // namespace portacl::ops

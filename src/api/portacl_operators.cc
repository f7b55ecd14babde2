// The planning functions of portacl/portacl.h, made from ops/operator_list.inc. A function does not
// compile if the header does not declare it, or declares it otherwise.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/native_plan.h"
#include "api/shim.h"
#include "ops/call.h"
#include "ops/operator_list.h"

namespace {

using portacl::base::Status;
using portacl::base::TensorDesc;
using portacl::ops::Call;
using portacl::ops::Signature;

static_assert(std::is_trivially_destructible_v<TensorDesc>);

// Makes a call from the arguments of a planning function, in their order.
class ArgumentReader {
 public:
  ArgumentReader(const Signature& signature, const char* op)
      : call_(signature, portacl::ops::Surface::kNative, op) {}

  // Null stays null; the operator decides if that is an error.
  void Add(const portaclTensor* tensor) {
    const char* const name = call_.parameter(call_.size()).name;
    call_.Add(tensor == nullptr ? nullptr : Read(name, *tensor));
  }
  void Add(int32_t value) { call_.Add(int64_t{value}); }
  void Add(int64_t value) { call_.Add(value); }
  void Add(double value) { call_.Add(value); }
  // Adds one value for each symbol of the parameter. Null stays null.
  void Add(const int64_t* values) {
    if (values == nullptr) return call_.Add(static_cast<const std::vector<int64_t>*>(nullptr));
    const size_t size = PartsOf(call_.parameter(call_.size()));
    call_.Add(&(lists_[list_count_++] = std::vector<int64_t>(values, values + size)));
  }
  // Adds one value for each spatial axis; zeros if the pointer is null.
  void Add(const double* scales) {
    std::array<double, 3> read{};
    if (scales != nullptr) std::copy_n(scales, call_.axes(), read.begin());
    call_.Add(read);
  }

  Status Plan(std::shared_ptr<const portacl::ops::Plan>* plan) {
    if (!status_.ok()) return std::move(status_);
    return MakePlan(call_, plan);
  }

 private:
  const TensorDesc* Read(const char* name, const portaclTensor& tensor) {
    void* const place = &descs_[count_++ * sizeof(TensorDesc)];
    if (tensor.rank < 1 || tensor.rank > PORTACL_MAX_RANK) {
      Fail(
          "{} has rank {}, but must have 1 to {} (a C++ view gets rank -1 where shape and strides "
          "differ in length)",
          name, tensor.rank, static_cast<int>(PORTACL_MAX_RANK));
      return new (place) TensorDesc;
    }
    const TensorDesc& desc =
        *new (place) TensorDesc{.dtype = static_cast<portacl::base::DType>(tensor.dtype),
                                .shape = portacl::base::Dims(tensor.shape, tensor.rank),
                                .strides = portacl::base::Dims(tensor.strides, tensor.rank),
                                .storage_shape = {},
                                .has_storage = false,
                                .data = tensor.data};
    for (int i = 0; i < tensor.rank; ++i) {
      if (tensor.shape[i] < 0) {
        Fail("{} has shape {}, but extents must be at least 0", name, desc.shape.ToString());
      }
    }
    if (status_.ok() && desc.NumElements() < 0) {
      Fail("{} has shape {}, whose number of elements exceeds 64 bits", name,
           desc.shape.ToString());
    }
    return &desc;
  }

  template <class... Args>
  void Fail(fmt::format_string<Args...> text, Args&&... args) {
    if (!status_.ok()) return;
    status_ =
        Status(PORTACL_ERROR_INVALID,
               fmt::format("{}: {}", call_.op(), fmt::format(text, std::forward<Args>(args)...)));
  }

  Call call_;
  size_t count_ = 0;
  size_t list_count_ = 0;
  // Room for TensorDesc objects, not cleared: clearing would take a tenth of a plan's time.
  alignas(TensorDesc) std::byte descs_[portacl::ops::kMaxTensors * sizeof(TensorDesc)];
  std::array<std::vector<int64_t>, 4> lists_;
  Status status_;
};

// Plans with the arguments that read(reader) adds, and gives the plan to the caller.
template <class Read>
int32_t MakeNativePlan(const Signature& signature, portaclPlan** plan, const Read& read) {
  if (plan != nullptr) *plan = nullptr;
  const char* const op = RowOf(signature.op).title;
  return portacl::api::GuardedNative(op, [&]() -> int32_t {
    if (plan == nullptr) {
      return portacl::base::Report(Status(PORTACL_ERROR_NULL, fmt::format("{}: plan is null", op)));
    }
    const portacl::ops::CallTimer timer;
    ArgumentReader reader(signature, op);
    read(reader);
    std::shared_ptr<const portacl::ops::Plan> made;
    if (const Status status = reader.Plan(&made); !status.ok()) {
      return portacl::base::Report(status);
    }
    timer.Planned(*made);
    *plan = new portaclPlan{std::move(made)};
    return PORTACL_OK;
  });
}

// A parameter's type by its kind.
#define PORTACL_KIND(Kind, form, aclnn, native) using Kind = native;
PORTACL_KINDS(PORTACL_KIND)

}  // namespace

extern "C" {

#define PORTACL_DECLARE(Kind, name, ...) Kind name,
#define PORTACL_READ(Kind, name, ...) reader.Add(name);

#define PORTACL_NATIVE(function, Name, traits, ...)                                               \
  static_assert(std::is_function_v<decltype(function)>);                                          \
  int32_t function(PORTACL_FOR_EACH(PORTACL_DECLARE, __VA_ARGS__) portaclPlan** plan) {           \
    return MakeNativePlan(portacl::ops::signatures::function, plan, [&](ArgumentReader& reader) { \
      PORTACL_FOR_EACH(PORTACL_READ, __VA_ARGS__)                                                 \
    });                                                                                           \
  }
#include "ops/operator_list.inc"

}  // extern "C"

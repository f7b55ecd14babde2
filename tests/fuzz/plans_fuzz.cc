// Plans of every function of the native API, never run: tensors of up to 2^62 elements an axis,
// with any strides. A plan is made, or refused, in a second at most. Tensors have few elements in
// memory: axes of more repeat the same ones.
//
// An input is the function, the implementation, the outputs left out, then extents, strides and the
// other arguments in the order of the parameters.
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "fuzz/script.h"
#include "portacl/portacl.h"
#include "src/ops/operator_list.h"

namespace portacl_fuzz {
namespace {

using portacl::ops::Kind;
using portacl::ops::Parameter;
using portacl::ops::Signature;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_UNDEFINED__)
constexpr time_t kSeconds = 10;
#elif defined(__has_feature)
constexpr time_t kSeconds = __has_feature(address_sanitizer) ? 10 : 1;
#else
constexpr time_t kSeconds = 1;
#endif

// While it lives: the process ends by SIGVTALRM if it computes for longer than kSeconds.
class TimeLimit {
 public:
  TimeLimit() { Set(kSeconds); }
  ~TimeLimit() { Set(0); }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  static void Set(time_t seconds) {
    const itimerval limit = {.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
    setitimer(ITIMER_VIRTUAL, &limit, nullptr);
  }
};

// The arguments of one call.
class Arguments {
 public:
  Arguments(const Signature& function, Script* script) : function_(function), script_(*script) {
    constexpr std::array<int32_t, 4> kTypes = {PORTACL_FLOAT32, PORTACL_FLOAT16, PORTACL_BFLOAT16,
                                               PORTACL_FLOAT64};
    dtype_ = kTypes[script_.Below(kTypes.size())];
    left_out_ = script_.Byte();
    axes_ =
        function.traits.axes != 0 ? function.traits.axes : static_cast<int>(script_.Below(3)) + 1;
    // Symbols of outputs first: an output has memory, and few elements.
    for (const bool outputs : {true, false}) {
      size_t number = 0;
      for (const Parameter& parameter : function.parameters) {
        if (!IsTensor(parameter.kind)) continue;
        const bool output = parameter.kind == Kind::kOutput;
        if (output == outputs) Draw(parameter, output, number);
        ++number;
      }
    }
  }

  // The next one, in the order of the parameters, by its type.
  template <class T>
  T Next() {
    const Parameter& parameter = function_.parameters[next_++];
    if constexpr (std::is_same_v<T, const portaclTensor*>) {
      const auto found = tensors_.find(parameter.name);
      return found == tensors_.end() ? nullptr : &found->second;
    } else if constexpr (std::is_same_v<T, const double*>) {
      if (script_.Below(2) == 0) return nullptr;
      constexpr std::array kScales = {0.0, 0.5, 1.0, 2.0, 1e9, 1e-9, 1e18, 1e-18, 1e300, 1e-300};
      for (double& scale : scales_) scale = kScales[script_.Below(kScales.size())];
      return scales_.data();
    } else if constexpr (std::is_same_v<T, const int64_t*>) {
      if (script_.Below(8) == 0) return nullptr;
      constexpr std::array<int64_t, 8> kValues = {
          0, 1, 2, 3, 7, -1, int64_t{1} << 40, std::numeric_limits<int64_t>::max()};
      auto& list = lists_.emplace_back();
      for (int64_t& value : list) value = kValues[script_.Below(kValues.size())];
      return list.data();
    } else {
      return static_cast<T>(script_.Below(3));
    }
  }

 private:
  using Shape = std::vector<int64_t>;

  void Draw(const Parameter& parameter, bool output, size_t number) {
    if (parameter.unset != nullptr && (left_out_ >> number & 1) != 0) return;
    Shape shape;
    for (const std::string_view symbol : SymbolsOf(parameter)) {
      shape.push_back(ExtentOf(symbol, output));
    }
    portaclTensor& tensor = tensors_[parameter.name];
    // Nobody reads them: only where they lie counts.
    tensor.data = reinterpret_cast<void*>((number + 1) << 44);
    tensor.dtype = dtype_;
    tensor.rank = static_cast<int32_t>(shape.size());
    const size_t layout = script_.Below(4);
    std::vector<size_t> inner_first;
    for (size_t i = shape.size(); i-- > 0;) inner_first.push_back(i);
    if (layout == 1 && shape.size() > 2) {  // channels last
      inner_first.erase(inner_first.end() - 2);
      inner_first.insert(inner_first.begin(), 1);
    }
    uint64_t next = 1;
    for (const size_t i : inner_first) {
      tensor.shape[i] = shape[i];
      tensor.strides[i] = static_cast<int64_t>(next);
      next *= static_cast<uint64_t>(shape[i]);
    }
    if (output) return;
    int64_t room = int64_t{1} << 20;
    for (const size_t i : inner_first) {
      constexpr std::array<int64_t, 8> kStrides = {
          0, 0, 0, 1, -1, 3, int64_t{1} << 40, std::numeric_limits<int64_t>::max()};
      const size_t which = layout == 2  ? 0
                           : layout < 2 ? kStrides.size()
                                        : script_.Below(2 * kStrides.size());
      if (which < kStrides.size()) tensor.strides[i] = kStrides[which];
      if (shape[i] > room) tensor.strides[i] = 0;
      if (tensor.strides[i] != 0) room /= shape[i];
    }
  }

  std::vector<std::string_view> SymbolsOf(const Parameter& parameter) const {
    std::vector<std::string_view> symbols;
    const auto spatial = [&](bool resized) {
      static constexpr std::array<std::array<const char*, 3>, 2> kAxes = {
          {{"D", "H", "W"}, {"OD", "OH", "OW"}}};
      for (int axis = 3 - axes_; axis < 3; ++axis) {
        symbols.push_back(kAxes[resized ? 1 : 0][static_cast<size_t>(axis)]);
      }
    };
    if (*parameter.symbols == '\0') {  // of the affine grid: (N, axes, axes + 1), (N, ..., axes)
      const bool theta = std::string_view(parameter.name).starts_with("theta");
      symbols.push_back("N");
      if (!theta) spatial(true);
      symbols.push_back(axes_ == 2 ? "2" : "3");
      if (theta) symbols.push_back(axes_ == 2 ? "3" : "4");
      return symbols;
    }
    for (size_t i = 0; i < PartsOf(parameter); ++i) {
      const std::string_view symbol = PartOf(parameter, i);
      if (symbol.back() == '*') {
        spatial(symbol.size() > 1);
      } else {
        symbols.push_back(symbol);
      }
    }
    return symbols;
  }

  int64_t ExtentOf(std::string_view symbol, bool output) {
    if (symbol[0] >= '0' && symbol[0] <= '9') return symbol[0] - '0';
    if (const auto found = extents_.find(symbol); found != extents_.end()) return found->second;
    int64_t extent = 0;
    if (output) {
      constexpr std::array<int64_t, 12> kExtents = {1, 2, 3, 4, 5, 8, 16, 17, 33, 64, 225, 1000};
      extent = kExtents[script_.Below(kExtents.size())];
      if (room_ < extent) extent = 1;
      room_ /= extent;
    } else {
      extent = std::max<int64_t>(
          1, (int64_t{1} << script_.Below(63)) + static_cast<int64_t>(script_.Below(3)) - 1);
      extent = std::min(extent, int64_t{1} << 62);
    }
    return extents_[symbol] = extent;
  }

  const Signature& function_;
  Script& script_;
  int32_t dtype_ = PORTACL_FLOAT32;
  int axes_ = 0;
  uint8_t left_out_ = 0;
  int64_t room_ = int64_t{1} << 20;  // elements of an output
  std::map<std::string_view, int64_t> extents_;
  std::map<std::string_view, portaclTensor> tensors_;
  std::array<double, 3> scales_{};
  std::deque<std::array<int64_t, 4>> lists_;
  size_t next_ = 0;
};

template <class... Parameters>
int32_t CallOf(int32_t (*function)(Parameters...), Arguments* arguments, portaclPlan** plan) {
  using Types = std::tuple<Parameters...>;
  return [&]<size_t... i>(std::index_sequence<i...>) {
    // The elements of a braced list are evaluated from the left to the right.
    const std::tuple<std::tuple_element_t<i, Types>...> values{
        arguments->Next<std::tuple_element_t<i, Types>>()...};
    const TimeLimit limit;
    return function(std::get<i>(values)..., plan);
  }
  (std::make_index_sequence<sizeof...(Parameters) - 1>());
}

struct Function {
  const Signature* signature;
  int32_t (*call)(Arguments* arguments, portaclPlan** plan);
};
constexpr Function kFunctions[] = {
#define PORTACL_NATIVE(function, ...)   \
  {&portacl::ops::signatures::function, \
   [](Arguments* arguments, portaclPlan** plan) { return CallOf(&function, arguments, plan); }},
#include "src/ops/operator_list.inc"
};

}  // namespace
}  // namespace portacl_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace portacl_fuzz;
  Script script(Bytes(data, size));
  const Function& function = kFunctions[script.Below(std::size(kFunctions))];
  constexpr std::array kImpls = {"", "ref", "avx2", "avx512"};
  portaclSetImpl(kImpls[script.Below(kImpls.size())]);
  portaclSetNumThreads(script.Below(2) == 0 ? 1 : 16);
  Arguments arguments(*function.signature, &script);
  portaclPlan* plan = nullptr;
  const int32_t status = function.call(&arguments, &plan);
  Require((status == PORTACL_OK) == (plan != nullptr), "a call has a plan or an error");
  Require(status != PORTACL_ERROR_INTERNAL, "no refusal is the library's fault");
  portaclPlanDestroy(plan);
  return 0;
}

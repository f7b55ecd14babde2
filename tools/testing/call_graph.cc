// Descriptions, buffers and attributes from a call's arguments, by the graph operator's signature.
#include "tools/testing/call_graph.h"

#include <acl/acl.h>
#include <acl/acl_op_compiler.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/cli_error.h"

namespace portacl::golden {
namespace {

void Check(int status, const char* function) {
  if (status == ACL_SUCCESS) return;
  const char* const message = aclGetRecentErrMsg();
  cli::ThrowOnStatus(status, function, message != nullptr ? message : "");
}

template <class T, auto destroy>
struct Delete {
  void operator()(T* object) const { static_cast<void>(destroy(object)); }
};
using Memory = std::unique_ptr<void, Delete<void, aclrtFree>>;
using Buffer = std::unique_ptr<aclDataBuffer, Delete<aclDataBuffer, aclDestroyDataBuffer>>;
using Description = std::unique_ptr<aclTensorDesc, Delete<aclTensorDesc, aclDestroyTensorDesc>>;
using Attributes = std::unique_ptr<aclopAttr, Delete<aclopAttr, aclopDestroyAttr>>;

// The tensors of one side of a call by name, which takes dense ones only.
class Side {
 public:
  void Add(int32_t dtype, const Shape& shape, const std::vector<std::byte>& bytes) {
    void* memory = nullptr;
    if (!bytes.empty()) {
      Check(aclrtMalloc(&memory, bytes.size(), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    }
    memory_.emplace_back(memory);
    if (!bytes.empty()) {
      Check(
          aclrtMemcpy(memory, bytes.size(), bytes.data(), bytes.size(), ACL_MEMCPY_HOST_TO_DEVICE),
          "aclrtMemcpy");
    }
    Describe(dtype, shape, memory, bytes.size());
  }

  // A list of sizes, which stays in host memory.
  void AddSizes(std::vector<int64_t> sizes) {
    sizes_ = std::move(sizes);
    Describe(ACL_INT64, {static_cast<int64_t>(sizes_.size())}, sizes_.data(),
             sizes_.size() * sizeof(int64_t));
    Check(aclSetTensorPlaceMent(descriptions_.back().get(), ACL_MEMTYPE_HOST),
          "aclSetTensorPlaceMent");
  }

  std::vector<std::byte> Take(size_t i) const {
    std::vector<std::byte> bytes(sizes_in_bytes_.at(i));
    if (!bytes.empty()) {
      Check(aclrtMemcpy(bytes.data(), bytes.size(), memory_.at(i).get(), bytes.size(),
                        ACL_MEMCPY_DEVICE_TO_HOST),
            "aclrtMemcpy");
    }
    return bytes;
  }

  int count() const { return static_cast<int>(buffers_.size()); }
  std::vector<const aclTensorDesc*> descriptions() const {
    return Pointers<const aclTensorDesc>(descriptions_);
  }
  std::vector<aclDataBuffer*> buffers() const { return Pointers<aclDataBuffer>(buffers_); }

 private:
  template <class T, class Owners>
  static std::vector<T*> Pointers(const Owners& owners) {
    std::vector<T*> pointers;
    for (const auto& owner : owners) pointers.push_back(owner.get());
    return pointers;
  }

  void Describe(int32_t dtype, const Shape& shape, void* data, size_t bytes) {
    descriptions_.emplace_back(aclCreateTensorDesc(static_cast<aclDataType>(dtype),
                                                   static_cast<int>(shape.size()), shape.data(),
                                                   ACL_FORMAT_ND));
    if (descriptions_.back() == nullptr) Check(ACL_ERROR_INVALID_PARAM, "aclCreateTensorDesc");
    buffers_.emplace_back(aclCreateDataBuffer(data, bytes));
    sizes_in_bytes_.push_back(bytes);
  }

  std::vector<Memory> memory_;
  std::vector<Description> descriptions_;
  std::vector<Buffer> buffers_;
  std::vector<size_t> sizes_in_bytes_;
  std::vector<int64_t> sizes_;
};

// Gives a call's arguments by the parameters of a graph operator.
class GraphArguments {
 public:
  GraphArguments(const Call& call, const ops::Signature& type) : call_(call), type_(type) {
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      const Parameter& parameter = call.op->parameters[i];
      const bool number = parameter.role == Role::kInteger && *parameter.pattern != '\0';
      if (!IsTensor(parameter.role) && parameter.role != Role::kInts && !number) continue;
      const std::vector<std::string> symbols = Symbols(parameter);
      const Shape& shape = IsTensor(parameter.role) ? call.arguments[i].tensor.shape()
                                                    : Shape(call.arguments[i].integers);
      for (size_t axis = 0; axis < std::min(symbols.size(), shape.size()); ++axis) {
        extents_.emplace(symbols[axis], shape[axis]);
      }
    }
  }

  void Fill(Side& inputs, Side& outputs, aclopAttr* attributes) const {
    std::map<ops::Form, size_t> counts;
    for (const ops::Parameter& p : type_.parameters) {
      const size_t index = counts[ops::FormOf(p.kind)]++;
      if (*p.name == '\0') continue;
      if (ops::IsWritten(p.kind)) {
        AddTensor(Role::kOutput, index, p, outputs);
      } else if (p.kind == ops::Kind::kSizes) {
        inputs.AddSizes(ListOf(p));
      } else if (ops::IsInput(p.kind)) {
        AddTensor(Role::kInput, index, p, inputs);
      } else {
        SetAttribute(attributes, p, index);
      }
    }
  }

  // Stores the results in the call's tensors.
  void Take(const Side& outputs, Call& call) const {
    const std::vector<size_t> results = call.With(Role::kOutput);
    size_t index = 0;
    for (const ops::Parameter& p : type_.parameters) {
      if (!ops::IsWritten(p.kind) || *p.name == '\0' || index == results.size()) continue;
      ViewTensor& own = call.arguments[results[index]].tensor;
      std::optional<ViewTensor> moved = Moved(p, results[index]);
      (moved ? *moved : own).SetDense(outputs.Take(index++));
      if (moved) own.bytes() = std::move(moved->bytes());
    }
  }

 private:
  // A tensor that the call lacks has only a shape that counts.
  void AddTensor(Role role, size_t index, const ops::Parameter& p, Side& side) const {
    const std::vector<size_t> tensors = call_.With(role);
    if (index < tensors.size()) {
      const std::optional<ViewTensor> moved = Moved(p, tensors[index]);
      const ViewTensor& tensor = moved ? *moved : call_.arguments[tensors[index]].tensor;
      return side.Add(tensor.dtype(), tensor.shape(), tensor.Dense());
    }
    const int32_t dtype = call_.input().dtype();
    const Shape shape = ListOf(p);
    side.Add(dtype, shape,
             std::vector<std::byte>(cli::CountBytes(shape, AclElementSize(dtype), p.name)));
  }

  // The call's argument i with its axes in the graph operator's order; none if no axis moves.
  std::optional<ViewTensor> Moved(const ops::Parameter& p, size_t i) const {
    const std::vector<size_t> axes = AxesOf(p, i);
    if (std::is_sorted(axes.begin(), axes.end())) return std::nullopt;
    return call_.arguments[i].tensor.Permuted(axes);
  }

  // The order in which the graph operator has the axes of the call's argument i: by their symbols.
  std::vector<size_t> AxesOf(const ops::Parameter& p, size_t i) const {
    std::vector<size_t> axes(call_.arguments[i].tensor.shape().size());
    std::iota(axes.begin(), axes.end(), size_t{0});
    const std::vector<std::string> symbols = Symbols(call_.op->parameters[i]);
    if (symbols.size() != axes.size() || ops::PartsOf(p) != axes.size()) return axes;
    std::vector<size_t> found;
    for (size_t part = 0; part < axes.size(); ++part) {
      const auto at = std::find(symbols.begin(), symbols.end(), ops::PartOf(p, part));
      if (at == symbols.end()) return axes;
      found.push_back(static_cast<size_t>(at - symbols.begin()));
    }
    return found;
  }

  // Extents by symbol; if the list names none, the call's own.
  std::vector<int64_t> ListOf(const ops::Parameter& p) const {
    if (ops::PartsOf(p) == 0) return call_.arguments[call_.op->First(Role::kInts)].integers;
    std::vector<int64_t> values;
    for (size_t i = 0; i < ops::PartsOf(p); ++i) {
      const std::string symbol(ops::PartOf(p, i));
      values.push_back(symbol == "1" ? 1 : extents_.at(symbol));
    }
    return values;
  }

  // As they are given: the library decides what a scale becomes.
  std::vector<float> GivenScales() const {
    std::vector<float> scales;
    for (const size_t i : call_.With(Role::kReal)) {
      const double scale = call_.arguments[i].real;
      if (scale != 0) scales.push_back(static_cast<float>(scale));
    }
    return scales;
  }

  // Flag 0 is alignCorners. The call's function lacks the other flags; among them, only the flags
  // for centres of pixels change a graph operator's default.
  bool FlagOf(size_t index) const {
    const std::vector<size_t> flags = call_.With(Role::kFlag);
    const bool first = !flags.empty() && call_.arguments[flags[0]].integers.at(0) != 0;
    if (index == 0) return first;
    return call_.op->weighs() && !first;
  }

  void SetAttribute(aclopAttr* attributes, const ops::Parameter& p, size_t index) const {
    const std::vector<float> scales = GivenScales();
    switch (p.kind) {
      case ops::Kind::kInts: {
        const std::vector<int64_t> list = ListOf(p);
        return Check(
            aclopSetAttrListInt(attributes, p.name, static_cast<int>(list.size()), list.data()),
            "aclopSetAttrListInt");
      }
      case ops::Kind::kInt: {
        // A flag of the other APIs says whether it is aligned.
        if (std::string_view(p.name) == "roi_end_mode") {
          return Check(aclopSetAttrInt(attributes, p.name, FlagOf(0) ? 2 : 0), "aclopSetAttrInt");
        }
        const size_t i = call_.With(Role::kInteger).at(index);
        return Check(aclopSetAttrInt(attributes, p.name, call_.arguments[i].integers.at(0)),
                     "aclopSetAttrInt");
      }
      case ops::Kind::kFloat:
        if (!call_.op->resizes()) {
          const double real = call_.arguments[call_.With(Role::kReal).at(index)].real;
          return Check(aclopSetAttrFloat(attributes, p.name, static_cast<float>(real)),
                       "aclopSetAttrFloat");
        }
        if (index >= scales.size()) return;
        return Check(aclopSetAttrFloat(attributes, p.name, scales[index]), "aclopSetAttrFloat");
      case ops::Kind::kFloats:
        if (scales.empty()) return;
        return Check(aclopSetAttrListFloat(attributes, p.name, static_cast<int>(scales.size()),
                                           scales.data()),
                     "aclopSetAttrListFloat");
      case ops::Kind::kWord:
      case ops::Kind::kMode: {
        if (call_.With(Role::kMode).empty()) return;  // this API's own, which has a default
        const int64_t mode = call_.arguments[call_.With(Role::kMode).at(index)].integers.at(0);
        const std::string word(ops::PartOf(p, static_cast<size_t>(mode)));
        return Check(aclopSetAttrString(attributes, p.name, word.c_str()), "aclopSetAttrString");
      }
      default:
        if (std::string_view(p.name) == "modulated") {  // the offsets' planes tell it elsewhere
          const int64_t points = extents_.at("DG") * extents_.at("KH") * extents_.at("KW");
          const bool three = extents_.at("F") == 3 * points;
          return Check(aclopSetAttrBool(attributes, p.name, three ? 1 : 0), "aclopSetAttrBool");
        }
        return Check(aclopSetAttrBool(attributes, p.name, FlagOf(index) ? 1 : 0),
                     "aclopSetAttrBool");
    }
  }

  const Call& call_;
  const ops::Signature& type_;
  std::map<std::string, int64_t> extents_;
};

}  // namespace

void RunGraph(Call& call, const ops::Signature& type, void* stream, Timing& timing) {
  Side inputs, outputs;
  const Attributes attributes(aclopCreateAttr());
  const GraphArguments arguments(call, type);
  arguments.Fill(inputs, outputs, attributes.get());
  const auto sources = inputs.buffers();
  const std::vector<const aclDataBuffer*> read(sources.begin(), sources.end());
  const auto read_descriptions = inputs.descriptions(), descriptions = outputs.descriptions();
  std::vector<aclDataBuffer*> written = outputs.buffers();
  timing.Run([&] {
    Check(
        aclopCompileAndExecute(type.name, inputs.count(), read_descriptions.data(), read.data(),
                               outputs.count(), descriptions.data(), written.data(),
                               attributes.get(), ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, stream),
        "aclopCompileAndExecute");
    Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  });
  arguments.Take(outputs, call);
}

}  // namespace portacl::golden

// Calls of operators by graph name in tests, through each of the four ways to run them.
#ifndef PORTACL_TESTS_SUPPORT_API_OP_CALL_H_
#define PORTACL_TESTS_SUPPORT_API_OP_CALL_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "acl/acl_op_compiler.h"
#include "support/api/acl_fixture.h"

namespace portacl_test {

struct OpFree {
  void operator()(aclTensorDesc* p) const { aclDestroyTensorDesc(p); }
  void operator()(aclDataBuffer* p) const { aclDestroyDataBuffer(p); }
  void operator()(aclopAttr* p) const { aclopDestroyAttr(p); }
  void operator()(aclopHandle* p) const { aclopDestroyHandle(p); }
};
template <class T>
using Owned = std::unique_ptr<T, OpFree>;

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
using Attribute = std::variant<Ints, Floats, float, std::string, bool, int64_t>;

// One tensor of a call: a description and a buffer.
struct Argument {
  Shape shape;
  aclDataType dtype = ACL_FLOAT;
  aclFormat format = ACL_FORMAT_ND;
  void* data = nullptr;
  size_t bytes = 0;
  std::optional<aclFormat> memory_format = std::nullopt;  // of the memory, where it is another
  enum class Place { kDevice, kHost, kConstant } place = Place::kDevice;  // of inputs
  bool null_desc = false;
  bool null_buffer = false;
};

enum class Way { kCompileAndExecute, kCompileAndExecuteV2, kExecuteV2, kHandle };

struct OpCall {
  std::string type;
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::map<std::string, Attribute> attributes;
  bool null_type = false;
};

inline void Set(aclopAttr* attr, const std::string& name, const Attribute& value) {
  const char* key = name.c_str();
  aclError code = -1;
  if (const auto* ints = std::get_if<Ints>(&value)) {
    code = aclopSetAttrListInt(attr, key, static_cast<int>(ints->size()), ints->data());
  } else if (const auto* floats = std::get_if<Floats>(&value)) {
    code = aclopSetAttrListFloat(attr, key, static_cast<int>(floats->size()), floats->data());
  } else if (const auto* real = std::get_if<float>(&value)) {
    code = aclopSetAttrFloat(attr, key, *real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    code = aclopSetAttrString(attr, key, text->c_str());
  } else if (const auto* flag = std::get_if<bool>(&value)) {
    code = aclopSetAttrBool(attr, key, *flag ? 1 : 0);
  } else {
    code = aclopSetAttrInt(attr, key, std::get<int64_t>(value));
  }
  EXPECT_EQ(code, ACL_SUCCESS);
}

inline const char* NameOf(Way way) {
  static constexpr const char* kNames[] = {"CompileAndExecute", "CompileAndExecuteV2", "ExecuteV2",
                                           "Handle"};
  return kNames[static_cast<size_t>(way)];
}

// One side of a call as the functions want it.
class OpSide {
 public:
  explicit OpSide(const std::vector<Argument>& arguments) {
    for (const Argument& a : arguments) {
      owned_descs_.emplace_back(a.null_desc
                                    ? nullptr
                                    : aclCreateTensorDesc(a.dtype, static_cast<int>(a.shape.size()),
                                                          a.shape.data(), a.format));
      if (a.memory_format) {
        EXPECT_EQ(aclSetTensorFormat(owned_descs_.back().get(), *a.memory_format), ACL_SUCCESS);
      }
      if (a.place == Argument::Place::kHost) {
        EXPECT_EQ(aclSetTensorPlaceMent(owned_descs_.back().get(), ACL_MEMTYPE_HOST), ACL_SUCCESS);
      } else if (a.place == Argument::Place::kConstant) {
        EXPECT_EQ(aclSetTensorConst(owned_descs_.back().get(), a.data, a.bytes), ACL_SUCCESS);
      }
      owned_buffers_.emplace_back(a.null_buffer ? nullptr : aclCreateDataBuffer(a.data, a.bytes));
      descs.push_back(owned_descs_.back().get());
      buffers.push_back(owned_buffers_.back().get());
    }
  }
  int count() const { return static_cast<int>(descs.size()); }
  std::vector<aclTensorDesc*> descs;
  std::vector<aclDataBuffer*> buffers;

 private:
  std::vector<Owned<aclTensorDesc>> owned_descs_;
  std::vector<Owned<aclDataBuffer>> owned_buffers_;
};

// Runs and synchronises. Descriptions, buffers and attributes are destroyed before the wait.
inline aclError RunOp(const OpCall& call, Way way, aclrtStream stream) {
  const auto enqueue = [&]() -> aclError {
    const Owned<aclopAttr> attr(aclopCreateAttr());
    for (const auto& [name, value] : call.attributes) Set(attr.get(), name, value);
    OpSide in(call.inputs);
    OpSide out(call.outputs);
    const char* type = call.null_type ? nullptr : call.type.c_str();
    switch (way) {
      case Way::kCompileAndExecute:
        return aclopCompileAndExecute(type, in.count(), in.descs.data(), in.buffers.data(),
                                      out.count(), out.descs.data(), out.buffers.data(), attr.get(),
                                      ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, stream);
      case Way::kCompileAndExecuteV2:
        return aclopCompileAndExecuteV2(
            type, in.count(), in.descs.data(), in.buffers.data(), out.count(), out.descs.data(),
            out.buffers.data(), attr.get(), ACL_ENGINE_VECTOR, ACL_COMPILE_SYS, nullptr, stream);
      case Way::kExecuteV2:
        return aclopExecuteV2(type, in.count(), in.descs.data(), in.buffers.data(), out.count(),
                              out.descs.data(), out.buffers.data(), attr.get(), stream);
      case Way::kHandle:
        break;
    }
    aclopHandle* handle = nullptr;
    const aclError made = aclopCreateHandle(type, in.count(), in.descs.data(), out.count(),
                                            out.descs.data(), attr.get(), &handle);
    const Owned<aclopHandle> owned(handle);
    if (made != ACL_SUCCESS) {
      EXPECT_EQ(handle, nullptr);
      return made;
    }
    return aclopExecWithHandle(handle, in.count(), in.buffers.data(), out.count(),
                               out.buffers.data(), stream);
  };
  const aclError code = enqueue();
  return code != ACL_SUCCESS ? code : aclrtSynchronizeStream(stream);
}

inline Argument ArgumentOf(const Tensor& host, const DeviceTensor& device) {
  return {host.shape(), ToAcl(host.element()), ACL_FORMAT_ND, device.address(),
          host.storage_bytes()};
}

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_OP_CALL_H_

// The operators by graph name: their inputs and attributes, and how a call is checked and planned.
#ifndef PORTACL_API_ACL_OP_REGISTRY_H_
#define PORTACL_API_ACL_OP_REGISTRY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "api/acl_op_handles.h"
#include "base/status.h"
#include "base/tensor_desc.h"
#include "ops/plan.h"

namespace portacl::api {

// A call's tensors in the order of the operator's signature: inputs, then outputs.
using Tensors = std::vector<base::TensorDesc>;

// One entry per input: its integers if the input is a list. Empty if it is no list, or if the
// values are unknown because the call is only compiled.
using HostLists = std::vector<std::optional<std::vector<int64_t>>>;

// One call of an operator by name. The tensors it was read with must outlive it.
class GraphCall {
 public:
  virtual ~GraphCall() = default;
  // Checks everything except the data.
  virtual base::Status Check() const = 0;
  // Only after Check(), with the tensors' addresses set.
  virtual base::Status Plan(std::shared_ptr<const ops::Plan>* plan) const = 0;
};

struct GraphRow {
  const char* type;  // the graph name
  size_t inputs;
  size_t outputs;
  std::array<const char*, 12> attributes;  // names; null behind the last
  // Reads the attributes. Refuses an attribute that is missing or of another type.
  base::Status (*read)(const GraphOperator& op, const Tensors& tensors, const HostLists& lists,
                       std::unique_ptr<GraphCall>* call);
  std::array<const char*, 5> lists = {};  // per input: its name if it is a list, else null
  // Gives the call's tensors the operator's axes. Null: they have these axes already.
  void (*view)(const GraphOperator& op, const HostLists& lists, Tensors* tensors) = nullptr;
};

// Finds the row of a type. Refuses a type that is null or unknown.
base::Status FindGraphOperator(const char* type, const GraphRow** row);

}  // namespace portacl::api

#endif  // PORTACL_API_ACL_OP_REGISTRY_H_

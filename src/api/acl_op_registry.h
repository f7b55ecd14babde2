// The operators by graph name: what each takes, and how its call is checked and planned.
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

// A call's tensors, inputs then outputs, in the order of the operator's signature.
using Tensors = std::vector<base::TensorDesc>;

// For each input: the integers in it, if the operator takes it as a list. None: not known while
// the call is compiled, or no list.
using HostLists = std::vector<std::optional<std::vector<int64_t>>>;

// One call of an operator by name. It keeps to the tensors it was read with.
class GraphCall {
 public:
  virtual ~GraphCall() = default;
  // Everything but the data.
  virtual base::Status Check() const = 0;
  // After Check(), with the tensors' addresses set.
  virtual base::Status Plan(std::shared_ptr<const ops::Plan>* plan) const = 0;
};

struct GraphRow {
  const char* type;  // the graph name
  size_t inputs;
  size_t outputs;
  std::array<const char*, 12> attributes;  // names, null if there are fewer
  // Reads the attributes; refuses an attribute that is missing or of another type.
  base::Status (*read)(const GraphOperator& op, const Tensors& tensors, const HostLists& lists,
                       std::unique_ptr<GraphCall>* call);
  std::array<const char*, 5> lists = {};  // names of the inputs that are lists, null elsewhere
  // Gives the call's tensors the axes of the operator's tensors. Null: they have the same axes.
  void (*view)(const GraphOperator& op, const HostLists& lists, Tensors* tensors) = nullptr;
};

// Refuses a type that is null or unknown.
base::Status FindGraphOperator(const char* type, const GraphRow** row);

}  // namespace portacl::api

#endif  // PORTACL_API_ACL_OP_REGISTRY_H_

// Runs an operator by its graph name: acl/acl_op.h and acl/acl_op_compiler.h.
#include "acl/acl_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "acl/acl_op_compiler.h"
#include "api/acl_op_handles.h"
#include "api/acl_op_lists.h"
#include "api/acl_op_memory.h"
#include "api/acl_op_registry.h"
#include "api/handles.h"
#include "api/shim.h"
#include "base/checked.h"
#include "ops/call.h"
#include "ops/executor.h"
#include "ops/plan.h"
#include "ops/shared_checks.h"
#include "runtime/scratch.h"

namespace portacl::api {
namespace {

using base::Status;
using ops::Refusals;
using ops::Rule;
using ops::Surface;

// ---- arguments ---------------------------------------------------------------------------------

// One side of a call: inputs or outputs.
struct Side {
  const char* name;  // "input" or "output"
  Rule rule;         // the rule that a wrong tensor breaks
};
constexpr Side kInputs{"input", Rule::kInput};
constexpr Side kOutputs{"output", Rule::kOutput};

Status CheckCount(const Refusals& refusals, const Side& side, int got, size_t wanted) {
  if (got >= 0 && static_cast<size_t>(got) == wanted) return {};
  return refusals.Refuse(side.rule, "has {} {}s, but must have {}", got, side.name, wanted);
}

// Copies the descriptions of one side; refuses handles that are not live.
Status ReadDescs(const Refusals& refusals, const Side& side, size_t count,
                 const aclTensorDesc* const descs[], std::vector<aclTensorDesc>* copies) {
  if (descs == nullptr) return refusals.Refuse(Rule::kNull, "{}Desc is null", side.name);
  for (size_t i = 0; i < count; ++i) {
    if (descs[i] == nullptr) {
      return refusals.Refuse(Rule::kNull, "{}Desc[{}] is null", side.name, i);
    }
    const auto found = Handles<aclTensorDesc>().Find(descs[i]);
    if (found == nullptr) {
      return refusals.Refuse(side.rule, "{}Desc[{}] is not a live handle", side.name, i);
    }
    copies->push_back(*found);
  }
  return {};
}

// Refuses unknown attributes: a misspelt optional attribute would be ignored in silence.
Status CheckAttributeNames(const Refusals& refusals, const GraphRow& row,
                           const aclopAttr& attributes) {
  const auto* const end = std::find(row.attributes.begin(), row.attributes.end(), nullptr);
  for (const auto& [name, value] : attributes.values) {
    if (std::find(row.attributes.begin(), end, name) != end) continue;
    return refusals.Refuse(Rule::kAttribute, "attribute {} is unknown; it has {}", name,
                           end == row.attributes.begin()
                               ? "none"
                               : fmt::format("{}", fmt::join(row.attributes.begin(), end, " ")));
  }
  return {};
}

// Reads the operator, its descriptions and attributes from the caller's arguments.
Status ReadOperator(const char* type, int num_inputs, const aclTensorDesc* const input_desc[],
                    int num_outputs, const aclTensorDesc* const output_desc[],
                    const aclopAttr* attr, GraphOperator* op, const GraphRow** row) {
  PORTACL_RETURN_IF_ERROR(FindGraphOperator(type, row));
  const Refusals refusals((*row)->type, Surface::kGraph);
  PORTACL_RETURN_IF_ERROR(refusals.CheckProfile());
  // Before any argument is read. Check() repeats it for handles made under another profile.
  if (const ops::Signature* const listed = ops::FindByGraphName(type); listed != nullptr) {
    PORTACL_RETURN_IF_ERROR(CheckAvailable(refusals, *listed));
  }
  op->type = type;
  PORTACL_RETURN_IF_ERROR(CheckCount(refusals, kInputs, num_inputs, (*row)->inputs));
  PORTACL_RETURN_IF_ERROR(CheckCount(refusals, kOutputs, num_outputs, (*row)->outputs));
  PORTACL_RETURN_IF_ERROR(ReadDescs(refusals, kInputs, (*row)->inputs, input_desc, &op->inputs));
  PORTACL_RETURN_IF_ERROR(
      ReadDescs(refusals, kOutputs, (*row)->outputs, output_desc, &op->outputs));
  if (attr == nullptr) return {};
  const auto found = Handles<aclopAttr>().Find(attr);
  if (found == nullptr) return refusals.Refuse(Rule::kAttribute, "attr is not a live handle");
  op->attributes = *found;
  return CheckAttributeNames(refusals, **row, op->attributes);
}

// Makes a dense tensor from a description. Refuses ranks and extents that no tensor can have.
Status MakeTensor(const Refusals& refusals, const Side& side, size_t index,
                  const aclTensorDesc& desc, base::TensorDesc* tensor) {
  if (desc.dims.size() > static_cast<size_t>(base::kMaxRank)) {
    return refusals.Refuse(side.rule, "{} {} has rank {}, but must have at most {}", side.name,
                           index, desc.dims.size(), base::kMaxRank);
  }
  tensor->dtype = desc.dtype;
  tensor->format = desc.format;
  tensor->shape = base::Dims(desc.dims.data(), static_cast<int>(desc.dims.size()));
  tensor->strides = base::ContiguousStrides(tensor->shape);
  tensor->storage_shape = tensor->shape;
  for (const int64_t extent : desc.dims) {
    if (extent >= 0) continue;
    return refusals.Refuse(side.rule, "{} {} has shape {}, but extents must be at least 0",
                           side.name, index, tensor->shape.ToString());
  }
  return ApplyLayout(fmt::format("{}: {} {}", refusals.op(), side.name, index),
                     CodeOf(side.rule, Surface::kGraph), desc, tensor);
}

Status MakeTensors(const GraphOperator& op, Tensors* tensors) {
  const Refusals refusals(op.type.c_str(), Surface::kGraph);
  for (const bool output : {false, true}) {
    const Side& side = output ? kOutputs : kInputs;
    const auto& descs = output ? op.outputs : op.inputs;
    for (size_t i = 0; i < descs.size(); ++i) {
      base::TensorDesc tensor;
      PORTACL_RETURN_IF_ERROR(MakeTensor(refusals, side, i, descs[i], &tensor));
      tensors->push_back(tensor);
    }
  }
  return {};
}

// The memory that a call keeps until the stream has done its work.
struct Kept {
  std::unique_ptr<runtime::Scratch> workspace;
  std::vector<std::shared_ptr<void>> inputs;  // device copies of inputs from the host
};

// Sets the address of a tensor of `bytes` bytes. Copies inputs from host memory at once.
Status PlaceTensor(const Refusals& refusals, const Side& side, size_t index,
                   const aclTensorDesc& desc, const aclDataBuffer& buffer, size_t bytes,
                   void** address, Kept* kept) {
  *address = buffer.data;
  if (!desc.host && desc.constant.empty()) return {};
  if (&side == &kOutputs) {
    return refusals.Refuse(side.rule,
                           "{} {} is placed in host memory, but must be in device memory",
                           side.name, index);
  }
  const bool constant = !desc.constant.empty();
  if (constant && desc.constant.size() < bytes) {
    return refusals.Refuse(side.rule, "{} {} is a constant of {} bytes, but needs {}", side.name,
                           index, desc.constant.size(), bytes);
  }
  std::shared_ptr<void> copy;
  PORTACL_RETURN_IF_ERROR(
      FetchFromHost(constant ? desc.constant.data() : buffer.data, bytes, &copy));
  *address = copy.get();
  kept->inputs.push_back(std::move(copy));
  return {};
}

// Sets the addresses of one side's tensors to their buffers. Refuses buffers that are too small.
Status AttachBuffers(const GraphOperator& op, const Side& side,
                     const aclDataBuffer* const buffers[], size_t count, base::TensorDesc* first,
                     Kept* kept) {
  const Refusals refusals(op.type.c_str(), Surface::kGraph);
  const std::vector<aclTensorDesc>& descs = &side == &kOutputs ? op.outputs : op.inputs;
  if (buffers == nullptr) return refusals.Refuse(Rule::kNull, "{}s is null", side.name);
  for (size_t i = 0; i < count; ++i) {
    if (buffers[i] == nullptr) {
      return refusals.Refuse(Rule::kNull, "{}s[{}] is null", side.name, i);
    }
    const auto buffer = Handles<aclDataBuffer>().Find(buffers[i]);
    if (buffer == nullptr) {
      return refusals.Refuse(side.rule, "{}s[{}] is not a live handle", side.name, i);
    }
    const int64_t elements = first[i].NumElements();
    const int64_t size = base::DTypeSize(first[i].dtype);
    int64_t bytes = 0;
    if (elements < 0 || !base::CheckedMul(elements, size, &bytes) ||
        (descs[i].constant.empty() && static_cast<uint64_t>(bytes) > buffer->size)) {
      return refusals.Refuse(
          side.rule, "{}s[{}] has {} bytes, but the shape {} of {} needs {} times {}", side.name, i,
          buffer->size, first[i].shape.ToString(), base::DTypeName(first[i].dtype), elements, size);
    }
    PORTACL_RETURN_IF_ERROR(PlaceTensor(refusals, side, i, descs[i], *buffer,
                                        static_cast<size_t>(bytes), &first[i].data, kept));
  }
  return {};
}

// Reads a call of an operator and checks everything except its data. If `inputs` is null, does not
// read lists in host memory.
Status ReadCall(const GraphOperator& op, const GraphRow& row, const aclDataBuffer* const inputs[],
                Tensors* tensors, std::unique_ptr<GraphCall>* call) {
  PORTACL_RETURN_IF_ERROR(MakeTensors(op, tensors));
  HostLists lists;
  PORTACL_RETURN_IF_ERROR(ReadHostLists(op, row, inputs, &lists));
  if (row.view != nullptr) row.view(op, lists, tensors);
  PORTACL_RETURN_IF_ERROR(row.read(op, *tensors, lists, call));
  return (*call)->Check();
}

Status Execute(const GraphOperator& op, const GraphRow& row, const aclDataBuffer* const inputs[],
               const aclDataBuffer* const outputs[], aclrtStream stream) {
  const ops::CallTimer timer;
  Tensors tensors;
  std::unique_ptr<GraphCall> call;
  PORTACL_RETURN_IF_ERROR(ReadCall(op, row, inputs, &tensors, &call));
  const auto kept = std::make_shared<Kept>();
  PORTACL_RETURN_IF_ERROR(
      AttachBuffers(op, kInputs, inputs, row.inputs, tensors.data(), kept.get()));
  PORTACL_RETURN_IF_ERROR(
      AttachBuffers(op, kOutputs, outputs, row.outputs, tensors.data() + row.inputs, kept.get()));
  std::shared_ptr<const ops::Plan> plan;
  PORTACL_RETURN_IF_ERROR(call->Plan(&plan));
  timer.Planned(*plan);
  kept->workspace = std::make_unique<runtime::Scratch>(plan->workspace_size());
  void* const workspace = kept->workspace->data();
  PORTACL_RETURN_IF_ERROR(ops::CheckOwnWorkspace(*plan, workspace));
  ops::Elements elements = plan->ElementsAt(plan->PlannedStorages());
  return LaunchPlan(std::move(plan), std::move(elements), workspace, stream, kept);
}

aclError ReadAndExecute(const char* function, const char* type, int num_inputs,
                        const aclTensorDesc* const input_desc[],
                        const aclDataBuffer* const inputs[], int num_outputs,
                        const aclTensorDesc* const output_desc[],
                        const aclDataBuffer* const outputs[], const aclopAttr* attr,
                        aclrtStream stream) {
  return Guarded(function, [&]() -> Status {
    GraphOperator op;
    const GraphRow* row = nullptr;
    PORTACL_RETURN_IF_ERROR(
        ReadOperator(type, num_inputs, input_desc, num_outputs, output_desc, attr, &op, &row));
    return Execute(op, *row, inputs, outputs, stream);
  });
}

// Checks the numbers of tensors and runs an operator that Prepare() has read.
Status CountAndExecute(const GraphOperator& op, int num_inputs, const aclDataBuffer* const inputs[],
                       int num_outputs, const aclDataBuffer* const outputs[], aclrtStream stream) {
  const char* const type = op.type.c_str();
  const GraphRow* row = nullptr;
  PORTACL_RETURN_IF_ERROR(FindGraphOperator(type, &row));
  const Refusals refusals(type, Surface::kGraph);
  PORTACL_RETURN_IF_ERROR(CheckCount(refusals, kInputs, num_inputs, row->inputs));
  PORTACL_RETURN_IF_ERROR(CheckCount(refusals, kOutputs, num_outputs, row->outputs));
  return Execute(op, *row, inputs, outputs, stream);
}

// Reads an operator and checks everything except its data.
Status Prepare(const char* type, int num_inputs, const aclTensorDesc* const input_desc[],
               int num_outputs, const aclTensorDesc* const output_desc[], const aclopAttr* attr,
               GraphOperator* op) {
  const GraphRow* row = nullptr;
  PORTACL_RETURN_IF_ERROR(
      ReadOperator(type, num_inputs, input_desc, num_outputs, output_desc, attr, op, &row));
  Tensors tensors;
  std::unique_ptr<GraphCall> call;
  return ReadCall(*op, *row, nullptr, &tensors, &call);
}

}  // namespace
}  // namespace portacl::api

using portacl::api::GraphOperator;
using portacl::api::Handles;
using portacl::base::Status;

extern "C" {

aclError aclopExecuteV2(const char* opType, int numInputs, aclTensorDesc* inputDesc[],
                        aclDataBuffer* inputs[], int numOutputs, aclTensorDesc* outputDesc[],
                        aclDataBuffer* outputs[], aclopAttr* attr, aclrtStream stream) {
  return portacl::api::ReadAndExecute(__func__, opType, numInputs, inputDesc, inputs, numOutputs,
                                      outputDesc, outputs, attr, stream);
}

aclError aclopCompile(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
                      int numOutputs, const aclTensorDesc* const outputDesc[],
                      const aclopAttr* attr, aclopEngineType, aclopCompileType, const char*) {
  return portacl::api::Guarded(__func__, [&] {
    GraphOperator op;
    return portacl::api::Prepare(opType, numInputs, inputDesc, numOutputs, outputDesc, attr, &op);
  });
}

aclError aclopCompileAndExecute(const char* opType, int numInputs,
                                const aclTensorDesc* const inputDesc[],
                                const aclDataBuffer* const inputs[], int numOutputs,
                                const aclTensorDesc* const outputDesc[],
                                aclDataBuffer* const outputs[], const aclopAttr* attr,
                                aclopEngineType, aclopCompileType, const char*,
                                aclrtStream stream) {
  return portacl::api::ReadAndExecute(__func__, opType, numInputs, inputDesc, inputs, numOutputs,
                                      outputDesc, outputs, attr, stream);
}

aclError aclopCompileAndExecuteV2(const char* opType, int numInputs, aclTensorDesc* inputDesc[],
                                  aclDataBuffer* inputs[], int numOutputs,
                                  aclTensorDesc* outputDesc[], aclDataBuffer* outputs[],
                                  aclopAttr* attr, aclopEngineType, aclopCompileType, const char*,
                                  aclrtStream stream) {
  return portacl::api::ReadAndExecute(__func__, opType, numInputs, inputDesc, inputs, numOutputs,
                                      outputDesc, outputs, attr, stream);
}

aclError aclopCreateHandle(const char* opType, int numInputs,
                           const aclTensorDesc* const inputDesc[], int numOutputs,
                           const aclTensorDesc* const outputDesc[], const aclopAttr* opAttr,
                           aclopHandle** handle) {
  if (handle != nullptr) *handle = nullptr;
  return portacl::api::Guarded(__func__, [&]() -> Status {
    if (handle == nullptr) return {ACL_ERROR_INVALID_PARAM, "handle is null"};
    auto made = std::make_shared<aclopHandle>();
    PORTACL_RETURN_IF_ERROR(portacl::api::Prepare(opType, numInputs, inputDesc, numOutputs,
                                                  outputDesc, opAttr, &made->op));
    *handle = Handles<aclopHandle>().Add(std::move(made));
    return {};
  });
}

void aclopDestroyHandle(aclopHandle* handle) {
  portacl::api::Guarded(__func__, [&]() -> Status {
    if (handle == nullptr || Handles<aclopHandle>().Take(handle) != nullptr) return {};
    return {ACL_ERROR_INVALID_PARAM, "handle is not a live handle: destroyed already"};
  });
}

aclError aclopExecWithHandle(aclopHandle* handle, int numInputs,
                             const aclDataBuffer* const inputs[], int numOutputs,
                             aclDataBuffer* const outputs[], aclrtStream stream) {
  return portacl::api::Guarded(__func__, [&]() -> Status {
    if (handle == nullptr) return {ACL_ERROR_INVALID_PARAM, "handle is null"};
    const auto found = Handles<aclopHandle>().Find(handle);
    if (found == nullptr) return {ACL_ERROR_INVALID_PARAM, "handle is not a live handle"};
    return portacl::api::CountAndExecute(found->op, numInputs, inputs, numOutputs, outputs, stream);
  });
}

}  // extern "C"

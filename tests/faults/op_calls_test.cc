// Rows for operators by graph name: attributes, and the ways to compile and run.
#include "acl/acl_op_compiler.h"
#include "faults/calls.h"

namespace portacl_test {
namespace {

const Step kAttr = PORTACL_DO(w.made[0] = aclopCreateAttr());
const Step kEndAttr = PORTACL_DO(aclopDestroyAttr(w.Made<aclopAttr>()));
constexpr char kName[] = "an_attribute_whose_name_is_long";
constexpr int64_t kInts[] = {1, 2};

// A row of a function that sets an attribute: its name, and what follows the attribute's name.
#define PORTACL_SET(name, ...) \
  { #name, PORTACL_CALL(name(w.Made <aclopAttr>(), kName, __VA_ARGS__)), kAttr, kEndAttr }

int64_t SetFloats(World& w) {
  const float values[] = {1, 2};
  return aclopSetAttrListFloat(w.Made<aclopAttr>(), kName, 2, values);
}
int64_t SetStrings(World& w) {
  const char* values[] = {"zeros", "a value that is too long for a small string"};
  return aclopSetAttrListString(w.Made<aclopAttr>(), kName, 2, values);
}
int64_t SetBools(World& w) {
  const uint8_t values[] = {1, 0};
  return aclopSetAttrListBool(w.Made<aclopAttr>(), kName, 2, values);
}
int64_t SetLists(World& w) {
  const int counts[] = {2, 2};
  const int64_t* const lists[] = {kInts, kInts};
  return aclopSetAttrListListInt(w.Made<aclopAttr>(), kName, 2, counts, lists);
}

std::vector<Row> AttributeRows() {
  return {
      {"aclopCreateAttr",
       [](World& w) -> int64_t {
         w.made[0] = aclopCreateAttr();
         return Answer(w.made[0]);
       },
       nullptr,
       kEndAttr,
       {.bad = {kNothing}}},
      {"aclopDestroyAttr", PORTACL_USE(aclopDestroyAttr(w.Made<aclopAttr>())), kAttr},
      PORTACL_SET(aclopSetAttrBool, 1),
      PORTACL_SET(aclopSetAttrInt, 1),
      PORTACL_SET(aclopSetAttrFloat, 1),
      PORTACL_SET(aclopSetAttrString, "a value that is too long for a small string"),
      PORTACL_SET(aclopSetAttrListInt, 2, kInts),
      PORTACL_SET(aclopSetAttrDataType, ACL_FLOAT),
      {"aclopSetAttrListFloat", SetFloats, kAttr, kEndAttr},
      {"aclopSetAttrListBool", SetBools, kAttr, kEndAttr},
      {"aclopSetAttrListString", SetStrings, kAttr, kEndAttr},
      {"aclopSetAttrListListInt", SetLists, kAttr, kEndAttr},
  };
}

// A call of UpsampleNearestExact2dGrad: made[0] to made[4] are the attributes, the two descriptions
// and the two buffers, made[5] a handle.
constexpr char kType[] = "UpsampleNearestExact2dGrad";
constexpr int64_t kLarge[] = {1, 4, 48, 48};
constexpr int64_t kSmall[] = {1, 4, 24, 24};
constexpr size_t kLargeBytes = size_t{4} * 48 * 48 * sizeof(float);
constexpr size_t kSmallBytes = kLargeBytes / 4;

void MakeOp(World& w) {
  auto* const attr = aclopCreateAttr();
  aclopSetAttrListInt(attr, "output_size", 2, kLarge + 2);
  aclopSetAttrListInt(attr, "input_size", 4, kSmall);
  w.made[0] = attr;
  w.made[1] = aclCreateTensorDesc(ACL_FLOAT, 4, kLarge, ACL_FORMAT_ND);
  w.made[2] = aclCreateTensorDesc(ACL_FLOAT, 4, kSmall, ACL_FORMAT_ND);
  w.made[3] = aclCreateDataBuffer(w.device, kLargeBytes);
  w.made[4] = aclCreateDataBuffer(w.device + kLargeBytes, kSmallBytes);
}
void EndOp(World& w) {
  aclopDestroyAttr(w.Made<aclopAttr>(0));
  aclDestroyTensorDesc(w.Made<aclTensorDesc>(1));
  aclDestroyTensorDesc(w.Made<aclTensorDesc>(2));
  aclDestroyDataBuffer(w.Made<aclDataBuffer>(3));
  aclDestroyDataBuffer(w.Made<aclDataBuffer>(4));
}

// The arrays that the functions want.
struct Lists {
  explicit Lists(const World& w)
      : in_desc{w.Made<aclTensorDesc>(1)},
        out_desc{w.Made<aclTensorDesc>(2)},
        in{w.Made<aclDataBuffer>(3)},
        out{w.Made<aclDataBuffer>(4)},
        attr(w.Made<aclopAttr>(0)) {}
  aclTensorDesc* in_desc[1];
  aclTensorDesc* out_desc[1];
  aclDataBuffer* in[1];
  aclDataBuffer* out[1];
  aclopAttr* attr;
};

int64_t Execute(World& w) {
  Lists l(w);
  return aclopExecuteV2(kType, 1, l.in_desc, l.in, 1, l.out_desc, l.out, l.attr, w.stream);
}
int64_t Compile(World& w) {
  const Lists l(w);
  return aclopCompile(kType, 1, l.in_desc, 1, l.out_desc, l.attr, ACL_ENGINE_SYS, ACL_COMPILE_SYS,
                      nullptr);
}
int64_t CompileAndExecute(World& w) {
  const Lists l(w);
  return aclopCompileAndExecute(kType, 1, l.in_desc, l.in, 1, l.out_desc, l.out, l.attr,
                                ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, w.stream);
}
int64_t CompileAndExecuteV2(World& w) {
  Lists l(w);
  return aclopCompileAndExecuteV2(kType, 1, l.in_desc, l.in, 1, l.out_desc, l.out, l.attr,
                                  ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, w.stream);
}
int64_t CreateHandle(World& w) {
  const Lists l(w);
  return aclopCreateHandle(kType, 1, l.in_desc, 1, l.out_desc, l.attr, w.Out<aclopHandle*>());
}
void MakeHandle(World& w) {
  MakeOp(w);
  const Lists l(w);
  aclopHandle* handle = nullptr;
  aclopCreateHandle(kType, 1, l.in_desc, 1, l.out_desc, l.attr, &handle);
  w.made[5] = handle;
}
int64_t ExecWithHandle(World& w) {
  const Lists l(w);
  return aclopExecWithHandle(w.Made<aclopHandle>(5), 1, l.in, 1, l.out, w.stream);
}

std::vector<Row> OperatorRows() {
  return {
      {"aclopExecuteV2", Execute, MakeOp, EndOp},
      {"aclopCompile", Compile, MakeOp, EndOp},
      {"aclopCompileAndExecute", CompileAndExecute, MakeOp, EndOp},
      {"aclopCompileAndExecuteV2", CompileAndExecuteV2, MakeOp, EndOp},
      {"aclopCreateHandle",
       CreateHandle,
       MakeOp,
       PORTACL_DO(aclopDestroyHandle(w.Get<aclopHandle*>()); EndOp(w)),
       {.nulls = 8}},
      {"aclopDestroyHandle", PORTACL_USE(aclopDestroyHandle(w.Made<aclopHandle>(5))), MakeHandle,
       EndOp},
      {"aclopExecWithHandle", ExecWithHandle, MakeHandle,
       PORTACL_DO(aclopDestroyHandle(w.Made<aclopHandle>(5)); EndOp(w))},
  };
}

const Rows attribute_rows(AttributeRows());
const Rows graph_rows(OperatorRows());

}  // namespace
}  // namespace portacl_test

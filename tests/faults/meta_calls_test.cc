// Rows for the handles of aclnn/acl_meta.h and the descriptions and buffers of acl_base.h.
#include "aclnn/acl_meta.h"

#include "faults/calls.h"

namespace portacl_test {
namespace {

constexpr int64_t kShape[] = {2, 3};

aclTensor* MakeTensor(World& w) {
  return aclCreateTensor(kShape, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, kShape, 2, w.device);
}
aclScalar* MakeScalar() {
  float one = 1;
  return aclCreateScalar(&one, ACL_FLOAT);
}

// A handle that prepare() makes and, where call() does not destroy it, clean() destroys.
const Step kTensor = PORTACL_DO(w.made[0] = MakeTensor(w));
const Step kEndTensor = PORTACL_DO(aclDestroyTensor(w.Made<aclTensor>()));
const Step kInts = PORTACL_DO(w.made[0] = aclCreateIntArray(kShape, 2));
const Step kFloats = [](World& w) {
  const float values[] = {1, 2};
  w.made[0] = aclCreateFloatArray(values, 2);
};
const Step kBools = [](World& w) {
  const bool values[] = {true, false};
  w.made[0] = aclCreateBoolArray(values, 2);
};
const Step kScalar = PORTACL_DO(w.made[0] = MakeScalar());
const Step kTensors = [](World& w) {
  const aclTensor* const one = MakeTensor(w);
  w.made[0] = aclCreateTensorList(&one, 1);
};
const Step kScalars = [](World& w) {
  const aclScalar* const one = MakeScalar();
  w.made[0] = aclCreateScalarList(&one, 1);
};

// Creation: the handle goes to the outputs, which stay as they are where there is none.
template <class T>
int64_t Keep(World& w, T* handle) {
  if (handle != nullptr) *w.Out<T*>() = handle;
  return Answer(handle);
}
#define PORTACL_KEEP(...) [](World& w) -> int64_t { return Keep(w, __VA_ARGS__); }

const std::vector<int64_t> kNull = {kNothing};
// These answer with codes of the aclnn API.
const std::vector<int64_t> kNn = {ACLNN_ERR_RUNTIME_ERROR};

std::vector<Row> CreationRows() {
  return {
      {"aclCreateTensor",
       PORTACL_KEEP(MakeTensor(w)),
       nullptr,
       PORTACL_DO(aclDestroyTensor(w.Get<aclTensor*>())),
       {.bad = kNull}},
      {"aclDestroyTensor",
       PORTACL_CALL(aclDestroyTensor(w.Made<aclTensor>())),
       kTensor,
       {.bad = kNn}},
      {"aclCreateScalar",
       PORTACL_KEEP(MakeScalar()),
       nullptr,
       PORTACL_DO(aclDestroyScalar(w.Get<aclScalar*>())),
       {.bad = kNull}},
      {"aclDestroyScalar",
       PORTACL_CALL(aclDestroyScalar(w.Made<aclScalar>())),
       kScalar,
       {.bad = kNn}},
      {"aclCreateIntArray",
       PORTACL_KEEP(aclCreateIntArray(kShape, 2)),
       nullptr,
       PORTACL_DO(aclDestroyIntArray(w.Get<aclIntArray*>())),
       {.bad = kNull}},
      {"aclDestroyIntArray",
       PORTACL_CALL(aclDestroyIntArray(w.Made<aclIntArray>())),
       kInts,
       {.bad = kNn}},
      {"aclCreateFloatArray",
       [](World& w) -> int64_t {
         const float values[] = {1, 2};
         return Keep(w, aclCreateFloatArray(values, 2));
       },
       nullptr,
       PORTACL_DO(aclDestroyFloatArray(w.Get<aclFloatArray*>())),
       {.bad = kNull}},
      {"aclDestroyFloatArray",
       PORTACL_CALL(aclDestroyFloatArray(w.Made<aclFloatArray>())),
       kFloats,
       {.bad = kNn}},
      {"aclCreateBoolArray",
       [](World& w) -> int64_t {
         const bool values[] = {true, false};
         return Keep(w, aclCreateBoolArray(values, 2));
       },
       nullptr,
       PORTACL_DO(aclDestroyBoolArray(w.Get<aclBoolArray*>())),
       {.bad = kNull}},
      {"aclDestroyBoolArray",
       PORTACL_CALL(aclDestroyBoolArray(w.Made<aclBoolArray>())),
       kBools,
       {.bad = kNn}},
      {"aclCreateTensorList",
       [](World& w) -> int64_t {
         const aclTensor* const one = w.Made<aclTensor>();
         return Keep(w, aclCreateTensorList(&one, 1));
       },
       kTensor,
       PORTACL_DO(aclDestroyTensorList(w.Get<aclTensorList*>())),
       {.bad = kNull}},
      {"aclDestroyTensorList",
       PORTACL_CALL(aclDestroyTensorList(w.Made<aclTensorList>())),
       kTensors,
       {.bad = kNn}},
      {"aclCreateScalarList",
       [](World& w) -> int64_t {
         const aclScalar* const one = w.Made<aclScalar>();
         return Keep(w, aclCreateScalarList(&one, 1));
       },
       kScalar,
       PORTACL_DO(aclDestroyScalarList(w.Get<aclScalarList*>())),
       {.bad = kNull}},
      {"aclDestroyScalarList",
       PORTACL_CALL(aclDestroyScalarList(w.Made<aclScalarList>())),
       kScalars,
       {.bad = kNn}},
      {"aclInitTensor",
       PORTACL_CALL(aclInitTensor(w.Made<aclTensor>(), kShape, 2, ACL_FLOAT, nullptr, 0,
                                  ACL_FORMAT_ND, kShape, 2, w.device)),
       kTensor,
       kEndTensor,
       {.bad = kNn}},
  };
}

std::vector<Row> QuestionRows() {
  return {
      {"aclGetViewShape",
       [](World& w) -> int64_t {
         const aclnnStatus status =
             aclGetViewShape(w.Made<aclTensor>(), w.Out<int64_t*>(), w.Out<uint64_t>(8));
         if (status == 0) delete[] w.Get<int64_t*>();
         return status;
       },
       kTensor,
       kEndTensor,
       {.bad = kNn}},
      {"aclGetStorageShape",
       [](World& w) -> int64_t {
         const aclnnStatus status =
             aclGetStorageShape(w.Made<aclTensor>(), w.Out<int64_t*>(), w.Out<uint64_t>(8));
         if (status == 0) delete[] w.Get<int64_t*>();
         return status;
       },
       kTensor,
       kEndTensor,
       {.bad = kNn}},
      {"aclGetViewStrides",
       [](World& w) -> int64_t {
         const aclnnStatus status =
             aclGetViewStrides(w.Made<aclTensor>(), w.Out<int64_t*>(), w.Out<uint64_t>(8));
         if (status == 0) delete[] w.Get<int64_t*>();
         return status;
       },
       kTensor,
       kEndTensor,
       {.bad = kNn}},
      {"aclGetViewOffset",
       PORTACL_CALL(aclGetViewOffset(w.Made<aclTensor>(), w.Out<int64_t>())),
       kTensor,
       kEndTensor,
       {.bad = kNn}},
      {"aclGetFormat",
       PORTACL_CALL(aclGetFormat(w.Made<aclTensor>(), w.Out<aclFormat>())),
       kTensor,
       kEndTensor,
       {.bad = kNn}},
      {"aclGetDataType",
       PORTACL_CALL(aclGetDataType(w.Made<aclTensor>(), w.Out<aclDataType>())),
       kTensor,
       kEndTensor,
       {.bad = kNn}},
      {"aclSetRawTensorAddr",
       PORTACL_CALL(aclSetRawTensorAddr(w.Made<aclTensor>(), w.device)),
       kTensor,
       kEndTensor,
       {.bad = kNn}},
      {"aclGetRawTensorAddr",
       PORTACL_CALL(aclGetRawTensorAddr(w.Made<aclTensor>(), w.Out<void*>())),
       kTensor,
       kEndTensor,
       {.bad = kNn}},
      {"aclGetIntArraySize",
       PORTACL_CALL(aclGetIntArraySize(w.Made<aclIntArray>(), w.Out<uint64_t>())),
       kInts,
       PORTACL_DO(aclDestroyIntArray(w.Made<aclIntArray>())),
       {.bad = kNn}},
      {"aclGetFloatArraySize",
       PORTACL_CALL(aclGetFloatArraySize(w.Made<aclFloatArray>(), w.Out<uint64_t>())),
       kFloats,
       PORTACL_DO(aclDestroyFloatArray(w.Made<aclFloatArray>())),
       {.bad = kNn}},
      {"aclGetBoolArraySize",
       PORTACL_CALL(aclGetBoolArraySize(w.Made<aclBoolArray>(), w.Out<uint64_t>())),
       kBools,
       PORTACL_DO(aclDestroyBoolArray(w.Made<aclBoolArray>())),
       {.bad = kNn}},
      {"aclGetTensorListSize",
       PORTACL_CALL(aclGetTensorListSize(w.Made<aclTensorList>(), w.Out<uint64_t>())),
       kTensors,
       PORTACL_DO(aclDestroyTensorList(w.Made<aclTensorList>())),
       {.bad = kNn}},
      {"aclGetScalarListSize",
       PORTACL_CALL(aclGetScalarListSize(w.Made<aclScalarList>(), w.Out<uint64_t>())),
       kScalars,
       PORTACL_DO(aclDestroyScalarList(w.Made<aclScalarList>())),
       {.bad = kNn}},
      {"portaclGetIntArrayValues",
       PORTACL_CALL(portaclGetIntArrayValues(w.Made<aclIntArray>(), w.Out<int64_t>(), 2)),
       kInts,
       PORTACL_DO(aclDestroyIntArray(w.Made<aclIntArray>())),
       {.bad = kNn}},
      {"portaclGetFloatArrayValues",
       PORTACL_CALL(portaclGetFloatArrayValues(w.Made<aclFloatArray>(), w.Out<float>(), 2)),
       kFloats,
       PORTACL_DO(aclDestroyFloatArray(w.Made<aclFloatArray>())),
       {.bad = kNn}},
      {"portaclGetBoolArrayValues",
       PORTACL_CALL(portaclGetBoolArrayValues(w.Made<aclBoolArray>(), w.Out<bool>(), 2)),
       kBools,
       PORTACL_DO(aclDestroyBoolArray(w.Made<aclBoolArray>())),
       {.bad = kNn}},
      {"portaclGetScalarValue",
       PORTACL_CALL(portaclGetScalarValue(w.Made<aclScalar>(), w.Out<int32_t>(), w.Out<float>(8),
                                          sizeof(float))),
       kScalar,
       PORTACL_DO(aclDestroyScalar(w.Made<aclScalar>())),
       {.bad = kNn}},
      {"portaclGetTensorListMembers",
       PORTACL_CALL(
           portaclGetTensorListMembers(w.Made<aclTensorList>(), w.Out<const aclTensor*>(), 1)),
       kTensors,
       PORTACL_DO(aclDestroyTensorList(w.Made<aclTensorList>())),
       {.bad = kNn}},
  };
}

const Step kBuffer = PORTACL_DO(w.made[0] = aclCreateDataBuffer(w.device, 64));
const Step kEndBuffer = PORTACL_DO(aclDestroyDataBuffer(w.Made<aclDataBuffer>()));

std::vector<Row> BufferRows() {
  return {
      {"aclCreateDataBuffer",
       PORTACL_KEEP(aclCreateDataBuffer(w.device, 64)),
       nullptr,
       PORTACL_DO(aclDestroyDataBuffer(w.Get<aclDataBuffer*>())),
       {.bad = kNull}},
      {"aclDestroyDataBuffer", PORTACL_CALL(aclDestroyDataBuffer(w.Made<aclDataBuffer>())),
       kBuffer},
      {"aclUpdateDataBuffer",
       PORTACL_CALL(aclUpdateDataBuffer(w.Made<aclDataBuffer>(), w.device, 32)), kBuffer,
       kEndBuffer},
      {"aclGetDataBufferAddr", PORTACL_CALL(Answer(aclGetDataBufferAddr(w.Made<aclDataBuffer>()))),
       kBuffer, kEndBuffer},
      {"aclGetDataBufferSize", PORTACL_USE(aclGetDataBufferSize(w.Made<aclDataBuffer>())), kBuffer,
       kEndBuffer},
      {"aclGetDataBufferSizeV2", PORTACL_USE(aclGetDataBufferSizeV2(w.Made<aclDataBuffer>())),
       kBuffer, kEndBuffer},
  };
}

const Step kDesc = PORTACL_DO(w.made[0] = aclCreateTensorDesc(ACL_FLOAT, 2, kShape, ACL_FORMAT_ND));
const Step kEndDesc = PORTACL_DO(aclDestroyTensorDesc(w.Made<aclTensorDesc>()));

// A row of a function on a description: PORTACL_DESC(name, other arguments...).
#define PORTACL_DESC(name, ...)                                                            \
  {                                                                                        \
#name, PORTACL_CALL(name(w.Made <aclTensorDesc>() __VA_OPT__(, ) __VA_ARGS__)), kDesc, \
        kEndDesc                                                                           \
  }
#define PORTACL_DESC_USE(name, ...) \
  { #name, PORTACL_USE(name(w.Made <aclTensorDesc>() __VA_OPT__(, ) __VA_ARGS__)), kDesc, kEndDesc }

int64_t SetRange(World& w) {
  int64_t range[2][ACL_TENSOR_SHAPE_RANGE_NUM] = {{1, 4}, {1, 4}};
  return aclSetTensorShapeRange(w.Made<aclTensorDesc>(), 2, range);
}

std::vector<Row> DescriptionRows() {
  return {
      {"aclCreateTensorDesc",
       PORTACL_KEEP(aclCreateTensorDesc(ACL_FLOAT, 2, kShape, ACL_FORMAT_ND)),
       nullptr,
       PORTACL_DO(aclDestroyTensorDesc(w.Get<aclTensorDesc*>())),
       {.bad = kNull}},
      {"aclDestroyTensorDesc", PORTACL_USE(aclDestroyTensorDesc(w.Made<aclTensorDesc>())), kDesc},
      PORTACL_DESC_USE(aclGetTensorDescType),
      PORTACL_DESC_USE(aclGetTensorDescFormat),
      PORTACL_DESC_USE(aclGetTensorDescSize),
      PORTACL_DESC_USE(aclGetTensorDescElementCount),
      PORTACL_DESC_USE(aclGetTensorDescNumDims),
      PORTACL_DESC_USE(aclGetTensorDescDim, 0),
      PORTACL_DESC(aclGetTensorDescDimV2, 0, w.Out<int64_t>()),
      PORTACL_DESC_USE(aclSetTensorDescName, "a name that is too long for a small string"),
      {"aclGetTensorDescName", PORTACL_CALL(Answer(aclGetTensorDescName(w.Made<aclTensorDesc>()))),
       kDesc, kEndDesc},
      PORTACL_DESC(aclSetTensorFormat, ACL_FORMAT_NCHW),
      PORTACL_DESC(aclSetTensorShape, 2, kShape),
      PORTACL_DESC(aclSetTensorStorageFormat, ACL_FORMAT_NCHW),
      PORTACL_DESC(aclSetTensorStorageShape, 2, kShape),
      PORTACL_DESC(aclSetTensorOriginFormat, ACL_FORMAT_NCHW),
      PORTACL_DESC(aclSetTensorOriginShape, 2, kShape),
      PORTACL_DESC(aclSetTensorPlaceMent, ACL_MEMTYPE_HOST),
      PORTACL_DESC(aclSetTensorConst, w.host, 24),
      {"aclSetTensorShapeRange", SetRange, kDesc, kEndDesc},
  };
}

const Rows creation_rows(CreationRows());
const Rows question_rows(QuestionRows());
const Rows buffer_rows(BufferRows());
const Rows description_rows(DescriptionRows());

}  // namespace
}  // namespace portacl_test

// The attributes of graph operators.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "acl/acl_op.h"
#include "api/acl_op_handles.h"
#include "api/handles.h"
#include "api/shim.h"

namespace {

using portacl::api::AttributeValue;
using portacl::api::Guarded;
using portacl::api::Handles;
using portacl::base::Status;

// Sets attribute `name` to the result of make().
template <class Make>
aclError Set(const char* function, aclopAttr* attr, const char* name, Make make) {
  return Guarded(function, [&]() -> Status {
    if (attr == nullptr) return {ACL_ERROR_INVALID_PARAM, "attr is null"};
    const std::shared_ptr<aclopAttr> found = Handles<aclopAttr>().Find(attr);
    if (found == nullptr) {
      return {ACL_ERROR_INVALID_PARAM, "attr is not a live handle: destroyed, or never created"};
    }
    if (name == nullptr || *name == '\0') {
      return {ACL_ERROR_INVALID_PARAM, "attrName is null or empty"};
    }
    AttributeValue value;
    PORTACL_RETURN_IF_ERROR(make(&value));
    auto shared = std::make_shared<const AttributeValue>(std::move(value));
    found->values.insert_or_assign(name, std::move(shared));
    return {};
  });
}

// Makes the value of a scalar attribute.
template <class T>
auto One(T value) {
  return [value](AttributeValue* result) -> Status {
    *result = value;
    return {};
  };
}

// Makes the value of a list attribute: `count` elements of type `Element`.
template <class Element, class Value>
auto List(int count, const Value* values) {
  return [count, values](AttributeValue* result) -> Status {
    if (count < 0) {
      return {ACL_ERROR_INVALID_PARAM,
              fmt::format("numValues is {}, but must be at least 0", count)};
    }
    if (values == nullptr && count > 0) {
      return {ACL_ERROR_INVALID_PARAM, fmt::format("values is null, but numValues is {}", count)};
    }
    std::vector<Element> list;
    list.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) list.push_back(static_cast<Element>(values[i]));
    *result = std::move(list);
    return {};
  };
}

}  // namespace

extern "C" {

aclopAttr* aclopCreateAttr() {
  aclopAttr* handle = nullptr;
  Guarded(__func__, [&]() -> Status {
    handle = Handles<aclopAttr>().Add(std::make_shared<aclopAttr>());
    return {};
  });
  return handle;
}

void aclopDestroyAttr(const aclopAttr* attr) {
  Guarded(__func__, [&]() -> Status {
    if (attr == nullptr || Handles<aclopAttr>().Take(attr) != nullptr) return {};
    return {ACL_ERROR_INVALID_PARAM, "attr is not a live handle: destroyed already"};
  });
}

aclError aclopSetAttrBool(aclopAttr* attr, const char* attrName, uint8_t attrValue) {
  return Set(__func__, attr, attrName, One(attrValue != 0));
}
aclError aclopSetAttrInt(aclopAttr* attr, const char* attrName, int64_t attrValue) {
  return Set(__func__, attr, attrName, One(attrValue));
}
aclError aclopSetAttrFloat(aclopAttr* attr, const char* attrName, float attrValue) {
  return Set(__func__, attr, attrName, One(attrValue));
}
aclError aclopSetAttrString(aclopAttr* attr, const char* attrName, const char* attrValue) {
  return Set(__func__, attr, attrName, [attrValue](AttributeValue* result) -> Status {
    if (attrValue == nullptr) return {ACL_ERROR_INVALID_PARAM, "attrValue is null"};
    *result = std::string(attrValue);
    return {};
  });
}
aclError aclopSetAttrListString(aclopAttr* attr, const char* attrName, int numValues,
                                const char** values) {
  for (int i = 0; values != nullptr && i < numValues; ++i) {
    if (values[i] != nullptr) continue;
    return Set(__func__, attr, attrName, [i](AttributeValue*) -> Status {
      return {ACL_ERROR_INVALID_PARAM, "values[" + std::to_string(i) + "] is null"};
    });
  }
  return Set(__func__, attr, attrName, List<std::string>(numValues, values));
}
aclError aclopSetAttrListInt(aclopAttr* attr, const char* attrName, int numValues,
                             const int64_t* values) {
  return Set(__func__, attr, attrName, List<int64_t>(numValues, values));
}
aclError aclopSetAttrListFloat(aclopAttr* attr, const char* attrName, int numValues,
                               const float* values) {
  return Set(__func__, attr, attrName, List<float>(numValues, values));
}
aclError aclopSetAttrListBool(aclopAttr* attr, const char* attrName, int numValues,
                              const uint8_t* values) {
  return Set(__func__, attr, attrName, List<bool>(numValues, values));
}

aclError aclopSetAttrDataType(aclopAttr* attr, const char* attrName, aclDataType attrValue) {
  return Set(__func__, attr, attrName,
             One(portacl::api::DataTypeAttribute{portacl::api::RawValue(attrValue)}));
}
aclError aclopSetAttrListListInt(aclopAttr* attr, const char* attrName, int numLists,
                                 const int* numValues, const int64_t* const values[]) {
  return Set(__func__, attr, attrName, [&](AttributeValue* result) -> Status {
    if (numLists < 0) {
      return {ACL_ERROR_INVALID_PARAM,
              fmt::format("numLists is {}, but must be at least 0", numLists)};
    }
    if (numLists > 0 && (numValues == nullptr || values == nullptr)) {
      return {ACL_ERROR_INVALID_PARAM,
              fmt::format("{} is null, but numLists is {}",
                          numValues == nullptr ? "numValues" : "values", numLists)};
    }
    std::vector<std::vector<int64_t>> lists;
    for (int i = 0; i < numLists; ++i) {
      AttributeValue list;
      PORTACL_RETURN_IF_ERROR(List<int64_t>(numValues[i], values[i])(&list));
      lists.push_back(std::get<std::vector<int64_t>>(std::move(list)));
    }
    *result = std::move(lists);
    return {};
  });
}

}  // extern "C"

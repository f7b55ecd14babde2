// Phase 1 of functions that PyTorch's kernels compute. The generated functions call it.
#ifndef PORTACL_API_ACLNN_ATEN_H_
#define PORTACL_API_ACLNN_ATEN_H_

#include <cstdint>
#include <span>
#include <type_traits>

#include "aclnn/aclnn_base.h"
#include "aten/row.h"
#include "base/status.h"
#include "ops/executor.h"

namespace portacl::api {

// An argument of the caller. The parameter's kind says which member is set.
union Given {
  const void* handle;
  int64_t integer;
  double number;

  Given() = default;
  template <class T>
  Given(T value) {  // NOLINT: conversion is its purpose
    if constexpr (std::is_pointer_v<T>) {
      handle = value;
    } else if constexpr (std::is_floating_point_v<T>) {
      number = value;
    } else {
      integer = static_cast<int64_t>(value);
    }
  }
};

aclnnStatus PhaseOneAten(const aten::Row& row, std::span<const Given> given,
                         uint64_t* workspace_size, aclOpExecutor** executor);

// Plans a call by the row `function`, after a companion operator has refused the call. Not ok if
// the table has no such row, or if the row refuses the call, too.
base::Status PlanAten(const char* function, std::span<const Given> given,
                      ops::PlannedCall* planned);

// Returns all rows with functions of their own.
std::span<const aten::Row* const> AtenRows();

}  // namespace portacl::api

#endif  // PORTACL_API_ACLNN_ATEN_H_

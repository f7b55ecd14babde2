// Phase 1 of a function that PyTorch's kernels compute. The generated functions call it.
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

// An argument as it came: which member is set follows from the parameter's kind.
union Given {
  const void* handle = nullptr;
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

// A plan by the table's row `function`, for a call that a companion operator has refused. Not ok if
// there is no such row, or the row refuses too.
base::Status PlanAten(const char* function, std::span<const Given> given,
                      ops::PlannedCall* planned);

// All rows that have a function of their own.
std::span<const aten::Row* const> AtenRows();

}  // namespace portacl::api

#endif  // PORTACL_API_ACLNN_ATEN_H_

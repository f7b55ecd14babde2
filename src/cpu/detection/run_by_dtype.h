// The end of a file of kernels: the function that runs a class of kernels for the dtype of a call.
#ifndef PORTACL_CPU_DETECTION_RUN_BY_DTYPE_H_
#define PORTACL_CPU_DETECTION_RUN_BY_DTYPE_H_

#include "base/dispatch.h"

// Class<T>(params, geometry, workspace).Run(), for plans that have one geometry: NamePlan.
#define PORTACL_RUN_BY_DTYPE(Class)                                                  \
  void Run(const Params& params, const Class##Plan& plan, void* workspace) {         \
    base::DispatchFloating(params.dtype, [&](auto tag) {                             \
      Class<typename decltype(tag)::type>(params, plan.geometry(), workspace).Run(); \
    });                                                                              \
  }

#endif  // PORTACL_CPU_DETECTION_RUN_BY_DTYPE_H_

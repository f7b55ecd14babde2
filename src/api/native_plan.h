// The object behind a portaclPlan.
#ifndef PORTACL_API_NATIVE_PLAN_H_
#define PORTACL_API_NATIVE_PLAN_H_

#include <memory>

#include "ops/plan.h"
#include "portacl/portacl.h"

struct portaclPlan {
  std::shared_ptr<const portacl::ops::Plan> plan;
};

#endif  // PORTACL_API_NATIVE_PLAN_H_

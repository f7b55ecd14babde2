// The tensors of one grid sampler gradient in device memory.
#ifndef PORTACL_TESTS_SUPPORT_API_GRID_ON_DEVICE_H_
#define PORTACL_TESTS_SUPPORT_API_GRID_ON_DEVICE_H_

#include "support/api/acl_fixture.h"
#include "support/api/grid_case.h"

namespace portacl_test {

// `c` outlives it.
struct GridOnDevice {
  explicit GridOnDevice(GridCase* c)
      : input_grad(c->input.element(), c->input.shape()),
        grid_grad(c->grid.element(), c->grid.shape()),
        grad_output(&c->grad_output),
        input(&c->input),
        grid(&c->grid),
        to_input(&input_grad),
        to_grid(&grid_grad) {}

  Tensor input_grad;
  Tensor grid_grad;
  DeviceTensor grad_output;
  DeviceTensor input;
  DeviceTensor grid;
  DeviceTensor to_input;
  DeviceTensor to_grid;
};

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_GRID_ON_DEVICE_H_

/* The same gradient by the operator's graph name: descriptions and attributes instead of tensors
 * and arguments. A 2 x 3 image was doubled to 4 x 6.
 *
 *   g++ upsample_nearest_exact2d_grad.cpp -I$ASCEND_HOME_PATH/include \
 *       -L$ASCEND_HOME_PATH/lib64 -lascendcl -lacl_op_compiler
 */
#include "acl/acl_op_compiler.h"
#include "acl_example.h"

int main() {
  const example::Device device;
  std::vector<float> values;
  for (int i = 0; i < 24; ++i) values.push_back(static_cast<float>(i) / 4);
  const example::Buffer from(values);
  const example::Buffer to(6 * sizeof(float));
  const int64_t output_shape[] = {1, 1, 4, 6};
  const int64_t input_shape[] = {1, 1, 2, 3};
  aclTensorDesc* grad_output = aclCreateTensorDesc(ACL_FLOAT, 4, output_shape, ACL_FORMAT_ND);
  aclTensorDesc* grad_input = aclCreateTensorDesc(ACL_FLOAT, 4, input_shape, ACL_FORMAT_ND);
  aclDataBuffer* input = aclCreateDataBuffer(from.data(), from.bytes());
  aclDataBuffer* output = aclCreateDataBuffer(to.data(), to.bytes());
  aclopAttr* attributes = aclopCreateAttr();
  ACL_EXAMPLE_CHECK(aclopSetAttrListInt(attributes, "output_size", 2, output_shape + 2));
  ACL_EXAMPLE_CHECK(aclopSetAttrListInt(attributes, "input_size", 4, input_shape));

  ACL_EXAMPLE_CHECK(aclopCompileAndExecute("UpsampleNearestExact2dGrad", 1, &grad_output, &input, 1,
                                           &grad_input, &output, attributes, ACL_ENGINE_SYS,
                                           ACL_COMPILE_SYS, nullptr, device.stream()));
  device.Synchronize();
  example::Print("grad_input", to.Read(), 3);

  aclopDestroyAttr(attributes);
  aclDestroyDataBuffer(input);
  aclDestroyDataBuffer(output);
  aclDestroyTensorDesc(grad_output);
  aclDestroyTensorDesc(grad_input);
  return 0;
}

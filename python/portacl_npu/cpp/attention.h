// Scaled dot product attention on the device.
#pragma once

namespace portacl_npu {

// Lets it be one operator where it is one on the CPU, not its parts.
void ChooseAttentionAsOnCpu();

}  // namespace portacl_npu

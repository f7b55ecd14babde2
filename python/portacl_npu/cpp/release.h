// The thread by which the plugin releases tensors.
#pragma once

namespace portacl_npu {

// Lets that thread of each device sleep longer.
void CalmReleaseThreads();

}  // namespace portacl_npu

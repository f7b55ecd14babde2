// The number of devices of a process.
#ifndef PORTACL_RUNTIME_DEVICE_NUMBER_H_
#define PORTACL_RUNTIME_DEVICE_NUMBER_H_

#include <cstdint>
#include <string_view>

namespace portacl::runtime {

constexpr int64_t kMostDevices = 64;

// Returns how many devices a list such as "4,5" leaves visible. As on the vendor's machines, they
// get numbers from 0 in the list's order. The list ends at the first entry that is no device, or
// that is a repetition: "-1" leaves none. `machine` is the machine's number of devices; if it is 0
// (unknown), the machine has the devices that the list names.
int64_t VisibleDevices(std::string_view list, int64_t machine);

// Computes it from PORTACL_DEVICES, ASCEND_RT_VISIBLE_DEVICES and ASCEND_DEVICE_ID. The last
// variable names the device that a program will use: it makes an unknown number large enough.
int64_t DevicesOfEnvironment();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_DEVICE_NUMBER_H_

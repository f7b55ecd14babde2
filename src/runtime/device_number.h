// How many devices a process has.
#ifndef PORTACL_RUNTIME_DEVICE_NUMBER_H_
#define PORTACL_RUNTIME_DEVICE_NUMBER_H_

#include <cstdint>
#include <string_view>

namespace portacl::runtime {

constexpr int64_t kMostDevices = 64;

// The number of devices that a list such as "4,5" of a machine's devices leaves visible. As on the
// vendor's machines, they are numbered from 0 in the list's order. The list ends at the first entry
// that is no device or is a repetition: "-1" leaves none. `machine` is the number of devices; with
// 0 (not known) the machine has the devices that the list names.
int64_t VisibleDevices(std::string_view list, int64_t machine);

// From PORTACL_DEVICES, ASCEND_RT_VISIBLE_DEVICES and ASCEND_DEVICE_ID. The last one names the
// device that a program will use: if the number is not given, it is large enough.
int64_t DevicesOfEnvironment();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_DEVICE_NUMBER_H_

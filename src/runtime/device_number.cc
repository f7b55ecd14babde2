// Computes the number of devices from the environment.
#include "runtime/device_number.h"

#include <algorithm>
#include <bitset>
#include <charconv>
#include <string>

#include "base/log.h"
#include "base/settings.h"

namespace portacl::runtime {
namespace {

// Returns the device that a text names, or -1.
int64_t DeviceIn(std::string_view text, int64_t machine) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  int64_t device = -1;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), device);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return -1;
  return device < machine ? device : -1;
}

}  // namespace

int64_t VisibleDevices(std::string_view list, int64_t machine) {
  if (machine == 0) machine = kMostDevices;
  std::bitset<kMostDevices> seen;
  for (std::string_view rest = list;;) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const int64_t device = DeviceIn(rest.substr(0, comma), machine);
    if (device < 0 || seen[static_cast<size_t>(device)]) break;
    seen.set(static_cast<size_t>(device));
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
  }
  return static_cast<int64_t>(seen.count());
}

int64_t DevicesOfEnvironment() {
  const int64_t machine = base::settings::Devices(0);
  const std::string_view list = base::settings::VendorVisibleDevices();
  if (!list.empty()) {
    const int64_t visible = VisibleDevices(list, machine);
    if (visible == 0 && base::LogEnabled(base::LogLevel::kWarn)) {
      base::Log(base::LogLevel::kWarn,
                "ASCEND_RT_VISIBLE_DEVICES is '" + std::string(list) + "': no device is visible");
    }
    return visible;
  }
  if (machine > 0) return machine;
  return std::max<int64_t>(DeviceIn(base::settings::VendorDevice(), kMostDevices) + 1, 1);
}

}  // namespace portacl::runtime

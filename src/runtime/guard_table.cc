// Finds and describes entries in the table of guard mode.
#include "runtime/guard_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/guard.h"

namespace portacl::runtime {

GuardTable& TheGuardTable() {
  static constinit base::Immortal<GuardTable> table;
  return table.Get();
}

void EnterRegion(const GuardRegion& region) {
  GuardTable& table = TheGuardTable();
  const std::lock_guard lock(table.mutex);
  const auto entry = table.regions.emplace(region.user, region).first;
  if (region.kernel == 0) return;
  try {
    table.users.emplace(region.kernel, region.user);
  } catch (...) {
    table.regions.erase(entry);
    throw;
  }
}

bool FindRegion(uintptr_t address, GuardRegion* region, bool* in_kernel_range) {
  GuardTable& table = TheGuardTable();
  const auto around = [&](const auto& ranges, uintptr_t* start) {
    auto next = ranges.upper_bound(address);
    if (next == ranges.begin()) return false;
    *start = std::prev(next)->first;
    return true;
  };
  uintptr_t start = 0;
  if (around(table.regions, &start) && address - start < table.regions.at(start).bytes) {
    *region = table.regions.at(start);
    *in_kernel_range = false;
    return true;
  }
  if (!around(table.users, &start)) return false;
  *region = table.regions.at(table.users.at(start));
  *in_kernel_range = true;
  return address - start < region->bytes;
}

void PrintStacks(const GuardRegion& region) {
  PrintStack("allocated at", region.allocated);
  if (region.freed) PrintStack("freed at", region.released);
}

std::string DescribeForeign(const void* address) {
  GuardRegion region;
  bool in_kernel_range = false;
  GuardTable& table = TheGuardTable();
  const std::lock_guard lock(table.mutex);
  if (FindRegion(reinterpret_cast<uintptr_t>(address), &region, &in_kernel_range)) {
    if (region.freed) return "freed memory";
    if (region.watched) return "in a reserved range of addresses, where no memory is mapped";
    return fmt::format("outside its allocation of {} bytes", region.size);
  }
  return "host memory";
}

std::string DescribeLiveAllocations() {
  std::vector<GuardRegion> live;  // copied, because naming frames takes the loader's lock
  {
    GuardTable& table = TheGuardTable();
    const std::lock_guard lock(table.mutex);
    for (const auto& [user, region] : table.regions) {
      if ((!region.freed || region.leaked) && !region.watched) live.push_back(region);
    }
  }
  // Allocations with the same stack share one line.
  struct Place {
    std::vector<const GuardRegion*> regions;
    size_t bytes = 0;
  };
  std::map<std::tuple<std::vector<void*>, bool, bool>, Place> places;
  for (const GuardRegion& region : live) {
    const auto* const frames = region.allocated.frames.begin();
    Place& place =
        places[{{frames, frames + region.allocated.count}, region.kernel != 0, region.leaked}];
    place.regions.push_back(&region);
    place.bytes += region.size;
  }
  std::vector<const Place*> largest_first;
  largest_first.reserve(places.size());
  for (const auto& [calls, place] : places) largest_first.push_back(&place);
  std::stable_sort(largest_first.begin(), largest_first.end(),
                   [](const Place* a, const Place* b) { return a->bytes > b->bytes; });
  std::string text;
  for (const Place* const place : largest_first) {
    const GuardRegion& region = *place->regions.front();
    const bool one = place->regions.size() == 1;
    text += fmt::format("  {}{} bytes of {} memory{}{}, allocated at:\n",
                        one ? "" : fmt::format("{} allocations, ", place->regions.size()),
                        place->bytes, region.kernel != 0 ? "device" : "host",
                        one ? fmt::format(" at {:#x}", region.user + region.offset) : "",
                        region.leaked ? " (freed by a reset of the device)" : "");
    text += DescribeStack(region.allocated);
  }
  return text;
}

}  // namespace portacl::runtime

// `npu-smi info`, for scripts that parse it: portacl's devices in the tables of the vendor's
// program, which says in its first line that it is not that program.
#include <acl/acl.h>
#include <fmt/format.h>
#include <portacl/version.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace portacl::npu_smi {
namespace {

constexpr const char* kUsage =
    "portacl's stand-in for npu-smi: the machine has no NPU, its devices are portacl's\n"
    "  npu-smi info       devices, their memory, processes that have loaded libportacl.so\n"
    "  npu-smi info -l    the devices as a list\n"
    "  npu-smi info -m    the devices and their numbers\n"
    "  npu-smi -v         the version\n";
constexpr const char* kRule =
    "+---------------------------+---------------+-------------------------------------------------"
    "---+\n";
constexpr const char* kDoubleRule =
    "+===========================+===============+================================================="
    "===+\n";
constexpr const char* kPlainRule =
    "+------------------------------------------------------------------------------------------"
    "------+\n";

struct Process {
  int64_t id = 0;
  std::string name;
  size_t megabytes = 0;  // resident, with the device memory: that is memory of the process
};

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool HasLibrary(const std::filesystem::path& process) {
  return ReadFile(process / "maps").find("/libportacl.so") != std::string::npos;
}

size_t ResidentMegabytes(const std::filesystem::path& process) {
  std::ifstream pages(process / "statm");
  size_t size = 0, resident = 0;
  pages >> size >> resident;
  return (resident * static_cast<size_t>(sysconf(_SC_PAGESIZE))) >> 20;
}

// This user's processes, or all that the caller may look into; without this process.
std::vector<Process> FindProcesses() {
  std::vector<Process> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    const bool numeric = name.find_first_not_of("0123456789") == std::string::npos;
    if (!numeric || name == std::to_string(getpid()) || !HasLibrary(entry.path())) continue;
    std::string command = ReadFile(entry.path() / "comm");
    command.resize(std::min(command.find('\n'), command.size()));
    found.push_back({std::stoll(name), command, ResidentMegabytes(entry.path())});
  }
  std::sort(found.begin(), found.end(),
            [](const Process& a, const Process& b) { return a.id < b.id; });
  return found;
}

uint32_t DeviceCount() {
  uint32_t count = 0;
  return aclrtGetDeviceCount(&count) == ACL_SUCCESS ? count : 0;
}

size_t TotalMegabytes(uint32_t device) {
  size_t free = 0, total = 0;
  if (aclrtSetDevice(static_cast<int32_t>(device)) != ACL_SUCCESS) return 0;
  if (aclrtGetMemInfo(ACL_HBM_MEM, &free, &total) != ACL_SUCCESS) total = 0;
  aclrtResetDevice(static_cast<int32_t>(device));
  return total >> 20;
}

void PrintDevices(uint32_t count, const std::vector<Process>& processes) {
  size_t used = 0;
  for (const Process& process : processes) used += process.megabytes;
  fmt::print("{}", kPlainRule);
  fmt::print("| {:<95}|\n", fmt::format("npu-smi of portacl {}: no NPU, devices of this CPU       "
                                        "Version: portacl-{}",
                                        PORTACL_VERSION_STRING, PORTACL_VERSION_STRING));
  fmt::print("{}", kRule);
  fmt::print("| {:<26}| {:<14}| {:<51}|\n", "NPU   Name", "Health",
             "Power(W)    Temp(C)           Hugepages-Usage(page)");
  fmt::print("| {:<26}| {:<14}| {:<51}|\n", "Chip", "Bus-Id",
             "AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)");
  fmt::print("{}", kDoubleRule);
  for (uint32_t device = 0; device < count; ++device) {
    fmt::print("| {:<5} {:<20}| {:<14}| {:<11} {:<17} {:<21}|\n", device, aclrtGetSocName(), "OK",
               "-", "-", "0    / 0");
    // All devices are memory of this machine: each shows the memory of all processes.
    fmt::print("| {:<26}| {:<14}| {:<11} {:<17} {:<21}|\n", 0, "NA", 0, "0    / 0",
               fmt::format("{:<4} / {}", used, TotalMegabytes(device)));
    fmt::print("{}", kDoubleRule);
  }
}

// Which of several devices a process uses is known in that process only.
void PrintProcesses(uint32_t count, const std::vector<Process>& processes) {
  fmt::print("{}", kRule);
  fmt::print("| {:<26}| {:<14}| {:<25}| {:<24}|\n", "NPU     Chip", "Process id", "Process name",
             "Process memory(MB)");
  fmt::print("{}", kDoubleRule);
  for (const Process& process : processes) {
    fmt::print("| {:<7} {:<18}| {:<14}| {:<25}| {:<24}|\n", count == 1 ? "0" : "-", 0, process.id,
               process.name, process.megabytes);
  }
  for (uint32_t device = 0; processes.empty() && device < count; ++device) {
    fmt::print("| {:<95}|\n", fmt::format("No running processes found in NPU {}", device));
  }
  fmt::print("{}", kDoubleRule);
}

void PrintList(uint32_t count) {
  fmt::print("\t{:<30} : {}\n", "Total Count", count);
  for (uint32_t device = 0; device < count; ++device) {
    fmt::print("\n\t{:<30} : {}\n\t{:<30} : {}\n\t{:<30} : 1\n", "NPU ID", device, "Product Name",
               "portacl (no NPU)", "Chip Count");
  }
}

void PrintNumbers(uint32_t count) {
  fmt::print("\t{:<30} {:<30} {:<30} {}\n", "NPU ID", "Chip ID", "Chip Logic ID", "Chip Name");
  for (uint32_t device = 0; device < count; ++device) {
    fmt::print("\t{:<30} {:<30} {:<30} {}\n", device, 0, device, aclrtGetSocName());
  }
}

int Run(const std::vector<std::string_view>& words) {
  using Words = std::vector<std::string_view>;
  if (words == Words{"info"}) {
    const uint32_t count = DeviceCount();
    const std::vector<Process> processes = FindProcesses();
    PrintDevices(count, processes);
    PrintProcesses(count, processes);
  } else if (words == Words{"info", "-l"}) {
    PrintList(DeviceCount());
  } else if (words == Words{"info", "-m"}) {
    PrintNumbers(DeviceCount());
  } else if (words == Words{"-v"}) {
    fmt::print("npu-smi version: portacl-{}\n", PORTACL_VERSION_STRING);
  } else if (words.empty() || words == Words{"-h"} || words == Words{"--help"}) {
    fmt::print("{}", kUsage);
  } else {
    fmt::print(stderr, "npu-smi: portacl's stand-in does not know '{}'\n{}", fmt::join(words, " "),
               kUsage);
    return 1;
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace portacl::npu_smi

int main(int argc, char** argv) { return portacl::npu_smi::Run({argv + 1, argv + argc}); }

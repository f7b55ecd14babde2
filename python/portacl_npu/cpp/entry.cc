// What Python calls: which operators are taken, and how.
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention.h"
#include "collectives.h"
#include "direct.h"
#include "memory.h"
#include "random.h"
#include "release.h"
#include "route.h"

namespace portacl_npu {
namespace {

struct Silence final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

template <class Kernel, class... Args>
torch::CppFunction Boxed(Args... args) {
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(std::move(args)...));
}

c10::OperatorHandle OperatorOf(const char* space, const std::string& name) {
  const size_t dot = name.find('.');
  const std::string overload = dot == std::string::npos ? "" : name.substr(dot + 1);
  return c10::Dispatcher::singleton().findSchemaOrThrow(
      (std::string(space) + "::" + name.substr(0, dot)).c_str(), overload.c_str());
}

// Null where the plugin's kernel stays as it is.
std::optional<torch::CppFunction> KernelBeside(const std::string& kind,
                                               const c10::OperatorHandle& op) {
  if (kind == "by parts") {
    return Boxed<ByParts>(KernelOfPlugin(op, c10::DispatchKey::AutogradPrivateUse1));
  }
  BoxedKernel plugins = KernelOfPlugin(op, c10::DispatchKey::PrivateUse1);
  if (!plugins) return std::nullopt;
  return Boxed<Preferred>(std::move(plugins), /*with_double=*/kind != "prefer");
}

torch::CppFunction KernelOf(const std::string& kind) {
  if (kind == "route") return Boxed<Routed>();
  if (kind == "route with hosts") return Boxed<Routed>(/*with_hosts=*/true);
  if (kind == "allocate") return Boxed<Routed>(/*with_hosts=*/false, /*allocates=*/true);
  if (kind == "to copy") return Boxed<ToCopy>();
  if (kind == "autograd") return Boxed<StockAutograd>();
  if (kind == "no autograd") return torch::CppFunction::makeFallthrough();
  if (kind == "composite") return Boxed<Composite>();
  if (kind == "collective") return Boxed<Collective>();
  TORCH_CHECK(kind == "refuse", "portacl_npu: unknown kind of kernel: ", kind);
  return Boxed<Refused>();
}

void Take(const char* space, const char* names, const std::string& kind) {
  InstallMemory();
  Silence silence;  // PyTorch warns of each kernel that takes the place of another
  const c10::WarningUtils::WarningHandlerGuard quiet(&silence);
  static auto& libraries = *new std::vector<torch::Library>;  // until the process ends
  const bool autograd = kind == "autograd" || kind == "no autograd" || kind == "by parts";
  libraries.emplace_back(torch::Library::IMPL, space,
                         std::make_optional(autograd ? c10::DispatchKey::AutogradPrivateUse1
                                                     : c10::DispatchKey::PrivateUse1),
                         __FILE__, __LINE__);
  for (const char* name = names; *name != '\0';) {
    const char* const end = std::strchr(name, '\n');
    const std::string each(name, end);
    name = end + 1;
    if (kind == "prefer" || kind == "prefer with double" || kind == "by parts") {
      if (auto kernel = KernelBeside(kind, OperatorOf(space, each))) {
        libraries.back().impl(each.c_str(), std::move(*kernel));
      }
      continue;
    }
    auto direct = kind == "route" ? DirectKernelOf(each) : std::nullopt;
    libraries.back().impl(each.c_str(), direct ? std::move(*direct) : KernelOf(kind));
  }
}

// Null, or what went wrong.
template <class Action>
const char* Told(const Action& action) {
  try {
    action();
    return nullptr;
  } catch (const std::exception& error) {
    thread_local std::string text;
    text = error.what();
    return text.c_str();
  }
}

}  // namespace
}  // namespace portacl_npu

#define PORTACL_NPU_API extern "C" __attribute__((visibility("default")))

// `names`: operators of namespace `space`, each with a newline behind it. Null, or what went wrong.
PORTACL_NPU_API const char* portacl_npu_take(const char* space, const char* names,
                                             const char* kind) {
  return portacl_npu::Told([&] { portacl_npu::Take(space, names, kind); });
}

// Null, or what went wrong in a collective.
PORTACL_NPU_API const char* portacl_npu_wait_for_collectives() {
  return portacl_npu::Told(portacl_npu::WaitForCollectives);
}

// `generator`: the address of torch.npu.default_generators[device].
PORTACL_NPU_API void portacl_npu_set_generator(int device, void* generator) {
  portacl_npu::SetDefaultGenerator(device, static_cast<c10::GeneratorImpl*>(generator));
}

// Collectives between begin != 0 and begin == 0 make one work. The next barrier returns it.
PORTACL_NPU_API void portacl_npu_coalesce(int begin) {
  begin != 0 ? portacl_npu::BeginCoalescing() : portacl_npu::EndCoalescing();
}

// Installs all but the kernels of operators.
PORTACL_NPU_API void portacl_npu_install() {
  portacl_npu::ChooseAttentionAsOnCpu();
  portacl_npu::CalmReleaseThreads();
}

// Finds arguments and compositions by their names.
#include "aten/torch/compose.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <map>

namespace portacl::aten {

const c10::IValue& Inputs::operator[](std::string_view name) const {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (name == parameters_[i].name) return values_[i];
  }
  TORCH_CHECK(false, "the function has no parameter ", name);
}

bool Inputs::knows(std::string_view name) const {
  return std::any_of(parameters_.begin(), parameters_.end(),
                     [&](const Parameter& parameter) { return name == parameter.name; });
}

Composition CompositionOf(std::string_view name, Composition added) {
  static auto& all = *new std::map<std::string_view, Composition>;
  if (added != nullptr) all[name] = added;
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace portacl::aten

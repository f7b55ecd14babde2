// Verdicts as JSON.
#include "tools/testing/verdict_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/testing/common_traits.h"

namespace portacl::golden {
namespace {

using nlohmann::ordered_json;

// JSON has no NaN and no infinity: they go as their names.
ordered_json Number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

ordered_json ElementJson(const OutputVerdict& output, const Element& element) {
  return {{"index", IndexOf(output.shape, element.index)},
          {"actual", element.unwritten ? ordered_json("never written") : Number(element.actual)},
          {"golden", Number(element.golden)},
          {"exact", Number(element.exact)},
          {"error", Number(element.error)},
          {"allowed", Number(element.allowed)}};
}

ordered_json OutputJson(const CaseVerdict& verdict, const OutputVerdict& output,
                        const std::string& golden_folder) {
  ordered_json json = {{"parameter", output.parameter}, {"passed", output.passed}};
  if (!golden_folder.empty()) {
    json["golden_file"] =
        fmt::format("{}/{}/{}.npy", golden_folder, verdict.c.name, output.parameter);
  }
  if (!output.actual_file.empty()) json["actual_file"] = output.actual_file;
  json["dtype"] = cli::DataTypeName(output.dtype);
  json["shape"] = output.shape;
  json["count"] = output.count;
  json["failed"] = output.failed;
  json["never_written"] = output.unwritten;
  json["nan_mismatch"] = output.nan_mismatch;
  json["infinity_mismatch"] = output.infinity_mismatch;
  json["different_bits"] = output.different_bits;
  json["largest_error"] = Number(output.largest_error);
  json["largest_error_of_bound"] = Number(output.largest_excess);
  json["largest_ulp"] = output.largest_ulp;
  json["mere"] = Number(output.mere);
  json["mare"] = Number(output.mare);
  json["reason"] = output.reason;
  json["worst_unit"] = output.in_ulp ? "ulp" : "value";
  json["worst"] = ordered_json::array();
  for (const Element& element : output.worst) json["worst"].push_back(ElementJson(output, element));
  return json;
}

}  // namespace

ordered_json VerdictJson(const CaseVerdict& verdict, const std::string& golden_folder) {
  ordered_json entry = {
      {"name", verdict.c.name}, {"case", ToString(verdict.c)}, {"passed", verdict.passed()}};
  if (!verdict.fault.empty()) entry["fault"] = verdict.fault;
  if (!verdict.error.empty()) entry["error"] = verdict.error;
  entry["outputs"] = ordered_json::array();
  for (const OutputVerdict& output : verdict.outputs) {
    entry["outputs"].push_back(OutputJson(verdict, output, golden_folder));
  }
  return entry;
}

ordered_json FunctionsJson(const std::vector<FunctionFile>& functions) {
  ordered_json json = ordered_json::object();
  for (const FunctionFile& function : functions) json[function.name] = function.file;
  return json;
}

ordered_json VerdictsJson(const std::vector<CaseVerdict>& verdicts, const StandardOptions& standard,
                          const std::string& golden_folder,
                          const std::vector<FunctionFile>& functions) {
  size_t passed = 0;
  for (const CaseVerdict& verdict : verdicts) passed += verdict.passed() ? 1 : 0;
  ordered_json json = {{"passed", passed == verdicts.size()},
                       {"standard", StandardText(standard)},
                       {"count", verdicts.size()},
                       {"failed", verdicts.size() - passed}};
  if (!functions.empty()) json["functions"] = FunctionsJson(functions);
  if (const auto common = CommonTraits(verdicts); !common.empty()) json["common"] = common;
  json["cases"] = ordered_json::array();
  for (const CaseVerdict& verdict : verdicts) {
    json["cases"].push_back(VerdictJson(verdict, golden_folder));
  }
  return json;
}

}  // namespace portacl::golden

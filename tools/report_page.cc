// The template with its data.
#include "tools/report_page.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "tools/data/embedded.h"
#include "tools/file/file_io.h"

namespace portacl::cli {

void WriteReport(const std::string& path, const std::vector<golden::ReportRow>& rows,
                 const std::string& title, const std::string& standard, bool judged,
                 const std::vector<golden::FunctionFile>& functions) {
  const std::span<const unsigned char> file = EmbeddedFile("report.html");
  std::string page(file.begin(), file.end());
  std::string data = golden::ReportJson(rows, title, standard, judged, functions)
                         .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  // Inside <script> nothing may look like its end.
  for (size_t at = 0; (at = data.find("</", at)) != std::string::npos; at += 3) {
    data.replace(at, 2, "<\\/");
  }
  constexpr std::string_view kPlace = "@DATA@";
  page.replace(page.find(kPlace), kPlace.size(), data);
  WriteFile(path, page, nullptr, 0);
}

}  // namespace portacl::cli

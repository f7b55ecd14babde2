// The library's log. Off unless PORTACL_LOG (trace, debug, info, warn, err, off) names a level, or
// else ASCEND_GLOBAL_LOG_LEVEL (0 debug, 1 info, 2 warning, 3 error, 4 off). PORTACL_LOG=calls, or
// LEVEL,calls, also asks for a line of each operator call. Written to stderr. With
// ASCEND_SLOG_PRINT_TO_STDOUT=1 messages go to stdout: only errors, unless a level is named.
// Messages of refused calls go through aclGetRecentErrMsg whatever the level.
#ifndef PORTACL_BASE_LOG_H_
#define PORTACL_BASE_LOG_H_

#include <string_view>

namespace portacl::base {

enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError };

// Cheap (one relaxed load): ask before building a message on a hot path.
bool LogEnabled(LogLevel level);

void Log(LogLevel level, std::string_view message);

// Whether calls are logged. As cheap as LogEnabled.
bool CallLogEnabled();

// The line as it is, without time or level, and in one piece whatever other threads log.
void LogCall(std::string_view line);

}  // namespace portacl::base

#endif  // PORTACL_BASE_LOG_H_

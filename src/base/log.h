// The library's log on stderr. PORTACL_LOG (trace, debug, info, warn, err, off) sets its level, or
// else ASCEND_GLOBAL_LOG_LEVEL (0 debug, 1 info, 2 warning, 3 error, 4 off); else the log is off.
// PORTACL_LOG=calls, or LEVEL,calls, also writes a line for each operator run. Exception: with
// ASCEND_SLOG_PRINT_TO_STDOUT=1 messages go to stdout, and errors do so if no level is set.
// aclGetRecentErrMsg returns the messages of refused calls, whatever the level.
#ifndef PORTACL_BASE_LOG_H_
#define PORTACL_BASE_LOG_H_

#include <string_view>

namespace portacl::base {

enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError };

// Cheap (one relaxed load). Ask it before you build a message on a hot path.
bool LogEnabled(LogLevel level);

void Log(LogLevel level, std::string_view message);

// Returns true if calls are logged. As cheap as LogEnabled().
bool CallLogEnabled();

// Writes the line without time or level. Lines of other threads do not mix with it.
void LogCall(std::string_view line);

}  // namespace portacl::base

#endif  // PORTACL_BASE_LOG_H_

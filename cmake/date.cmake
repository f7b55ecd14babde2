# The date of the sources, for files that name a date. Never the clock's: the same sources give the
# same bytes.
#
#   PORTACL_DATE           2026-12-01, or nothing where nothing of the following is known
#   PORTACL_DATE_RFC2822   Tue, 01 Dec 2026 00:00:00 +0000; the beginning of 1970 where it is not known
#
# A released version's date is in its heading in CHANGELOG.md. Otherwise the date is
# SOURCE_DATE_EPOCH's, or the last commit's.
string(REPLACE "." "\\." portacl_date_version "${PROJECT_VERSION}")
file(STRINGS "${PROJECT_SOURCE_DIR}/CHANGELOG.md" portacl_date_heading
     REGEX "^## ${portacl_date_version} \\([0-9]+-[0-9]+-[0-9]+\\)$")
set(portacl_date_moment "")
if(portacl_date_heading MATCHES "([0-9]+-[0-9]+-[0-9]+)\\)$")
  set(portacl_date_moment "${CMAKE_MATCH_1}")
elseif("$ENV{SOURCE_DATE_EPOCH}" MATCHES "^[0-9]+$")
  set(portacl_date_moment "@$ENV{SOURCE_DATE_EPOCH}")
elseif(EXISTS "${PROJECT_SOURCE_DIR}/.git")  # not that of a repository around an unpacked archive
  execute_process(COMMAND git -C "${PROJECT_SOURCE_DIR}" log -1 --format=@%ct
                  OUTPUT_VARIABLE portacl_date_moment OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()

# portacl_date(VARIABLE FORMAT MOMENT)
function(portacl_date variable format moment)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env LC_ALL=C date -u -d "${moment}" "+${format}"
                  OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()
set(PORTACL_DATE "")
if(portacl_date_moment)
  portacl_date(PORTACL_DATE "%F" "${portacl_date_moment}")
else()
  set(portacl_date_moment "@0")
endif()
portacl_date(PORTACL_DATE_RFC2822 "%a, %d %b %Y %T +0000" "${portacl_date_moment}")

#include <algorithm>
#include <utility>

#include "orrery/base/text.h"
#include "orrery/ingest/nccl_tests/column_layout.h"
#include "orrery/ingest/nccl_tests/json_log.h"
#include "orrery/ingest/nccl_tests/text_log.h"
#include "orrery/ingest/registry.h"

namespace orrery::ingest::nccl_tests {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 30;

bool IsJson(std::string_view head) {
  return head.substr(std::min(head.find_first_not_of(" \t\r\n"), head.size())).starts_with('{');
}

bool IsReport(std::string_view head) {
  return Contains(head, "\"nccl_version\"") && Contains(head, "\"nthreads\"") &&
         Contains(head, "\"ngpus\"");
}

// Looks for the line of names around each "algbw".
bool HasColumnHeader(std::string_view head) {
  for (std::size_t at = head.find("algbw"); at != std::string_view::npos;
       at = head.find("algbw", at + 1)) {
    const std::size_t begin = head.rfind('\n', at) + 1;  // 0 in the first line
    const std::string_view line = head.substr(begin, head.find('\n', at) - begin);
    if (IsColumnHeader(SplitWords(line))) {
      return true;
    }
    at = begin + line.size() - 1;
  }
  return false;
}

bool Matches(const InputFile& file) {
  const std::string_view head = file.head();
  if (IsJson(head)) {
    return IsReport(head);
  }
  const bool is_binary = head.find('\0') != std::string_view::npos;
  return !is_binary && (Contains(head, "# nccl-tests version") || Contains(head, "# nThread") ||
                        HasColumnHeader(head));
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& /*options*/) {
  MeasurementTable table{.format = "nccl-tests", .file = file.path()};
  ORRERY_TRY(const std::string text, file.ReadText(kMaxBytes, table.problems));
  ORRERY_TRY(const std::vector<Run> runs, IsJson(text) ? ParseJsonLog(text, table.problems)
                                                       : ParseTextLog(text, table.problems));
  table.rows = ToTable(runs);
  return ContentOf(std::move(table), "an nccl-tests log without a complete row of results");
}

}  // namespace

// Output of nccl-tests and rccl-tests, as printed by any version or written with `-J`. Gives one
// table: test, nranks, size_bytes, count, data_type, redop, root; time_us, algbw_GBps, busbw_GBps
// and wrong out of place (oop_) and in place (ip_); then what the header says of the run.
constinit const Format kFormat{.name = "nccl-tests", .matches = Matches, .read = Read};

}  // namespace orrery::ingest::nccl_tests

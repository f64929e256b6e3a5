#include "orrery/ingest/nccl_tests/nccl_tests.h"

#include <algorithm>
#include <utility>

#include "orrery/ingest/nccl_tests/column_layout.h"
#include "orrery/ingest/nccl_tests/json_log.h"
#include "orrery/ingest/nccl_tests/text_log.h"

namespace orrery::ingest::nccl_tests {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 30;

bool Has(std::string_view text, std::string_view needle) {
  return text.find(needle) != std::string_view::npos;
}

bool IsJson(std::string_view head) {
  return head.substr(std::min(head.find_first_not_of(" \t\r\n"), head.size())).starts_with('{');
}

bool IsReport(std::string_view head) {
  return Has(head, "\"nccl_version\"") && Has(head, "\"nthreads\"") && Has(head, "\"ngpus\"");
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
  return !is_binary &&
         (Has(head, "# nccl-tests version") || Has(head, "# nThread") || HasColumnHeader(head));
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& /*options*/) {
  ORRERY_TRY(const auto source, file.OpenContent());
  const auto text = ReadAll(*source, kMaxBytes);
  if (!text) {
    return FailWithin(file.path(), text);
  }
  MeasurementTable table{.format = "nccl-tests", .file = file.path(), .rows = {}, .problems = {}};
  if (const std::string damage = source->damage(); !damage.empty()) {
    table.problems.Loss(damage);
  }
  auto runs =
      IsJson(*text) ? ParseJsonLog(*text, table.problems) : ParseTextLog(*text, table.problems);
  if (!runs) {
    return FailWithin(file.path(), runs);
  }
  table.rows = ToTable(*runs);
  if (table.rows.num_rows() == 0) {
    return Fail(Error::Kind::kInvalidInput,
                file.path() + ": an nccl-tests log without a complete row of results");
  }
  FileContent content;
  content.tables.push_back(std::move(table));
  return content;
}

}  // namespace

const Format& GetFormat() {
  static constexpr Format kFormat{.name = "nccl-tests", .matches = &Matches, .read = &Read};
  return kFormat;
}

}  // namespace orrery::ingest::nccl_tests

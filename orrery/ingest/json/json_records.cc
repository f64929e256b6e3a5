#include "orrery/ingest/json/json_records.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/text/decimal.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/json/json_repair.h"
#include "orrery/ingest/json/json_stream.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 30;
constexpr JsonLimits kLimits{.max_depth = 64, .max_value_bytes = kMaxBytes};
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

class Reader {
 public:
  Reader(std::span<const std::string_view> keys, trace::ProblemLog& problems)
      : keys_(keys), problems_(problems) {}

  // Objects in a row are the elements of a list that was never opened and has no commas.
  Result<std::vector<JsonRecord>> Run(std::string_view text) {
    text.remove_prefix(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
    const std::string list = fmt::format("[{}", text);
    const auto source = OpenMemory(list);
    JsonStream stream(*source, kLimits);
    ORRERY_TRY_STATUS(stream.EnterArray());
    while (true) {
      const auto object = stream.NextElement();
      if (!object) {
        problems_.Loss("text that is not JSON; the rest was not read", 1, object.error().message());
        break;
      }
      if (!*object) {
        break;
      }
      Add(**object, stream.value_offset() - 1);
    }
    if (stream.end() == JsonEnd::kInsideValue) {
      AddTruncated(list, stream.value_offset());
    }
    if (stream.end() == JsonEnd::kComplete) {
      problems_.Loss("closing bracket that nothing opened; the rest was not read", 1,
                     Place(stream.offset() - 2));
    }
    LogRepairs(repairs_, {}, problems_);
    std::erase_if(records_, [](const JsonRecord& record) { return record.empty(); });
    return std::move(records_);
  }

 private:
  static std::string Place(std::int64_t offset) { return fmt::format("byte {}", offset); }

  void Add(std::string_view object, std::int64_t offset) {
    JsonRecord record;
    if (!Fields(object, record)) {
      problems_.Loss("damaged record", 1, Place(offset));
    }
    records_.push_back(std::move(record));
  }

  void AddTruncated(std::string_view list, std::int64_t offset) {
    problems_.Loss("the file ends inside a record; its complete fields were read", 1,
                   Place(static_cast<std::int64_t>(list.size()) - 1));
    JsonRecord record;
    Fields(list.substr(std::min(static_cast<std::size_t>(offset), list.size())), record);
    records_.push_back(std::move(record));
  }

  // Takes fields up to the first damage; returns whether there was none.
  bool Fields(std::string_view object, JsonRecord& record) {
    if (!object.starts_with('{')) {
      return false;
    }
    const auto source = OpenMemory(object);
    JsonStream stream(*source, kLimits);
    return TakeFields(stream, record).has_value() && stream.end() == JsonEnd::kComplete;
  }

  Status TakeFields(JsonStream& stream, JsonRecord& record) {
    ORRERY_TRY_STATUS(stream.EnterObject());
    while (true) {
      ORRERY_TRY(const auto key, stream.NextKey());
      if (!key) {
        return {};
      }
      if (std::ranges::find(keys_, *key) == keys_.end()) {
        continue;
      }
      const std::string name(*key);
      ORRERY_TRY(const auto value, stream.TakeValue());
      if (value) {
        record[name] = RepairJson(*value, repairs_);
      }
    }
  }

  std::span<const std::string_view> keys_;
  trace::ProblemLog& problems_;
  JsonRepairs repairs_;
  std::vector<JsonRecord> records_;
};

// Fails where the head ends or is damaged; what was seen by then counts.
Status CollectKeys(JsonStream& stream, std::set<std::string, std::less<>>& seen) {
  ORRERY_TRY(const char first, stream.PeekValue());
  if (first != '{') {
    return {};
  }
  ORRERY_TRY_STATUS(stream.EnterObject());
  while (true) {
    ORRERY_TRY(const auto key, stream.NextKey());
    if (!key) {
      return {};
    }
    seen.emplace(*key);
  }
}

}  // namespace

Result<std::vector<JsonRecord>> ReadJsonRecords(const InputFile& file,
                                                std::span<const std::string_view> keys,
                                                trace::ProblemLog& problems) {
  ORRERY_TRY(const std::string text, file.ReadText(kMaxBytes, problems));
  return Reader(keys, problems).Run(text);
}

std::optional<double> NumberIn(const JsonRecord& record, std::string_view key) {
  const auto field = record.find(key);
  JsonText json;
  return field == record.end() ? std::nullopt : Number(json.Parse(field->second));
}

std::optional<std::int64_t> IntegerIn(const JsonRecord& record, std::string_view key) {
  const auto number = NumberIn(record, key);
  // ParseInteger rounds; a count that is not whole is no count.
  const bool is_whole = number && std::floor(*number) == *number;
  return is_whole ? ParseInteger(record.find(key)->second) : std::nullopt;
}

bool HeadHasKeys(std::string_view head, std::span<const std::string_view> keys) {
  const auto source = OpenMemory(head);
  JsonStream stream(*source, kLimits);
  std::set<std::string, std::less<>> seen;
  static_cast<void>(CollectKeys(stream, seen));
  return std::ranges::all_of(keys, [&](std::string_view key) { return seen.contains(key); });
}

}  // namespace orrery::ingest

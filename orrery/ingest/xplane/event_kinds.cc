#include "orrery/ingest/xplane/event_kinds.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/core.h>

#include "orrery/ingest/nsys/json_fields.h"

namespace orrery::ingest::xplane {
namespace {

// "all-reduce.3" → "all-reduce".
std::string_view OperationOf(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  const bool has_number =
      end != std::string_view::npos && end + 1 < name.size() && name[end] == '.';
  return has_number ? name.substr(0, end) : name;
}

void TakeStat(const Stat& stat, const StatNames& names, KindMeaning& meaning) {
  const std::string_view name = NameOf(stat, names);
  if (name == "hlo_category") {
    meaning.category = TextOf(stat, names);
  } else if (name == "bytes_accessed") {
    meaning.bytes = std::max<std::int64_t>(IntegerOf(stat).value_or(-1), -1);
  } else if (name == "shape_with_layout") {
    meaning.shape = ParseHloShape(TextOf(stat, names));
  }
}

}  // namespace

const KindMeaning& EventKinds::At(std::int64_t kind) {
  const auto known = meanings_.find(kind);
  if (known != meanings_.end()) {
    return known->second;
  }
  KindMeaning meaning = Understand(kind);
  meaning.name = strings_.Intern(meaning.short_name.empty() ? fmt::format("event kind {}", kind)
                                                            : CleanText(meaning.short_name));
  meaning.extra = strings_.Intern(meaning.fields);
  return meanings_.emplace(kind, std::move(meaning)).first->second;
}

KindMeaning EventKinds::Understand(std::int64_t kind) const {
  KindMeaning meaning;
  const auto found = plane_.kinds.find(kind);
  if (found == plane_.kinds.end()) {
    meaning.is_known = false;
    return meaning;
  }
  const EventKind& described = found->second;
  meaning.short_name = described.display_name.empty() ? described.name : described.display_name;
  nsys::JsonFields fields;
  if (!described.display_name.empty() && described.display_name != described.name) {
    meaning.long_name = described.name;
    fields.AddText("long_name", CleanText(described.name));
  }
  for (const Stat& stat : described.stats) {
    AddField(stat, plane_.stat_names, fields);
    TakeStat(stat, plane_.stat_names, meaning);
  }
  meaning.fields = fields.text();
  if (meaning.category.empty()) {
    meaning.category = OperationOf(meaning.short_name);
  }
  meaning.hlo = ParseHloCategory(meaning.category);
  return meaning;
}

}  // namespace orrery::ingest::xplane

#include "orrery/ingest/torch_snapshot/annotations.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/ingest/torch_snapshot/time_us.h"

namespace orrery::ingest::torch_snapshot {
namespace {

class Pairing {
 public:
  Pairing(const PickleData& data, trace::Trace& trace) : data_(data), trace_(trace) {}

  void Add(PickleValue mark) {
    const std::int64_t time_us = data_.IntegerAt(mark, "time_us", -1);
    const std::string_view stage = data_.TextAt(mark, "stage");
    const std::string_view name = data_.TextAt(mark, "name");
    if (time_us < 0 || (stage != "START" && stage != "END")) {
      trace_.problems.Loss("annotation without a usable time or stage", 1, name);
      return;
    }
    auto& begins = open_[{data_.IntegerAt(mark, "device", -1), std::string(name)}];
    if (stage == "START") {
      begins.push_back(NanosecondsOf(time_us));
      return;
    }
    if (begins.empty()) {
      trace_.problems.Loss("annotation that ends without a begin", 1, name);
      return;
    }
    Append(begins.back(), NanosecondsOf(time_us), name);
    begins.pop_back();
  }

  void Finish() {
    for (const auto& [key, begins] : open_) {
      trace_.problems.Loss("annotation without an end", static_cast<std::int64_t>(begins.size()),
                           key.second);
    }
  }

 private:
  void Append(std::int64_t begin_ns, std::int64_t end_ns, std::string_view name) {
    trace_.annotations.Append({.begin_ns = begin_ns,
                               .duration_ns = std::max<std::int64_t>(end_ns - begin_ns, 0),
                               .name = trace_.strings.Intern(name),
                               .track = 0});
  }

  const PickleData& data_;
  trace::Trace& trace_;
  std::map<std::pair<std::int64_t, std::string>, std::vector<std::int64_t>> open_;
};

std::string SettingText(const PickleData& data, PickleValue value) {
  if (const auto text = data.Text(value)) {
    return std::string(*text);
  }
  if (const auto integer = data.Integer(value)) {
    return std::to_string(*integer);
  }
  return value.kind() == PickleValue::Kind::kBool ? (value.payload() != 0 ? "true" : "false") : "";
}

void AppendSettings(const PickleData& data, PickleValue settings, trace::Trace& trace) {
  for (const auto& [key, value] : data.Pairs(settings)) {
    const std::string text = SettingText(data, value);
    const auto name = data.Text(key);
    if (name && !text.empty()) {
      trace.metadata.Append({.key = trace.strings.Intern(fmt::format("allocator {}", *name)),
                             .value = trace.strings.Intern(text)});
    }
  }
}

}  // namespace

void AppendAnnotations(const Pickle& pickle, trace::Trace& trace) {
  Pairing pairing(pickle.data, trace);
  for (const PickleValue mark : pickle.data.ListAt(pickle.root, "external_annotations")) {
    pairing.Add(mark);
  }
  pairing.Finish();
  if (const auto settings = pickle.data.Find(pickle.root, "allocator_settings")) {
    AppendSettings(pickle.data, *settings, trace);
  }
}

}  // namespace orrery::ingest::torch_snapshot

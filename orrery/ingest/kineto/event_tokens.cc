#include "orrery/ingest/kineto/event_tokens.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "orrery/base/lookup.h"
#include "orrery/trace/enums.h"

namespace orrery::ingest::kineto {
namespace {

/// A fixed set of names and what they mean, sorted at compile time by length: names of one length
/// are few, so a look-up is one or two comparisons.
template <typename Meaning, std::size_t N>
class NameTable {
 public:
  using Entry = std::pair<std::string_view, Meaning>;

  constexpr explicit NameTable(const std::array<Entry, N>& entries) : sorted_(entries) {
    std::ranges::sort(
        sorted_, [](const Entry& a, const Entry& b) { return a.first.size() < b.first.size(); });
    std::size_t next = 0;
    for (std::size_t length = 0; length < begin_.size(); ++length) {
      while (next < N && sorted_[next].first.size() < length) {
        ++next;
      }
      begin_[length] = static_cast<std::uint8_t>(next);
    }
  }

  [[nodiscard]] constexpr Meaning Find(std::string_view name, Meaning otherwise) const {
    if (name.size() > kLongest) {
      return otherwise;
    }
    for (std::size_t i = begin_[name.size()]; i < begin_[name.size() + 1]; ++i) {
      if (sorted_[i].first == name) {
        return sorted_[i].second;
      }
    }
    return otherwise;
  }

 private:
  static constexpr std::size_t kLongest = 40;
  static_assert(N < 256);

  std::array<Entry, N> sorted_;
  std::array<std::uint8_t, kLongest + 2> begin_{};
};

// The current spelling first, then those of older files.
constexpr auto kSpellings = std::to_array<std::pair<std::string_view, ArgKey>>({
#define ORRERY_SPELLING(key, name) {name, ArgKey::key},
    ORRERY_ARG_KEYS(ORRERY_SPELLING)
#undef ORRERY_SPELLING
        {"external id", ArgKey::kExternalId},
    {"Input dims", ArgKey::kInputDims},
    {"cid", ArgKey::kCallbackId},
});
constexpr NameTable<ArgKey, kSpellings.size()> kArgKeys(kSpellings);

using enum Category;

constexpr auto kNames = std::to_array<std::pair<std::string_view, Category>>({
    {"cpu_op", kHostOp},
    {"Operator", kHostOp},
    {"user_annotation", kHostAnnotation},
    {"gpu_user_annotation", kDeviceAnnotation},
    {"kernel", kKernel},
    {"Kernel", kKernel},
    {"gpu_memcpy", kCopy},
    {"Memcpy", kCopy},
    {"gpu_memset", kSet},
    {"Memset", kSet},
    {"mtia_ccp_events", kOtherDeviceWork},
    {"hpu_op", kOtherDeviceWork},
    {"collective_comm", kOtherDeviceWork},
    {"cuda_runtime", kRuntime},
    {"Runtime", kRuntime},
    {"cuda_driver", kDriver},
    {"mtia_runtime", kOtherApi},
    {"xpu_runtime", kOtherApi},
    {"xpu_driver", kOtherApi},
    {"glow_runtime", kOtherApi},
    {"privateuse1_runtime", kOtherApi},
    {"privateuse1_driver", kOtherApi},
    {"cuda_sync", kSync},
    {"xpu_sync", kSync},
    {"cuda_event", kEventRecord},
    {"python_function", kPython},
    {"Python", kPython},
    {"cpu_instant_event", kMemory},
    {"ac2g", kLaunchFlow},
    {"async", kLaunchFlow},
    {"async_gpu", kLaunchFlow},
    {"async_cpu_to_gpu", kLaunchFlow},
    {"fwdbwd", kForwardBackwardFlow},
});

constexpr NameTable<Category, kNames.size()> kCategories(kNames);

}  // namespace

ArgKey FindArgKey(std::string_view name) {
  return kArgKeys.Find(name, ArgKey::kNone);
}

std::string_view ArgKeyName(ArgKey key) {
  return key == ArgKey::kNone ? std::string_view()
                              : kSpellings[static_cast<std::size_t>(key)].first;
}

void EventTokens::AddExtra(std::string_view quoted_key, std::string_view value) {
  if (!extra.empty()) {
    extra += ", ";
  }
  extra += quoted_key;
  extra += ": ";
  extra += value;
}

void EventTokens::Clear() {
  phase = category = name = process = thread = time = duration = id = {};
  args_are_not_an_object = false;
  present = 0;
  extra.clear();
}

Category FindCategory(std::string_view name) {
  return kCategories.Find(name, kOther);
}

std::optional<trace::ActivityKind> ActivityKindOf(Category category) {
  constexpr auto kKinds = std::to_array<std::pair<Category, trace::ActivityKind>>(
      {{kKernel, trace::ActivityKind::kKernel},
       {kCopy, trace::ActivityKind::kMemcpy},
       {kSet, trace::ActivityKind::kMemset},
       {kOtherDeviceWork, trace::ActivityKind::kOther}});
  return LookUp(kKinds, category);
}

bool IsCategoryOf2021(std::string_view name) {
  return !name.empty() && name.front() >= 'A' && name.front() <= 'Z' &&
         kCategories.Find(name, kOther) != kOther;
}

}  // namespace orrery::ingest::kineto

#include "orrery/base/string_table.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "orrery/base/check.h"

namespace orrery {
namespace {

constexpr std::size_t kBlockBytes = 256 * 1024;

struct Hash {
  std::size_t operator()(std::string_view text) const {
    return XXH3_64bits(text.data(), text.size());
  }
};

using IdByText =
    tsl::robin_map<std::string_view, StringId, Hash, std::equal_to<>,
                   std::allocator<std::pair<std::string_view, StringId>>, /*StoreHash=*/true>;

}  // namespace

struct StringTable::Index {
  std::atomic<bool> is_complete = true;
  std::mutex completing;
  IdByText ids;
};

StringTable::StringTable(StringTable&& other) noexcept = default;
StringTable& StringTable::operator=(StringTable&& other) noexcept = default;
StringTable::~StringTable() = default;

StringTable::StringTable() : index_(std::make_unique<Index>()) {
  views_.emplace_back();
  index_->ids.emplace(std::string_view(), StringId::kEmpty);
}

StringTable StringTable::FromBlob(std::unique_ptr<char[]> characters,
                                  std::span<const std::uint64_t> lengths) {
  ORRERY_CHECK(!lengths.empty() && lengths[0] == 0, "the first string is the empty one");
  StringTable table;
  table.views_.reserve(lengths.size());
  const char* next = characters.get();
  for (const std::uint64_t length : lengths.subspan(1)) {
    table.views_.emplace_back(next, length);
    next += length;
  }
  table.blocks_.push_back(std::move(characters));
  table.index_->is_complete = lengths.size() == 1;
  return table;
}

StringId StringTable::Intern(std::string_view text) {
  IdByText& ids = CompleteIndex().ids;
  const std::size_t hash = Hash()(text);
  if (const auto found = ids.find(text, hash); found != ids.end()) {
    return found->second;
  }
  const auto id = static_cast<StringId>(views_.size());
  const std::string_view stored = Store(text);
  views_.push_back(stored);
  ids.emplace(stored, id);
  return id;
}

StringId StringTable::Find(std::string_view text) const {
  const IdByText& ids = CompleteIndex().ids;
  const auto found = ids.find(text);
  return found == ids.end() ? StringId::kEmpty : found->second;
}

std::vector<StringId> StringTable::Merge(const StringTable& other) {
  std::vector<StringId> here;
  here.reserve(other.size());
  for (const std::string_view text : other.views_) {
    here.push_back(Intern(text));
  }
  return here;
}

StringTable::Index& StringTable::CompleteIndex() const {
  if (index_->is_complete.load(std::memory_order_acquire)) {
    return *index_;
  }
  const std::lock_guard lock(index_->completing);
  if (!index_->is_complete.load(std::memory_order_relaxed)) {
    index_->ids.reserve(views_.size());
    for (std::size_t id = 0; id < views_.size(); ++id) {
      index_->ids.emplace(views_[id], static_cast<StringId>(id));
    }
    index_->is_complete.store(true, std::memory_order_release);
  }
  return *index_;
}

std::string_view StringTable::Store(std::string_view text) {
  if (block_used_ + text.size() > block_size_) {
    block_size_ = std::max(kBlockBytes, text.size());
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_size_));
    block_used_ = 0;
  }
  char* const place = blocks_.back().get() + block_used_;
  std::memcpy(place, text.data(), text.size());
  block_used_ += text.size();
  return {place, text.size()};
}

}  // namespace orrery

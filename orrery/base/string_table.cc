#include "orrery/base/string_table.h"

#include <algorithm>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace orrery {
namespace {

constexpr std::size_t kBlockBytes = 256 * 1024;

}  // namespace

std::size_t StringTable::Hash::operator()(std::string_view text) const {
  return XXH3_64bits(text.data(), text.size());
}

StringTable::StringTable() {
  views_.emplace_back();
  ids_.emplace(std::string_view(), StringId::kEmpty);
}

StringId StringTable::Intern(std::string_view text) {
  const std::size_t hash = Hash()(text);
  if (const auto found = ids_.find(text, hash); found != ids_.end()) {
    return found->second;
  }
  const auto id = static_cast<StringId>(views_.size());
  const std::string_view stored = Store(text);
  views_.push_back(stored);
  ids_.emplace(stored, id);
  return id;
}

StringId StringTable::Find(std::string_view text) const {
  const auto found = ids_.find(text);
  return found == ids_.end() ? StringId::kEmpty : found->second;
}

std::vector<StringId> StringTable::Merge(const StringTable& other) {
  std::vector<StringId> here;
  here.reserve(other.size());
  for (const std::string_view text : other.views_) {
    here.push_back(Intern(text));
  }
  return here;
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

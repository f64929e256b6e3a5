#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace orrery {

/// Names a string of one StringTable. Value 0 is the empty string in every table.
enum class StringId : std::uint32_t { kEmpty = 0 };

/// Every distinct string once. Ids count up in order of first appearance, so the same sequence of
/// calls gives the same ids. The characters never move: a view stays valid as long as the table.
class StringTable {
 public:
  StringTable();
  StringTable(StringTable&& other) noexcept;
  StringTable& operator=(StringTable&& other) noexcept;
  ~StringTable();

  /// Takes over strings that lie one after the other in `characters`: string i has `lengths[i]`
  /// bytes. They must be distinct and the first one empty, as in another table's order of ids.
  /// Costs a view per string; the look-up by text is prepared at the first Intern or Find.
  [[nodiscard]] static StringTable FromBlob(std::unique_ptr<char[]> characters,
                                            std::span<const std::uint64_t> lengths);

  /// Returns the id of `text`, adding it if it is new.
  StringId Intern(std::string_view text);

  [[nodiscard]] std::string_view View(StringId id) const {
    return views_[static_cast<std::size_t>(id)];
  }

  /// Returns the id of `text`, or kEmpty if the table does not hold it.
  [[nodiscard]] StringId Find(std::string_view text) const;

  /// Returns the number of strings, including the empty one.
  [[nodiscard]] std::size_t size() const { return views_.size(); }

  /// Adds all strings of `other` and returns, for each of its ids, the id here.
  std::vector<StringId> Merge(const StringTable& other);

  friend bool operator==(const StringTable& lhs, const StringTable& rhs) {
    return lhs.views_ == rhs.views_;
  }

 private:
  // The look-up by text. Hidden, because every source that knows a Trace includes this header.
  struct Index;

  // Const, because Find must be safe to call from many threads at once.
  [[nodiscard]] Index& CompleteIndex() const;
  std::string_view Store(std::string_view text);

  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t block_used_ = 0;
  std::size_t block_size_ = 0;
  std::vector<std::string_view> views_;
  std::unique_ptr<Index> index_;
};

}  // namespace orrery

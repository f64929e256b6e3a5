#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tsl/robin_map.h>

namespace orrery::ingest::orrs {

/// Numbers keys of the stream (events, objects) from 0 in order of first appearance, so that a
/// column of rows can hold them until it is known which rows they are.
class KeyNumbers {
 public:
  std::uint32_t NumberOf(std::uint64_t key) {
    if (keys_.empty() || key != last_key_) {
      last_key_ = key;
      last_ = numbers_.try_emplace(key, static_cast<std::uint32_t>(keys_.size())).first->second;
      if (last_ == keys_.size()) {
        keys_.push_back(key);
      }
    }
    return last_;
  }

  /// The keys, by number.
  [[nodiscard]] const std::vector<std::uint64_t>& keys() const { return keys_; }

 private:
  // Records of one launch come together: most look-ups are for the key before.
  std::uint64_t last_key_ = 0;
  std::uint32_t last_ = 0;
  std::vector<std::uint64_t> keys_;
  tsl::robin_map<std::uint64_t, std::uint32_t> numbers_;
};

}  // namespace orrery::ingest::orrs

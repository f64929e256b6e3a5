#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "capture/sanitizer/host/options.h"

namespace orrery::capture::sanitizer {

inline constexpr std::int64_t kAllPpb = 1'000'000'000;

/// What is to become of one launch.
struct Choice {
  const char* skip_reason = nullptr;  // null: it is taken
  std::int64_t inclusion_ppb = kAllPpb;
  std::uint32_t block_period = 1;
  std::uint32_t first_block = 0;
  bool with_access_records = false;

  [[nodiscard]] bool is_taken() const { return skip_reason == nullptr; }
};

/// Says which launches are recorded in detail. While a detail is open (orrery.detail), its rules
/// hold; else those of the options. Modules are patched once whatever it says: a launch that is
/// left out runs with patches that return at once. Any thread may call.
class Selection {
 public:
  explicit Selection(const Options& options) : options_(options) {}

  [[nodiscard]] Choice Choose(std::string_view kernel);

  void OpenDetail(std::uint64_t number, std::string_view kernels, std::uint64_t launches);
  void CloseDetail(std::uint64_t number);

 private:
  struct Detail {
    std::uint64_t number;
    std::string kernels;
    std::uint64_t launches;  // 0: all
    std::uint64_t num_taken;
  };

  [[nodiscard]] const char* ReasonToSkip(std::string_view kernel);
  [[nodiscard]] const char* ReasonByDetails(std::string_view kernel);
  [[nodiscard]] Choice Taken(std::string_view kernel);

  Options options_;
  std::atomic<std::uint64_t> num_matched_{0};  // launches whose name is asked for
  std::atomic<std::uint64_t> num_taken_{0};
  std::atomic<std::uint32_t> num_details_{0};
  std::mutex mutex_;  // guards details_
  std::vector<Detail> details_;
};

}  // namespace orrery::capture::sanitizer

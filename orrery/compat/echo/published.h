#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/compat/echo/echo_model.h"
#include "orrery/compat/echo/echo_rows.h"

namespace orrery::compat::echo {

/// Mean and population deviation of each feature over some rows, as scikit-learn's StandardScaler.
class Standardisation {
 public:
  [[nodiscard]] static Standardisation Of(std::span<const EchoRow> rows,
                                          std::span<const std::uint32_t> of);

  [[nodiscard]] Features Apply(const Features& features) const;

 private:
  Features mean_ = {};
  Features deviation_ = {};
};

/// A duration from Echo's slowdown, which stays a float until it meets one: negative slowdowns
/// count as none.
[[nodiscard]] double DurationFrom(const EchoRow& row, float slowdown);

/// One line of what Echo's test printed.
struct PublishedLine {
  std::string label;
  double value = 0;
  bool is_sum = false;       // a sum of durations, printed with its error
  double error_percent = 0;  // of a sum
  bool has_error = false;

  /// As Python prints it.
  [[nodiscard]] std::string Text() const;
};

/// Echo's test as it is shipped: the overlapped rows, features as they are. `slowdowns` has one
/// prediction for each row of `rows`. The lines come in the order of output_metrics.txt.
[[nodiscard]] std::vector<PublishedLine> PublishedLines(std::span<const EchoRow> rows,
                                                        std::span<const float> slowdowns);

/// Lines of the published text that `lines` do not have, and the other way round.
[[nodiscard]] std::vector<std::string> DifferencesFrom(std::string_view published_text,
                                                       std::span<const PublishedLine> lines);

}  // namespace orrery::compat::echo

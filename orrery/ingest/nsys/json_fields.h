#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orrery::ingest::nsys {

/// Writes the inside of a JSON object, as the `extra` columns of a trace hold it.
class JsonFields {
 public:
  void Add(std::string_view name, std::int64_t value);
  void AddUnsigned(std::string_view name, std::uint64_t value);
  void AddNumber(std::string_view name, double value);
  void AddText(std::string_view name, std::string_view value);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void AddName(std::string_view name);

  std::string text_;
};

}  // namespace orrery::ingest::nsys

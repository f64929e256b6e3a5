#include <cstddef>
#include <cstdint>

#include "orrery/base/check.h"
#include "orrery/base/document/csv.h"

// Any text gives a table or an error; a table that was read and written once stays the same text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto table = orrery::ParseCsv({reinterpret_cast<const char*>(data), size});
  if (!table) {
    return 0;
  }
  const std::string once = orrery::FormatCsv(*table);
  const auto again = orrery::ParseCsv(once);
  ORRERY_CHECK(again.has_value(), "what we write can be read");
  ORRERY_CHECK(orrery::FormatCsv(*again) == once, "reading and writing changes nothing");
  return 0;
}

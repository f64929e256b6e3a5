#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/base/text/text.h"
#include "orrery/serve/http/gate.h"

namespace {

/// Cuts the part before the next `end` off.
std::string_view Next(std::string_view& rest, char end) {
  const std::size_t at = rest.find(end);
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return part;
}

}  // namespace

// A method, a target and fields, a line each. Whatever passes has the token and a plain path; what
// does not is refused by 4xx and is one line of a log without the token.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery::serve;  // NOLINT(google-build-using-namespace): one function
  static const Gate gate("token", "127.0.0.1", 8787);
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string_view method = Next(rest, '\n');
  const std::string_view target = Next(rest, '\n');
  // So that most inputs get as far as the path and the query.
  std::vector<HeaderField> fields = {{"Host", "localhost:8787"}};
  while (!rest.empty()) {
    std::string_view line = Next(rest, '\n');
    const std::string_view name = Next(line, ':');
    fields.push_back({name, line});
  }
  const RawRequest raw = {method, target, fields};
  const auto admitted = gate.Admit(raw);
  if (admitted) {
    ORRERY_CHECK(target.starts_with("/token/"), "only the token lets requests in");
    ORRERY_CHECK(!orrery::Contains(admitted->path, ".."), "no path leads upwards");
    static_cast<void>(admitted->query.Number("run", 0, 1));
    static_cast<void>(admitted->query.Text("text"));
    return 0;
  }
  const Refusal& refusal = admitted.error();
  ORRERY_CHECK(refusal.status >= 400 && refusal.status < 500, "the fault is the request's");
  const std::string line = gate.LogLine(raw, "127.0.0.1", refusal);
  ORRERY_CHECK(!orrery::Contains(line, "\n") && !orrery::Contains(line, "token"), "one clean line");
  return 0;
}

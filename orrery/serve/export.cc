#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/view.h"
#include "orrery/api/view/tiles/tile_at.h"
#include "orrery/base/check.h"
#include "orrery/base/document/json_text.h"
#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/serve/answers.h"
#include "orrery/serve/http/request.h"

// A page as one file: script, style and the answers that the page would have asked for.

namespace orrery::serve {
namespace {

constexpr std::size_t kMostBytes = 9'500'000;
constexpr std::size_t kMostAddresses = 2'000;
constexpr std::size_t kLinesOfTile = 64;  // as web/src/timeline/tiles.ts asks
constexpr int kLevelsBelowTop = 4;

// Nothing may be fetched from anywhere: names in a trace cannot change that.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: "
    "blob:";

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<std::uint8_t>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= count ? kDigits[group >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return text;
}

Result<Request> RequestOf(const std::string& address) {
  const std::size_t mark = address.find('?');
  Request request{.path = address.substr(0, mark)};
  if (mark != std::string::npos) {
    ORRERY_TRY(request.query, Query::Parse(std::string_view(address).substr(mark + 1)));
  }
  return request;
}

// Text inside a script element must not end it, nor begin a comment.
std::string InScript(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i + 1);
    safe += text[i];
    if (text[i] == '<' &&
        (rest.starts_with("/s") || rest.starts_with("/S") || rest.starts_with("!--"))) {
      safe += '\\';
    }
  }
  return safe;
}

// Puts text in the place of a part of the page, which must be there.
void Replace(std::string_view part, std::string_view by, std::string& page) {
  const std::size_t at = page.find(part);
  ORRERY_CHECK(at != std::string::npos, "the page has other parts");
  page.replace(at, part.size(), by);
}

int TopLevel(std::int64_t length_ns) {
  int level = 0;
  while (level < api::view::kMaxLevel && api::view::TileAt{level, 0}.end_ns() < length_ns) {
    ++level;
  }
  return level;
}

void AddTiles(std::string_view what, std::int64_t length_ns, std::vector<std::string>& addresses) {
  const int top = TopLevel(length_ns);
  for (int level = top; level >= std::max(top - kLevelsBelowTop, 0); --level) {
    for (std::int64_t tile = 0; api::view::TileAt{level, tile}.begin_ns() < length_ns; ++tile) {
      addresses.push_back(fmt::format(fmt::runtime(what), level, tile));
    }
  }
}

void AddLines(std::size_t run, const api::view::RunInfo& info,
              std::vector<std::string>& addresses) {
  const auto num_ranks = static_cast<std::size_t>(info.num_ranks);
  for (std::size_t fold = 1; fold <= num_ranks; fold *= 2) {
    const std::size_t lines = (num_ranks + fold - 1) / fold;
    if (lines > 1024) {
      continue;
    }
    for (std::size_t first = 0; first < lines; first += kLinesOfTile) {
      AddTiles(fmt::format(
                   "api/activity?run={}&level={{}}&tile={{}}&order=rank&first={}&count={}&fold={}",
                   run, first, std::min(kLinesOfTile, lines - first), fold),
               info.length_ns, addresses);
    }
    if (lines <= kLinesOfTile) {
      return;
    }
  }
}

}  // namespace

Result<std::vector<std::string>> Answers::OverviewAddresses() const {
  ORRERY_TRY(const api::view::SessionInfo session, api::view::DescribeSession(view_, {}));
  const std::vector<api::view::RunInfo>& runs = session.runs;
  std::vector<std::string> addresses{"api/session"};
  for (std::size_t run = 0; run < runs.size(); ++run) {
    addresses.push_back(fmt::format("api/ranks?run={}", run));
    for (const char* const tab : {"overview", "kernels", "collectives", "memory", "metrics"}) {
      addresses.push_back(fmt::format("api/tab?run={}&name={}", run, tab));
    }
    AddLines(run, runs[run], addresses);
  }
  for (std::size_t run = 1; run < runs.size(); ++run) {
    addresses.push_back(fmt::format("api/differences?a=0&b={}", run));
  }
  for (std::size_t run = 0; run < runs.size() && runs[run].num_ranks > 0; ++run) {
    addresses.push_back(fmt::format("api/tracks?run={}&rank=0", run));
    ORRERY_TRY(const std::vector<api::view::Track> tracks,
               api::view::ListTracks(view_, {.run = static_cast<std::int64_t>(run), .rank = 0}));
    for (const api::view::Track& track : tracks) {
      AddTiles(
          fmt::format("api/slices?run={}&rank=0&track={}&level={{}}&tile={{}}", run, track.track),
          runs[run].length_ns, addresses);
    }
  }
  return addresses;
}

Result<std::string> Answers::ExportedPage(const std::vector<std::string>& addresses,
                                          const std::string& state) const {
  const auto asset = [&](std::string_view path) {
    const auto found = std::ranges::find(assets_, path, &Asset::path);
    ORRERY_CHECK(found != assets_.end(), "the page is not part of the program");
    return found->bytes;
  };
  const std::size_t code_bytes = asset("view.js").size() + asset("view.css").size();
  std::string recorded = fmt::format("{{\"state\":{},\"answers\":{{", QuoteJson(state));
  std::size_t left_out = 0;
  bool is_first = true;
  for (const std::string& address : addresses) {
    ORRERY_TRY(const Request request, RequestOf(address));
    const Result<Response> response = AnswerApi(request);
    if (!response) {
      continue;  // a tab that does not apply
    }
    const std::string entry =
        fmt::format("{}{}:\"{}\"", is_first ? "" : ",", QuoteJson(address), Base64(response->body));
    if (recorded.size() + entry.size() + code_bytes > kMostBytes) {
      ++left_out;
      continue;
    }
    is_first = false;
    recorded += entry;
  }
  recorded += fmt::format("}},\"left_out\":{}}}", left_out);
  std::string page(asset(""));
  Replace(
      "<link rel=\"stylesheet\" href=\"view.css\">",
      fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n<style>{}</style>",
                  kPolicy, asset("view.css")),
      page);
  Replace("<script src=\"view.js\" defer></script>\n", "", page);
  Replace("</body>",
          fmt::format("<script id=\"recorded\" "
                      "type=\"application/json\">{}</script>\n<script>{}</script>\n</body>",
                      InScript(recorded), InScript(asset("view.js"))),
          page);
  return page;
}

Result<Response> Answers::Export(const Request& request) const {
  if (!request.is_post) {
    return Invalid("{} wants POST", request.path);
  }
  JsonText text;
  const std::optional<JsonElement> json = text.Parse(request.body);
  if (!json) {
    return Invalid("what is to be exported is not JSON");
  }
  std::vector<std::string> addresses;
  ForEachElement(Field(json, "addresses"), [&](const JsonElement& element) {
    if (const auto address = Text(element); address && addresses.size() < kMostAddresses) {
      addresses.emplace_back(*address);
    }
  });
  ORRERY_TRY(std::string page,
             ExportedPage(addresses, std::string(Text(Field(json, "state")).value_or(""))));
  return Response{.type = "text/html; charset=utf-8", .body = std::move(page)};
}

}  // namespace orrery::serve

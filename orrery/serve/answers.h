#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/api/view.h"
#include "orrery/base/error.h"
#include "orrery/serve/http/request.h"

namespace orrery::serve {

/// A file of the page.
struct Asset {
  std::string_view path;  // "view.js"; "" is the page itself
  std::string_view type;
  std::string_view bytes;
};

/// Answers the requests of the page: its files, and the questions of a view (docs/formats/view.md).
class Answers : public Handler {
 public:
  /// The view must outlive it.
  Answers(const api::View& view, std::vector<Asset> assets)
      : view_(view), assets_(std::move(assets)) {}

  [[nodiscard]] Response Answer(const Request& request) override;

  /// One page that needs nothing else, with the answers to these requests ("api/ranks?run=0"): as
  /// many of them, in order, as 10 MB hold. `state` is what the address of the page would say.
  [[nodiscard]] Result<std::string> ExportedPage(const std::vector<std::string>& addresses,
                                                 const std::string& state) const;

  /// The addresses that show the runs as a whole: for pages that are exported without a browser.
  [[nodiscard]] Result<std::vector<std::string>> OverviewAddresses() const;

 private:
  [[nodiscard]] Result<Response> AnswerApi(const Request& request) const;
  [[nodiscard]] Result<Response> Export(const Request& request) const;

  const api::View& view_;
  std::vector<Asset> assets_;
};

}  // namespace orrery::serve

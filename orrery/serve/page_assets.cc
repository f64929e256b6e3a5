#include "orrery/serve/page_assets.h"

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "orrery/serve/answers.h"

namespace orrery::serve {

struct EmbeddedFile {
  const char* begin;
  const char* end;
};

extern const EmbeddedFile kEmbeddedPage[];
extern const std::size_t kNumEmbeddedPage;

std::vector<Asset> PageAssets() {
  // In the order of CMakeLists.txt.
  constexpr std::array<Asset, 3> kFiles = {{{"", "text/html; charset=utf-8", ""},
                                            {"view.js", "text/javascript; charset=utf-8", ""},
                                            {"view.css", "text/css; charset=utf-8", ""}}};
  std::vector<Asset> assets;
  for (std::size_t i = 0; i < kFiles.size(); ++i) {
    Asset asset = kFiles[i];
    asset.bytes =
        std::string_view(kEmbeddedPage[i].begin,
                         static_cast<std::size_t>(kEmbeddedPage[i].end - kEmbeddedPage[i].begin));
    if (asset.bytes.empty()) {
      return {};
    }
    assets.push_back(asset);
  }
  return assets;
}

}  // namespace orrery::serve

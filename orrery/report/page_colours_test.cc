#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/report/embedded_page.h"

namespace orrery::report {
namespace {

using Rgb = std::array<double, 3>;  // linear light
using Matrix = std::array<Rgb, 3>;

Rgb ColourOf(std::string_view theme, const std::string& name) {
  const std::size_t at = theme.find("--" + name + ":#");
  EXPECT_NE(at, std::string_view::npos) << name;
  std::string digits(theme.substr(at + name.size() + 4, 6));
  digits = digits.substr(0, digits.find(';'));
  Rgb colour{};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string part =
        digits.size() == 3 ? std::string(2, digits[i]) : digits.substr(2 * i, 2);
    const double value = static_cast<double>(std::strtol(part.c_str(), nullptr, 16)) / 255;
    colour[i] = value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  }
  return colour;
}

Rgb Times(const Matrix& matrix, const Rgb& colour) {
  Rgb out{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      out[i] += matrix[i][j] * colour[j];
    }
  }
  return out;
}

// WCAG 2: (L1 + 0.05) / (L2 + 0.05) of the relative luminances.
double Contrast(const Rgb& a, const Rgb& b) {
  const auto light = [](const Rgb& c) { return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; };
  return (std::max(light(a), light(b)) + 0.05) / (std::min(light(a), light(b)) + 0.05);
}

// Björn Ottosson's OKLab, in hundredths: about 2 is just noticeable.
double Distance(const Rgb& a, const Rgb& b) {
  constexpr Matrix kCones{{{0.4122214708, 0.5363325363, 0.0514459929},
                           {0.2119034982, 0.6806995451, 0.1073969566},
                           {0.0883024619, 0.2817188376, 0.6299787005}}};
  constexpr Matrix kLab{{{0.2104542553, 0.7936177850, -0.0040720468},
                         {1.9779984951, -2.4285922050, 0.4505937099},
                         {0.0259040371, 0.7827717662, -0.8086757660}}};
  const auto lab = [&](const Rgb& colour) {
    Rgb cones = Times(
        kCones, {std::max(colour[0], 0.0), std::max(colour[1], 0.0), std::max(colour[2], 0.0)});
    std::ranges::transform(cones, cones.begin(), [](double value) { return std::cbrt(value); });
    return Times(kLab, cones);
  };
  const Rgb first = lab(a);
  const Rgb second = lab(b);
  return 100 * std::hypot(first[0] - second[0], first[1] - second[1], first[2] - second[2]);
}

// Machado, Oliveira and Fernandes 2009, full severity: normal, protan, deutan, tritan.
constexpr std::array<Matrix, 4> kEyes{{{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
                                       {{{0.152286, 1.052583, -0.204868},
                                         {0.114503, 0.786281, 0.099216},
                                         {-0.003882, -0.048116, 1.051998}}},
                                       {{{0.367322, 0.860646, -0.227968},
                                         {0.280085, 0.672501, 0.047413},
                                         {-0.011820, 0.042940, 0.968881}}},
                                       {{{1.255528, -0.076749, -0.178779},
                                         {-0.078411, 0.930809, 0.147602},
                                         {0.004733, 0.691367, 0.303900}}}}};

const std::vector<std::string> kColours = {
    "compute",  "sky",  "memory",      "weights",         "host", "launch", "transfer", "other",
    "host-gap", "sync", "device-wait", "launch-overhead", "idle"};

class PageColours : public ::testing::TestWithParam<std::string_view> {};

TEST_P(PageColours, AreDistinctWithAnyCommonColourBlindness) {
  for (std::size_t i = 0; i < kColours.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      for (std::size_t eye = 0; eye < kEyes.size(); ++eye) {
        EXPECT_GE(Distance(Times(kEyes[eye], ColourOf(GetParam(), kColours[i])),
                           Times(kEyes[eye], ColourOf(GetParam(), kColours[j]))),
                  7)
            << kColours[i] << " and " << kColours[j] << ", eye " << eye;
      }
    }
  }
}

// As charts.css has them: AA asks for 4.5.
TEST_P(PageColours, LabelsInBarsCanBeRead) {
  for (const auto& [text, fills] :
       {std::pair("on-dark", std::vector{"compute", "host", "device-wait", "sync", "optimizer"}),
        {"on-bright", {"transfer", "memory", "backward", "launch", "launch-overhead", "sky"}},
        {"on-light", {"weights", "idle", "host-gap", "other", "waiting"}}}) {
    for (const char* const fill : fills) {
      EXPECT_GE(Contrast(ColourOf(GetParam(), text), ColourOf(GetParam(), fill)), 4.5) << fill;
    }
  }
}

TEST_P(PageColours, TextCanBeRead) {
  for (const char* const text : {"ink", "soft", "accent", "roof"}) {
    for (const char* const ground : {"surface", "page"}) {
      EXPECT_GE(Contrast(ColourOf(GetParam(), text), ColourOf(GetParam(), ground)), 4.5) << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Themes, PageColours, ::testing::Values(kLight, kDark));

}  // namespace
}  // namespace orrery::report

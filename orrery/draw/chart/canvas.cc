#include "orrery/draw/chart/canvas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>

#include "orrery/base/check.h"
#include "orrery/base/text/visible_text.h"

namespace orrery::draw {
namespace {

std::string_view AnchorName(Anchor anchor) {
  switch (anchor) {
    case Anchor::kStart:
      return "start";
    case Anchor::kMiddle:
      return "middle";
    case Anchor::kEnd:
      return "end";
  }
  return "start";
}

std::string_view EntityOf(char value) {
  switch (value) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

constexpr std::string_view kSwatch = "M2 0h10q2 0 2 2v10q0 2-2 2H2q-2 0-2-2V2q0-2 2-2z";

// Corners for a radius of one, chosen so that all shapes look about equally large.
constexpr double kSide = 0.88;
constexpr double kArm = 0.38;
constexpr std::array<Point, 4> kSquare{
    {{-kSide, -kSide}, {kSide, -kSide}, {kSide, kSide}, {-kSide, kSide}}};
constexpr std::array<Point, 3> kTriangle{{{0, -1.2}, {1.1, 0.8}, {-1.1, 0.8}}};
constexpr std::array<Point, 4> kDiamond{{{0, -1.25}, {1.25, 0}, {0, 1.25}, {-1.25, 0}}};
constexpr std::array<Point, 3> kUpsideDown{{{0, 1.2}, {1.1, -0.8}, {-1.1, -0.8}}};
constexpr std::array<Point, 12> kCross{{{-kArm, -1.1},
                                        {kArm, -1.1},
                                        {kArm, -kArm},
                                        {1.1, -kArm},
                                        {1.1, kArm},
                                        {kArm, kArm},
                                        {kArm, 1.1},
                                        {-kArm, 1.1},
                                        {-kArm, kArm},
                                        {-1.1, kArm},
                                        {-1.1, -kArm},
                                        {-kArm, -kArm}}};
constexpr std::array<std::span<const Point>, 5> kPolygons{kSquare, kTriangle, kDiamond, kUpsideDown,
                                                          kCross};

/// A memory category as recordings and the simulator name it, in the singular, and its style.
struct Category {
  std::string_view name;
  std::string_view style;
};

constexpr std::array<Category, 19> kCategories{{
    {"parameter", "compute"},
    {"gradient", "memory"},
    {"optimizer state", "optimizer"},
    {"activation", "launch"},
    {"temporary", "device-wait"},
    {"unknown", "other"},
    {"other", "other"},
    {"held before the recording", "sync"},
    {"input", "sky"},
    {"autograd detail", "host-gap"},
    {"gathered parameter", "sky"},
    {"embedding table", "sky"},
    {"whole gradient", "weights"},
    {"recomputed activation", "launch-overhead"},
    {"activations of embedding and head", "other"},
    {"gradients of activation", "device-wait"},
    {"logit", "host-gap"},
    {"communication buffer", "transfer"},
    {"CUDA context", "sync"},
}};

constexpr std::array<std::string_view, 11> kCategoryStyles = {
    "compute", "launch",   "memory", "optimizer",   "transfer",       "sky",
    "weights", "host-gap", "sync",   "device-wait", "launch-overhead"};

std::string WithoutPlural(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name.ends_with('s') ? name.substr(0, name.size() - 1) : name;
}

// FNV-1a: the same on all machines.
std::uint64_t HashOf(std::string_view text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  return hash;
}

void AppendArc(double radius, double distance, std::string& path) {
  AppendPoint('a', {radius, radius}, path);
  path += " 0 1 0 ";
  AppendCoordinate(distance, path);
  path += " 0";
}

std::string CirclePath(Point centre, double radius) {
  std::string path;
  AppendPoint('M', {centre.x - radius, centre.y}, path);
  AppendArc(radius, 2 * radius, path);
  AppendArc(radius, -2 * radius, path);
  return path + 'z';
}

}  // namespace

void AppendCoordinate(double value, std::string& out, int decimals) {
  long long scale = 1;
  for (int i = 0; i < decimals; ++i) {
    scale *= 10;
  }
  const long long parts = std::llround(value * static_cast<double>(scale));
  fmt::format_to(std::back_inserter(out), "{}{}", parts < 0 ? "-" : "", std::llabs(parts) / scale);
  if (const long long rest = std::llabs(parts) % scale; rest != 0) {
    fmt::format_to(std::back_inserter(out), ".{:0{}}", rest, decimals);
    out.erase(out.find_last_not_of('0') + 1);
  }
}

void AppendPoint(char command, Point at, std::string& path) {
  path += command;
  AppendCoordinate(at.x, path);
  path += ' ';
  AppendCoordinate(at.y, path);
}

SvgWriter::SvgWriter(double width, double height, std::string_view description) {
  attributes_ = " viewBox=\"0 0 ";
  AppendCoordinate(width, attributes_);
  attributes_ += ' ';
  AppendCoordinate(height, attributes_);
  attributes_ += '"';
  Attribute("role", "img").Attribute("aria-label", description);
}

SvgWriter& SvgWriter::Attribute(std::string_view name, std::string_view value) {
  fmt::format_to(std::back_inserter(attributes_), " {}=\"{}\"", name, EscapeMarkup(value));
  return *this;
}

SvgWriter& SvgWriter::Rect(const Box& box, const Mark& mark) {
  body_ += "<rect";
  Number("x", box.x, decimals_);
  Number("y", box.y);
  Number("width", box.width, decimals_);
  Number("height", box.height);
  Style(mark.style);
  body_ += mark.data;
  Close(mark.tip);
  return *this;
}

SvgWriter& SvgWriter::Line(Point from, Point to, std::string_view style) {
  body_ += "<line";
  Number("x1", from.x);
  Number("y1", from.y);
  Number("x2", to.x);
  Number("y2", to.y);
  Style(style);
  Close({});
  return *this;
}

SvgWriter& SvgWriter::Path(std::string_view data, const Mark& mark) {
  body_ += "<path d=\"";
  body_ += data;
  body_ += '"';
  Style(mark.style);
  body_ += mark.data;
  Close(mark.tip);
  return *this;
}

SvgWriter& SvgWriter::Text(Point at, std::string_view text, const TextLook& look) {
  body_ += "<text";
  Number("x", at.x);
  Number("y", at.y);
  Style(look.style);
  if (look.anchor != Anchor::kStart) {
    fmt::format_to(std::back_inserter(body_), " text-anchor=\"{}\"", AnchorName(look.anchor));
  }
  fmt::format_to(std::back_inserter(body_), ">{}</text>\n", EscapeMarkup(text));
  return *this;
}

SvgWriter& SvgWriter::BeginView(const Box& box) {
  body_ += "<svg";
  Number("x", box.x);
  Number("y", box.y);
  Number("width", box.width);
  Number("height", box.height);
  body_ += " viewBox=\"";
  for (const double part : {box.x, box.y, box.width, box.height}) {
    AppendCoordinate(part, body_);
    body_ += ' ';
  }
  body_.back() = '"';
  body_ += " preserveAspectRatio=\"none\">\n";
  return *this;
}

SvgWriter& SvgWriter::EndView() {
  body_ += "</svg>\n";
  return *this;
}

SvgWriter& SvgWriter::Decimals(int decimals) {
  decimals_ = decimals;
  return *this;
}

std::string SvgWriter::Finish() {
  std::string out =
      fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\"{}>\n{}</svg>\n", attributes_, body_);
  attributes_.clear();
  body_.clear();
  return out;
}

void SvgWriter::Number(std::string_view name, double value, int decimals) {
  fmt::format_to(std::back_inserter(body_), " {}=\"", name);
  AppendCoordinate(value, body_, decimals);
  body_ += '"';
}

void SvgWriter::Style(std::string_view style) {
  if (!style.empty()) {
    fmt::format_to(std::back_inserter(body_), " class=\"{}\"", style);
  }
}

void SvgWriter::Close(std::string_view tip) {
  if (!tip.empty()) {
    fmt::format_to(std::back_inserter(body_), " data-tip=\"{}\"", EscapeMarkup(tip));
  }
  body_ += "/>\n";
}

std::string EscapeMarkup(std::string_view text) {
  std::string out;
  for (const char c : VisibleText(text)) {
    const std::string_view entity = EntityOf(c);
    out += entity.empty() ? std::string_view(&c, 1) : entity;
  }
  return out;
}

std::vector<Series> CategorySeries(const std::vector<std::string>& names) {
  std::vector<Series> series;
  std::set<std::string_view> taken;
  for (const std::string& name : names) {
    const auto known = std::ranges::find(kCategories, WithoutPlural(name), &Category::name);
    const bool is_free = known != kCategories.end() && taken.insert(known->style).second;
    series.push_back({.name = name, .style = std::string(is_free ? known->style : "")});
  }
  for (Series& one : series) {
    std::size_t chosen = HashOf(one.name) % kCategoryStyles.size();
    for (std::size_t tried = 0; one.style.empty() && tried < kCategoryStyles.size(); ++tried) {
      const std::string_view style = kCategoryStyles[chosen++ % kCategoryStyles.size()];
      one.style = taken.insert(style).second ? style : "";
    }
    one.style = one.style.empty() ? "other" : one.style;
  }
  return series;
}

std::string RenderSwatch(const Series& series) {
  return fmt::format(
      "<svg viewBox=\"0 0 14 14\" aria-hidden=\"true\"><path class=\"{}\" d=\"{}\"/></svg>",
      series.style, series.swatch.empty() ? kSwatch : std::string_view(series.swatch));
}

std::string RenderLegend(const std::vector<Series>& series) {
  std::string out = "<ul class=\"legend\">";
  for (const Series& one : series) {
    out += fmt::format("<li>{}{}</li>", RenderSwatch(one), EscapeMarkup(one.name));
  }
  return out + "</ul>\n";
}

std::string MarkerPath(std::size_t series, Point centre, double radius) {
  const std::size_t shape = series % (kPolygons.size() + 1);
  if (shape == 0) {
    return CirclePath(centre, radius);
  }
  std::string path;
  for (const Point& corner : kPolygons[shape - 1]) {
    AppendPoint(path.empty() ? 'M' : 'L',
                {centre.x + radius * corner.x, centre.y + radius * corner.y}, path);
  }
  return path + 'z';
}

void TileLayer::Add(const Box& box, std::size_t series) {
  std::string& path = path_of_series_[series];
  AppendPoint('M', {box.x, box.y}, path);
  path += 'h';
  AppendCoordinate(box.width, path);
  path += 'v';
  AppendCoordinate(box.height, path);
  path += 'h';
  AppendCoordinate(-box.width, path);
  path += 'z';
}

void TileLayer::Draw(const std::vector<Series>& series, SvgWriter& svg) const {
  ORRERY_CHECK(series.size() == path_of_series_.size(), "each series has its tiles");
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (!path_of_series_[i].empty()) {
      svg.Path(path_of_series_[i], {.style = series[i].style, .tip = series[i].name});
    }
  }
}

}  // namespace orrery::draw

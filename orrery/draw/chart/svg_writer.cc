#include "orrery/draw/chart/svg_writer.h"

#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/core.h>
#include <fmt/format.h>

#include "orrery/draw/chart/markup.h"

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

}  // namespace

void AppendCoordinate(double value, std::string& out) {
  const long long tenths = std::llround(value * 10);
  if (tenths % 10 == 0) {
    fmt::format_to(std::back_inserter(out), "{}", tenths / 10);
  } else {
    fmt::format_to(std::back_inserter(out), "{}{}.{}", tenths < 0 ? "-" : "",
                   std::llabs(tenths) / 10, std::llabs(tenths) % 10);
  }
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
  Number("x", box.x);
  Number("y", box.y);
  Number("width", box.width);
  Number("height", box.height);
  Style(mark.style);
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

std::string SvgWriter::Finish() {
  std::string out =
      fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\"{}>\n{}</svg>\n", attributes_, body_);
  attributes_.clear();
  body_.clear();
  return out;
}

void SvgWriter::Number(std::string_view name, double value) {
  fmt::format_to(std::back_inserter(body_), " {}=\"", name);
  AppendCoordinate(value, body_);
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

}  // namespace orrery::draw

#pragma once

#include <string>
#include <string_view>

namespace orrery::draw {

struct Point {
  double x = 0;
  double y = 0;
};

struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;

  [[nodiscard]] double right() const { return x + width; }

  [[nodiscard]] double bottom() const { return y + height; }
};

/// How an element looks and what it says: the name of a style of the page, so that one picture
/// serves light and dark, and a text for the pointer.
struct Mark {
  std::string_view style = {};
  std::string_view tip = {};
};

enum class Anchor { kStart, kMiddle, kEnd };

struct TextLook {
  std::string_view style = "tick";
  Anchor anchor = Anchor::kStart;
};

/// Appends a coordinate with at most one decimal, as short as it goes.
void AppendCoordinate(double value, std::string& out);

/// Writes one SVG picture, element by element. Texts are escaped, colours come from styles.
class SvgWriter {
 public:
  /// `description` is what a screen reader says in place of the picture.
  SvgWriter(double width, double height, std::string_view description);

  /// Adds an attribute to the picture itself, at any time.
  SvgWriter& Attribute(std::string_view name, std::string_view value);

  SvgWriter& Rect(const Box& box, const Mark& mark);
  SvgWriter& Line(Point from, Point to, std::string_view style);
  SvgWriter& Path(std::string_view data, const Mark& mark);
  SvgWriter& Text(Point at, std::string_view text, const TextLook& look = {});

  /// Returns the picture and leaves the writer empty.
  [[nodiscard]] std::string Finish();

 private:
  void Number(std::string_view name, double value);
  void Style(std::string_view style);
  void Close(std::string_view tip);

  std::string attributes_;
  std::string body_;
};

}  // namespace orrery::draw

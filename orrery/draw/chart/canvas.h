#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

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

/// The style and the tooltip of an element. The style is a name that the page defines, so that one
/// picture works in light and dark mode.
struct Mark {
  std::string_view style = {};
  std::string_view tip = {};
  std::string_view data = {};  // further attributes, written as they are
};

enum class Anchor { kStart, kMiddle, kEnd };

struct TextLook {
  std::string_view style = "tick";
  Anchor anchor = Anchor::kStart;
};

/// Appends a coordinate with at most so many decimals, as short as it goes.
void AppendCoordinate(double value, std::string& out, int decimals = 1);

/// Appends a command of a path and its point.
void AppendPoint(char command, Point at, std::string& path);

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

  /// Begins a view, which clips elements to `box` until EndView. A page can magnify a part of it.
  SvgWriter& BeginView(const Box& box);
  SvgWriter& EndView();

  /// Decimals of the x and widths of rectangles from here on: more where a page may enlarge them.
  SvgWriter& Decimals(int decimals);

  /// Returns the picture and leaves the writer empty.
  [[nodiscard]] std::string Finish();

 private:
  void Number(std::string_view name, double value, int decimals = 1);
  void Style(std::string_view style);
  void Close(std::string_view tip);

  std::string attributes_;
  std::string body_;
  int decimals_ = 1;
};

/// Returns `text` for HTML and SVG, in content and in quoted attributes: the five characters that
/// mean something are escaped, control characters and bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string EscapeMarkup(std::string_view text);

/// One kind of thing in a chart: its name for people and the style that colours it.
struct Series {
  std::string name;
  std::string style;
  std::string swatch = {};  // a path in 14 × 14 for the legend; empty: a square
};

/// Returns a series for each category of a page. Its name decides on the colour, so a category has
/// one colour on all ranks, and that of other pages where colours suffice; else it is grey.
[[nodiscard]] std::vector<Series> CategorySeries(const std::vector<std::string>& names);

/// Returns a small picture of the colour or shape of a series.
[[nodiscard]] std::string RenderSwatch(const Series& series);

/// Returns a legend: an HTML list with a swatch for each series.
[[nodiscard]] std::string RenderLegend(const std::vector<Series>& series);

/// Returns the path of a mark around `centre`: circle, square, triangle, diamond, a triangle upside
/// down, a cross; then again. Shapes tell series apart where colours do not.
[[nodiscard]] std::string MarkerPath(std::size_t series, Point centre, double radius);

/// Many rectangles of few colours as one path for each colour: a hundred thousand tiles are a
/// handful of elements.
class TileLayer {
 public:
  explicit TileLayer(std::size_t num_series) : path_of_series_(num_series) {}

  void Add(const Box& box, std::size_t series);

  /// Draws the series that have tiles; the pointer gets their names.
  void Draw(const std::vector<Series>& series, SvgWriter& svg) const;

 private:
  std::vector<std::string> path_of_series_;
};

/// The quantity of an axis. Bytes are shown in powers of 1,000, or of 1,024 (memory).
enum class Quantity {
  kNumber,
  kNanoseconds,
  kBytes,
  kBinaryBytes,
  kBytesPerSecond,
  kPercent,
};

/// Returns a value as a person reads it, with its unit: "12.3 ms", "1.50 GB/s", "41.2 %".
[[nodiscard]] std::string QuantityText(double value, Quantity quantity);

/// Returns a value as it stands at an axis: as above without zeros at the end, "10 ms".
[[nodiscard]] std::string TickText(double value, Quantity quantity);

/// Returns the texts of all ticks of an axis: as above, numbers with as many digits as tell them
/// apart ("14.05").
[[nodiscard]] std::vector<std::string> TickTexts(const std::vector<double>& ticks,
                                                 Quantity quantity);

/// Returns at most `max_ticks` multiples of 1, 2 or 5 times a power of ten from `low` to `high`.
[[nodiscard]] std::vector<double> LinearTicks(double low, double high, int max_ticks);

/// Returns at most `max_ticks` multiples of a power of two from `low` to `high`.
[[nodiscard]] std::vector<double> BinaryTicks(double low, double high, int max_ticks);

/// Returns at most `max_ticks` powers of ten from `low` to `high` (both above zero), with 2 and 5
/// times them where there is room.
[[nodiscard]] std::vector<double> LogTicks(double low, double high, int max_ticks);

// Dimensions that all charts share, so that plots line up vertically on a page.
inline constexpr double kChartWidth = 1080;
inline constexpr double kLabelWidth = 92;   // left of the plot
inline constexpr double kRightMargin = 24;  // room for half a tick text
inline constexpr double kAxisHeight = 26;   // under the plot, without a title
inline constexpr double kTitleHeight = 20;  // … of an axis, on top

/// Maps values from `low` to `high` to places from `first` to `last` of a picture. A domain without
/// extent maps to the middle.
struct Scale {
  enum class Kind { kLinear, kLog };

  Kind kind = Kind::kLinear;
  double low = 0;
  double high = 1;
  double first = 0;
  double last = 1;

  [[nodiscard]] double operator()(double value) const;
};

struct Axis {
  Scale scale;
  Quantity quantity = Quantity::kNumber;
  std::string_view title = {};
  int max_ticks = 8;

  [[nodiscard]] std::vector<double> Ticks() const;
};

/// Draws tick texts and the title under `plot`, and grid lines through it.
void DrawHorizontalAxis(const Axis& axis, const Box& plot, SvgWriter& svg);

/// Draws tick texts to the left of `plot`, the title above them, and grid lines through it.
void DrawVerticalAxis(const Axis& axis, const Box& plot, SvgWriter& svg);

/// Tells the page how to read the place of the pointer: what is under it along x.
void AddHoverAlongX(const Scale& scale, Quantity quantity, SvgWriter& svg);

/// The positions of a chart's rows, of which there may be eight or thousands: tall rows with a gap
/// while there is room, then thin ones, then rows that each show several neighbours.
struct RowLayout {
  std::size_t num_items = 0;
  std::size_t items_per_row = 1;
  double pitch = 26;  // from one row to the next
  double gap = 4;     // of the pitch, below a row

  [[nodiscard]] static RowLayout For(std::size_t num_items);

  [[nodiscard]] std::size_t num_rows() const {
    return (num_items + items_per_row - 1) / items_per_row;
  }

  [[nodiscard]] double height() const { return pitch * static_cast<double>(num_rows()); }

  [[nodiscard]] double TopOf(std::size_t row) const { return pitch * static_cast<double>(row); }

  /// Every how many rows there is room for a label.
  [[nodiscard]] std::size_t LabelEvery() const;
};

/// Returns the room left of a plot: that of all charts, or more where labels would be cut off.
[[nodiscard]] double LabelWidthFor(const std::vector<std::string>& labels);

/// Returns a label that fits into the most room that LabelWidthFor gives: a longer one ends in "…".
[[nodiscard]] std::string FittedLabel(const std::string& label);

/// Draws the labels of the rows that have room for one, left of `plot`.
void DrawRowLabels(const RowLayout& layout, const std::vector<std::string>& labels, const Box& plot,
                   SvgWriter& svg);

/// Tells the page how to read the place of the pointer: which row is under it.
void AddHoverAlongRows(const RowLayout& layout, const std::vector<std::string>& labels,
                       const Box& plot, SvgWriter& svg);

/// Returns the label of a row: "rank 4", or "rank 4 to rank 7".
[[nodiscard]] std::string LabelOfRow(const RowLayout& layout,
                                     const std::vector<std::string>& labels, std::size_t row);

}  // namespace orrery::draw

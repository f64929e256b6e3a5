#include "orrery/draw/chart/marker.h"

#include <array>
#include <span>

namespace orrery::draw {
namespace {

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

void AppendPoint(char command, Point at, std::string& path) {
  path += command;
  AppendCoordinate(at.x, path);
  path += ' ';
  AppendCoordinate(at.y, path);
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

}  // namespace orrery::draw

#include "orrery/api/fields/render.h"

#include <string>

#include "orrery/report/document.h"

namespace orrery::api {

std::string RenderText(const report::Document& document) {
  return report::RenderText(document);
}

std::string RenderJson(const report::Document& document) {
  return report::RenderJson(document);
}

std::string RenderHtml(const report::Document& document) {
  return report::RenderHtml(document);
}

}  // namespace orrery::api

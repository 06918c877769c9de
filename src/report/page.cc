#include "report/page.h"

#include "report/assets.h"

namespace encode {

std::string script_json(const Json& json) {
  const std::string text =
      json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    // In JSON these characters occur only in strings, where the escape means the same.
    if (c == '<') {
      safe += "\\u003c";
    } else if (c == '>') {
      safe += "\\u003e";
    } else if (c == '&') {
      safe += "\\u0026";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string html_page(const Json& report) {
  std::string page(kPageHead);
  page +=
      "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
      "<title>encode report</title>\n<style>\n";
  page += assets::kStyle;
  page +=
      "</style>\n</head>\n<body>\n<main id=\"page\"></main>\n"
      "<noscript>This report draws its charts with JavaScript.</noscript>\n<footer>";
  page += "<details><summary>Charts by Chart.js 3, under the MIT licence</summary><pre>";
  page += assets::kChartLicence;
  page += "</pre></details></footer>\n<script id=\"data\" type=\"application/json\">";
  page += script_json(report);
  page += "</script>\n<script>\n";
  page += assets::kChart;
  page += "\n</script>\n<script>\n";
  page += assets::kScript;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace encode

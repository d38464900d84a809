#include "gym/report/static_page.h"

#include "gym/report/assets.h"

namespace msc::gym {

std::string StaticPage(const std::string& title, const Html& body) {
  return Markup(
             "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
             "<meta name='viewport' content='width=device-width, initial-scale=1'>"
             "<meta http-equiv='Content-Security-Policy' content='default-src &#39;none&#39;; "
             "style-src &#39;unsafe-inline&#39;'><title>",
             title, "</title><style>", Html{std::string(PageStyle())},
             "</style></head><body><main>", body, "</main></body></html>")
             .text +
         "\n";
}

}  // namespace msc::gym

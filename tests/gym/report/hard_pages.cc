#include "tests/gym/report/hard_pages.h"

#include <cstdio>

#include "compiler/base/file.h"

/// Writes the hard pages and the sample report into a folder, for tests in a browser.
int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: hard_pages FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  auto pages = msc::gym::HardPages();
  pages["sample"] = RenderReport(msc::gym::SampleReport());
  pages["recipes"] = RenderReport(msc::gym::SampleRecipes());
  for (const auto& [name, page] : pages) msc::WriteFileAtomic(folder + "/" + name + ".html", page);
  return 0;
}

// Searches like `mscgym search`: search CONFIG.json RUN_FOLDER PATH_OF_MSCGYM
#include "gym/search/search.h"

#include <iostream>

#include "gym/msc_config/read_config.h"
#include "gym/search/report/report.h"

class Listener final : public msc::gym::SearchListener {
  void ReportProgress(const std::string& text) override { std::cerr << text << '\n'; }
};

int main(int /*argc*/, char** argv) {
  Listener listener;
  const msc::gym::SearchHost host{.program = argv[3], .listener = listener};
  msc::gym::SearchConfig config = msc::gym::ReadConfigFile(argv[1]).config;
  config.seed = 11;
  const msc::gym::SearchOutcome outcome = msc::gym::RunSearch(config, {.folder = argv[2]}, host);
  msc::gym::WriteReport({argv[2]});
  std::cout << outcome.summary;
  return outcome.feasible ? 0 : 1;
}

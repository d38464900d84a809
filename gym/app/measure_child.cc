#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cost/measure/evaluate_child.h"
#include "cost/measure/metric_library.h"
#include "cost/partition/region_child.h"
#include "gym/app/command.h"
#include "gym/search/registries.h"

namespace msc::gym {

void AddMeasureChild(CLI::App& app, AppContext& context) {
  auto request = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("measure-child", "Measure one candidate; started by search");
  command->group("");  // hidden from the help: a search starts it
  command->add_option("request", *request, "request file")->required();
  command->callback(
      [request, &context] { context.exit_code = cost::MeasureChildMain(*request, MakeTargets()); });
}

void AddMeasureRegions(CLI::App& app, AppContext& context) {
  auto request = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("measure-regions", "Measure regions; started by partition");
  command->group("");  // hidden from the help: a partition starts it
  command->add_option("request", *request, "request file")->required();
  command->callback([request, &context] {
    context.exit_code = cost::MeasureRegionsMain(*request, MakeTargets());
  });
}

void AddMetricChild(CLI::App& app, AppContext& context) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* command =
      app.add_subcommand("metric-child", "Compute a metric by a shared object; started by search");
  command->group("");  // hidden from the help: a search starts it
  command->add_option("words", *words, "shared object and its arguments")->required();
  command->callback([words, &context] { context.exit_code = cost::MetricChildMain(*words); });
}

}  // namespace msc::gym

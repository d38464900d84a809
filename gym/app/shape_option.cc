#include "gym/app/shape_option.h"

#include <CLI/CLI.hpp>

namespace msc::gym {

void AddShapeOption(CLI::App& command, std::vector<std::string>& shapes) {
  command
      .add_option("--shape", shapes,
                  "shape of an input with dimensions that the model leaves open, as "
                  "NAME=1x3x640x640; may be repeated for other inputs")
      ->allow_extra_args(false);
}

}  // namespace msc::gym

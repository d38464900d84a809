#pragma once

#include <map>
#include <string>
#include <utility>

#include "cost/model/outcome.h"

namespace msc::cost {

/// Returns the quality of a model with one output that has these losses.
inline Quality QualityOf(std::map<std::string, Estimate> losses) {
  Quality quality;
  quality.outputs.push_back({.losses = std::move(losses)});
  return quality;
}

}  // namespace msc::cost

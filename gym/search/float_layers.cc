#include "gym/search/float_layers.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace msc::gym {
namespace {

std::set<std::string> Names(const std::vector<FloatLayer>& ranking, std::size_t count) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.insert(ranking[i].name);
  return names;
}

/// Returns all layers from the most harmful on. `ranked` becomes the number of those tried.
std::vector<FloatLayer> RankLayers(const FloatLayersTask& task, std::size_t most,
                                   std::size_t& ranked) {
  std::vector<FloatLayer> ranking;
  std::set<std::string> others(task.layers.begin(), task.layers.end());
  bool go_on = true;
  for (const std::string& layer : task.layers) {
    FloatLayer row{.name = layer};
    go_on = go_on && task.progress(ranked + 1, most);
    if (go_on) {
      others.erase(layer);
      row.loss_alone = task.rough_loss(others);
      others.insert(layer);
      ++ranked;
    }
    ranking.push_back(std::move(row));
  }
  std::ranges::stable_sort(ranking, std::greater<>(), &FloatLayer::loss_alone);
  return ranking;
}

}  // namespace

FloatLayers ChooseFloatLayers(const FloatLayersTask& task) {
  const std::size_t most = task.layers.size() + std::bit_width(task.layers.size()) + 1;
  FloatLayers result;
  (void)task.progress(0, most);
  result.loss_before = result.loss_after = task.loss({});
  if (result.loss_before <= 1) return result;
  std::vector<FloatLayer> ranking = RankLayers(task, most, result.ranked);
  // `above` layers are too few, `enough` suffice: without any quantized layer there is no loss.
  std::size_t above = 0;
  std::size_t enough = ranking.size();
  result.loss_after = 0;
  for (std::size_t done = result.ranked + 1; enough - above > 1; ++done) {
    (void)task.progress(done, most);
    const std::size_t middle = above + (enough - above) / 2;
    const double loss = task.loss(Names(ranking, middle));
    if (loss <= 1) {
      enough = middle;
      result.loss_after = loss;
    } else {
      above = middle;
    }
  }
  ranking.resize(enough);
  result.kept = std::move(ranking);
  return result;
}

}  // namespace msc::gym

#include "gym/search/float_layers.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace msc::gym {
namespace {

std::set<std::string> Names(const std::vector<FloatLayer>& ranking, std::size_t count) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.insert(ranking[i].name);
  return names;
}

double WorkOf(const FloatLayersTask& task, const std::string& layer) {
  const auto found = task.work.find(layer);
  if (found != task.work.end()) return found->second;
  return 1 / static_cast<double>(task.layers.size());
}

double WorkOf(const FloatLayersTask& task, const std::vector<FloatLayer>& layers) {
  double work = 0;
  for (const FloatLayer& layer : layers) work += WorkOf(task, layer.name);
  return work;
}

/// Counts the evaluations of losses for FloatLayersTask::progress.
class Progress {
 public:
  explicit Progress(const FloatLayersTask& task)
      : task_(task),
        // Those of all layers quantized, of each alone, and of two searches.
        most_(1 + task.layers.size() + 2 * (1 + std::bit_width(task.layers.size()))) {}
  bool Next() { return task_.progress(done_++, most_); }

 private:
  const FloatLayersTask& task_;
  std::size_t most_;
  std::size_t done_ = 0;
};

/// Returns all layers with their rough losses. `ranked` becomes the number of those tried.
std::vector<FloatLayer> TryAlone(const FloatLayersTask& task, Progress& progress,
                                 std::size_t& ranked) {
  std::vector<FloatLayer> layers;
  std::set<std::string> others(task.layers.begin(), task.layers.end());
  bool go_on = true;
  for (const std::string& layer : task.layers) {
    FloatLayer row{.name = layer};
    go_on = go_on && progress.Next();
    if (go_on) {
      others.erase(layer);
      row.loss_alone = task.rough_loss(others);
      others.insert(layer);
      ++ranked;
    }
    layers.push_back(std::move(row));
  }
  return layers;
}

/// Moves the layers that together do no more than the admitted work to the front, in order, and
/// returns their number.
std::size_t MoveAdmitted(const FloatLayersTask& task, std::vector<FloatLayer>& ranking) {
  double left = task.most_work + 1e-9;  // of sums of shares
  std::vector<FloatLayer> admitted;
  std::vector<FloatLayer> others;
  for (FloatLayer& layer : ranking) {
    const double work = WorkOf(task, layer.name);
    const bool fits = work <= left;
    if (fits) left -= work;
    (fits ? admitted : others).push_back(std::move(layer));
  }
  const std::size_t count = admitted.size();
  std::ranges::move(others, std::back_inserter(admitted));
  ranking = std::move(admitted);
  return count;
}

/// Returns the first layers of a ranking that suffice, or as many as are admitted.
FloatLayers ChooseFirst(const FloatLayersTask& task, std::vector<FloatLayer> ranking,
                        Progress& progress) {
  FloatLayers result;
  // `above` layers are too few, `enough` suffice: without any quantized layer there is no loss.
  std::size_t above = 0;
  std::size_t enough = MoveAdmitted(task, ranking);
  if (enough < ranking.size()) {
    (void)progress.Next();
    result.loss_after = task.loss(Names(ranking, enough));
    result.suffices = result.loss_after <= 1;
  }
  while (result.suffices && enough - above > 1) {
    (void)progress.Next();
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

/// Returns whether `one` is better than `other`: suffices with less work, or loses less.
bool IsBetter(const FloatLayersTask& task, const FloatLayers& one, const FloatLayers& other) {
  if (one.suffices != other.suffices) return one.suffices;
  return one.suffices ? WorkOf(task, one.kept) < WorkOf(task, other.kept)
                      : one.loss_after < other.loss_after;
}

}  // namespace

FloatLayers ChooseFloatLayers(const FloatLayersTask& task) {
  Progress progress(task);
  FloatLayers result;
  (void)progress.Next();
  const double before = result.loss_before = result.loss_after = task.loss({});
  if (before <= 1) return result;
  std::size_t ranked = 0;
  std::vector<FloatLayer> ranking = TryAlone(task, progress, ranked);
  std::ranges::stable_sort(ranking, std::greater<>(), &FloatLayer::loss_alone);
  result = ChooseFirst(task, ranking, progress);
  if (!task.work.empty()) {
    std::ranges::stable_sort(ranking, std::greater<>(), [&](const FloatLayer& layer) {
      constexpr double kLeastWork = 1e-6;
      return layer.loss_alone / std::max(WorkOf(task, layer.name), kLeastWork);
    });
    FloatLayers cheap = ChooseFirst(task, std::move(ranking), progress);
    if (IsBetter(task, cheap, result)) result = std::move(cheap);
  }
  result.loss_before = before;
  result.ranked = ranked;
  return result;
}

}  // namespace msc::gym

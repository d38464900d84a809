#include "agents/collage/collage_agent.h"

#include <algorithm>
#include <vector>

#include "agents/common/additive_model.h"
#include "agents/common/method.h"

namespace msc::agents {

using gym::Assignment;
using gym::CoverPoint;
using gym::Told;

namespace {

/// What a whole takes: factor * cost + price * boundaries, neither less than 0.
struct Fit {
  double factor = 1;
  double price = 0;
  [[nodiscard]] double Expect(const CoverPoint& point) const {
    return factor * point.cost + price * point.boundaries;
  }
};

/// Least squares over the points that were tried and ran; the default before there are two.
Fit FitPrice(const std::vector<CoverPoint>& front, const History& history) {
  double cc = 0;
  double cb = 0;
  double bb = 0;
  double cy = 0;
  double by = 0;
  int count = 0;
  for (const CoverPoint& point : front) {
    const Told* told = history.Find(point.assignment);
    if (told == nullptr || told->failed) continue;
    const double y = told->objectives.front();
    cc += point.cost * point.cost;
    cb += point.cost * point.boundaries;
    bb += point.boundaries * point.boundaries;
    cy += point.cost * y;
    by += point.boundaries * y;
    ++count;
  }
  if (count < 2 || cc == 0) return {};
  const Fit sums{.factor = std::max(0.0, cy / cc), .price = 0};
  const double determinant = cc * bb - cb * cb;
  if (determinant <= 1e-9 * cc * bb) return sums;
  const Fit both{.factor = (cy * bb - by * cb) / determinant,
                 .price = (by * cc - cy * cb) / determinant};
  if (both.price < 0) return sums;
  return both.factor < 0 ? Fit{.factor = 0, .price = by / bb} : both;
}

class CollageMethod final : public Method {
 public:
  explicit CollageMethod(const gym::AgentSetup& setup) : setup_(setup) {}

  void Learn(const History& history, std::span<const Told> /*round*/) override {
    order_ = setup_.cover_front;
    const Fit fit = FitPrice(order_, history);
    std::stable_sort(order_.begin(), order_.end(), [&](const CoverPoint& a, const CoverPoint& b) {
      return fit.Expect(a) < fit.Expect(b);
    });
  }

  void Propose(Draft& draft) const override {
    for (const CoverPoint& point : order_) draft.Add(point.assignment);
    const Assignment base = draft.history().BestOr(setup_);
    for (const Assignment& change : SingleChanges(setup_, base)) draft.Add(change);
    Rng rng = draft.MakeRng();
    while (draft.AddNear(base, rng)) continue;
  }

 private:
  gym::AgentSetup setup_;
  std::vector<CoverPoint> order_;
};

}  // namespace

std::unique_ptr<gym::Agent> MakeCollageAgent(const gym::AgentSetup& setup) {
  constexpr std::size_t kRound = 4;
  return MakeRoundAgent(setup, kRound, std::make_unique<CollageMethod>(setup));
}

}  // namespace msc::agents

#pragma once

// Distances between numbers of two outputs. The first argument is that of the uncompressed model.

#include <cstdint>
#include <span>
#include <vector>

namespace msc::cost {

/// Returns the position of the largest value; of equal ones, the first.
[[nodiscard]] std::size_t ArgMax(std::span<const double> row);

/// Returns KL(softmax(p) || softmax(q)) of two rows of logits, in nats. The log-softmax cannot
/// overflow.
[[nodiscard]] double LogitsDivergence(std::span<const double> p, std::span<const double> q);

/// Returns sum p log(p / q) - p + q of two rows of probabilities, in nats: their KL divergence if
/// both have the sum 1. Probabilities are at least kLeastProbability.
[[nodiscard]] double ProbabilitiesDivergence(std::span<const double> p, std::span<const double> q);

/// Returns the KL divergence of yes and no, in nats, with the probability sigmoid(p) or p of yes.
[[nodiscard]] double LogitDivergence(double p, double q);
[[nodiscard]] double BinaryDivergence(double p, double q);

/// About the resolution of an f32 near 1. A probability of 0 would make a divergence infinite,
/// although it is only rounded.
inline constexpr double kLeastProbability = 1e-7;

/// Returns 1 - cosine of the angle, in [0, 2]. Two zero vectors have the distance 0; one zero
/// vector has the distance 1 from any other.
[[nodiscard]] double CosineDistance(std::span<const double> p, std::span<const double> q);

/// Returns the mean over the classes that occur in `p` or `q` of the intersection over union of the
/// positions where they occur. 1 if there are no positions. Classes are not negative.
[[nodiscard]] double MeanIou(std::span<const std::int32_t> p, std::span<const std::int32_t> q);

/// Returns what a greedy CTC decoder reads: the classes without repetitions and then without blanks
/// (Graves et al., "Connectionist temporal classification", 2006, section 3.2).
[[nodiscard]] std::vector<std::int32_t> DecodeCtc(std::span<const std::int32_t> classes,
                                                  std::int32_t blank);

/// Returns the least number of insertions, deletions and replacements that make `q` of `p`
/// (Levenshtein distance).
[[nodiscard]] std::int64_t EditDistance(std::span<const std::int32_t> p,
                                        std::span<const std::int32_t> q);

}  // namespace msc::cost

// Stagewise choice (Plackett-Luce, ordered partitions): at each stage of a ballot a tier is chosen from all that remain.
//
// log-likelihood = sum over stages of weight * (log(worth of the tier) - log(worth of all that remain)).
// mark says what starts at an entry: 1 a tier that is chosen, 2 the rest (nothing more is chosen), 0 the tier goes on.
// One pass backwards over a ballot gives what remains at each stage, one pass forwards the gradient: linear time.
#include "cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

namespace {

constexpr uint8_t GOES_ON = 0, CHOSEN = 1;
constexpr double LARGE = 1e140, SMALL = 1e-140; // one more factor keeps a product inside the range of double
constexpr double LEAST_LOG_WORTH = -320;        // so that the squares of worths do not underflow

// Ballots [from, to) with their entries; slots count from `base`.
struct Stages {
    const int64_t *indptr;
    const int32_t *slot;
    const uint8_t *mark;
    const double *weight;
    size_t from, to;
    int32_t base = 0;
};

// Adds up weight * log(x) with one logarithm for many factors of the same weight.
class LogSum {
  public:
    void add(double factor, double weight) {
        if (weight != weight_) {
            flush();
            weight_ = weight;
        }
        product_ *= factor;
        if (product_ > LARGE || product_ < SMALL) flush();
    }
    double total() {
        flush();
        return total_;
    }

  private:
    void flush() {
        if (product_ != 1) total_ += weight_ * std::log(product_);
        product_ = 1;
    }
    double product_ = 1, weight_ = 0, total_ = 0;
};

size_t longest(const Stages &all) {
    int64_t most = 0;
    for (size_t b = all.from; b < all.to; ++b) most = std::max(most, all.indptr[b + 1] - all.indptr[b]);
    return static_cast<size_t>(most);
}

int64_t end_of_tier(const Stages &all, int64_t k, int64_t to) {
    while (++k < to && all.mark[k] == GOES_ON) {}
    return k;
}

// What remains at every entry of a ballot: the worth of it and of all entries after it.
void sum_tail(const Stages &all, const double *worth, int64_t from, int64_t to, double *tail) {
    double total = 0;
    for (int64_t k = to; k-- > from;) tail[k - from] = total += worth[all.slot[k] - all.base];
}

// Value of all stages, and by slot: rate = sum of weight / remaining worth over the stages an item remains in,
// gain = sum of weight / tier worth over the chosen tiers of several items. A tier of one item adds nothing to either:
// its weight * score and its win are the caller's.
double sum_stages(const Stages &all, const double *worth, double *gain, double *rate, std::vector<double> &tail) {
    LogSum chosen, remaining;
    for (size_t b = all.from; b < all.to; ++b) {
        int64_t from = all.indptr[b], to = all.indptr[b + 1];
        double weight = all.weight[b], rate_so_far = 0;
        sum_tail(all, worth, from, to, tail.data());
        for (int64_t k = from; k < to; ++k) {
            if (all.mark[k] == CHOSEN) {
                remaining.add(tail[k - from], weight);
                rate_so_far += weight / tail[k - from];
                if (k + 1 < to && all.mark[k + 1] == GOES_ON) {
                    int64_t end = end_of_tier(all, k, to);
                    double tier = 0;
                    for (int64_t j = k; j < end; ++j) tier += worth[all.slot[j] - all.base];
                    for (int64_t j = k; j < end; ++j) gain[all.slot[j] - all.base] += weight / tier;
                    chosen.add(tier, weight);
                }
            }
            rate[all.slot[k] - all.base] += rate_so_far;
        }
    }
    return chosen.total() - remaining.total();
}

constexpr size_t LANES = 4;

// The same for LANES strict ballots of equal length side by side: all their entries but the last are chosen.
SIMD_CLONES double sum_strict(const int32_t *const *slot, const double *weight, size_t n, const double *worth,
                              double *rate, double *tail) {
    double total[LANES] = {0, 0, 0, 0}, mantissa[LANES] = {1, 1, 1, 1};
    int64_t exponent[LANES] = {0, 0, 0, 0};
    for (size_t k = n; k-- > 0;)
        for (size_t t = 0; t < LANES; ++t) tail[k * LANES + t] = total[t] += worth[slot[t][k]];
    double so_far[LANES] = {0, 0, 0, 0};
    for (size_t k = 0; k + 1 < n; ++k) {
        double *here = tail + k * LANES;
        // A product of many factors, kept in range by moving its binary exponent aside.
        for (size_t t = 0; t < LANES; ++t) {
            double product = mantissa[t] * here[t];
            int64_t bits;
            std::memcpy(&bits, &product, sizeof bits);
            exponent[t] += bits >> 52;
            bits = (bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000;
            std::memcpy(&mantissa[t], &bits, sizeof bits);
        }
        for (size_t t = 0; t < LANES; ++t) here[t] = so_far[t] += weight[t] / here[t];
    }
    double value = 0;
    int64_t bias = 1023 * static_cast<int64_t>(n - 1);
    for (size_t t = 0; t < LANES; ++t) {
        tail[(n - 1) * LANES + t] = so_far[t];
        value += weight[t] * (std::log(mantissa[t]) + 0.693147180559945309417 * static_cast<double>(exponent[t] - bias));
        for (size_t k = 0; k < n; ++k) rate[slot[t][k]] += tail[k * LANES + t];
    }
    return -value;
}

bool is_strict(const uint8_t *mark, size_t n) {
    unsigned different = 0;
    for (size_t k = 0; k + 1 < n; ++k) different |= mark[k] ^ CHOSEN;
    return !different;
}

// sum_stages, with strict ballots of equal length taken together.
double sum_all_stages(const Stages &all, const double *worth, double *gain, double *rate) {
    std::vector<double> tail(LANES * longest(all));
    double value = 0;
    for (size_t b = all.from; b < all.to;) {
        size_t n = static_cast<size_t>(all.indptr[b + 1] - all.indptr[b]), t = 0;
        const int32_t *slot[LANES];
        if (n > 1)
            for (; t < LANES && b + t < all.to; ++t) {
                int64_t from = all.indptr[b + t];
                if (static_cast<size_t>(all.indptr[b + t + 1] - from) != n || !is_strict(all.mark + from, n)) break;
                slot[t] = all.slot + from;
            }
        if (t == LANES) {
            value += sum_strict(slot, all.weight + b, n, worth, rate, tail.data());
            b += LANES;
            continue;
        }
        Stages one = all;
        one.from = b;
        one.to = b += std::max<size_t>(t, 1);
        value += sum_stages(one, worth, gain, rate, tail);
    }
    return value;
}

// Second derivatives of minus the log-likelihood by score, lower triangle of an m x m matrix: `remaining` is the
// positive semidefinite part of what remains; `tied` what tiers of several items take off it (may be null).
void curve_stages(const Stages &all, const double *worth, size_t m, double *remaining, double *tied,
                  std::vector<double> &tail) {
    auto cell = [m](double *matrix, size_t i, size_t j) -> double & {
        return i > j ? matrix[i * m + j] : matrix[j * m + i];
    };
    std::vector<double> slope(m, 0.0);
    for (size_t b = all.from; b < all.to; ++b) {
        int64_t from = all.indptr[b], to = all.indptr[b + 1];
        double weight = all.weight[b], first = 0, second = 0;
        sum_tail(all, worth, from, to, tail.data());
        for (int64_t k = from; k < to; ++k) {
            size_t i = static_cast<size_t>(all.slot[k] - all.base);
            if (all.mark[k] == CHOSEN) {
                first += weight / tail[k - from];
                second += weight / (tail[k - from] * tail[k - from]);
                int64_t end = end_of_tier(all, k, to);
                if (tied && end > k + 1) {
                    double tier = 0;
                    for (int64_t j = k; j < end; ++j) tier += worth[all.slot[j] - all.base];
                    for (int64_t j = k; j < end; ++j) {
                        size_t one = static_cast<size_t>(all.slot[j] - all.base);
                        double share = worth[one] / tier;
                        tied[one * m + one] += weight * share * (1 - share);
                        for (int64_t l = k; l < j; ++l) {
                            size_t other = static_cast<size_t>(all.slot[l] - all.base);
                            cell(tied, one, other) -= weight * share * worth[other] / tier;
                        }
                    }
                }
            }
            slope[i] += first;
            remaining[i * m + i] -= second;
            for (int64_t l = k + 1; l < to; ++l) cell(remaining, i, static_cast<size_t>(all.slot[l] - all.base)) -= second;
        }
    }
    for (size_t i = 0; i < m; ++i) {
        for (size_t j = 0; j <= i; ++j) remaining[i * m + j] *= worth[i] * worth[j];
        remaining[i * m + i] += slope[i] * worth[i];
    }
}

constexpr double LEAST_PIVOT = 1e-13; // of the diagonal: smaller ones are rounding errors

struct Prior {
    double strength;
    bool is_gamma;
};

// The fit of one instance by Newton's method. Where ties make the second derivative indefinite, the part without the
// tiers' own curvature is used: their log-sum is convex, so its tangent is a lower bound and every step still ascends.
class Fit {
  public:
    Fit(const Stages &stages, size_t m, Prior prior)
        : stages_(stages), m_(m), prior_(prior), score(m, 0.0), wins_(m, 0.0), worth_(m), gain_(m), rate_(m),
          gradient_(m), trial_(m), step_(m), tail_(longest(stages)) {
        for (size_t b = stages.from; b < stages.to; ++b)
            for (int64_t k = stages.indptr[b]; k < stages.indptr[b + 1]; ++k) {
                bool is_alone = k + 1 == stages.indptr[b + 1] || stages.mark[k + 1] != GOES_ON;
                if (stages.mark[k] != CHOSEN) continue;
                if (is_alone) wins_[static_cast<size_t>(stages.slot[k] - stages.base)] += stages.weight[b];
                total_ += stages.weight[b];
                has_ties_ = has_ties_ || !is_alone;
            }
    }

    void run(int max_steps, double tolerance) {
        double value = evaluate(score);
        for (steps = 0; steps < max_steps; ++steps) {
            double before = largest(gradient_);
            if (before <= tolerance * (total_ + prior_.strength)) break;
            curve();
            step_ = gradient_;
            solve(factor_.data(), m_, step_.data());
            double slope = dot(gradient_.data(), step_.data(), m_);
            double length = 1, next = value;
            bool is_rounding = slope <= 1e-12 * (std::fabs(value) + 1e-3 * total_);
            for (int halvings = 0; halvings < 60; ++halvings, length /= 2) {
                for (size_t i = 0; i < m_; ++i) trial_[i] = score[i] + length * step_[i];
                next = evaluate(trial_);
                if (is_rounding || next >= value + 1e-4 * length * slope) break;
            }
            bool is_small = largest(step_) <= 1e-14 * (1 + largest(trial_));
            score.swap(trial_);
            value = next;
            // Where the value cannot tell any more, the gradient falls at every step until it is rounding itself.
            if (is_small || (is_rounding && largest(gradient_) > before / 2)) break;
        }
        value_ = value;
        norm = largest(gradient_) / std::max(total_ + prior_.strength, 1e-300);
        centre();
    }

    // Covariance of scores that sum to zero; NaN where the second derivative is not definite.
    bool covariance(double *result) {
        evaluate(score);
        bool is_definite = curve();
        double along = m_ * (shift_ * m_ + (prior_.is_gamma ? 0.0 : prior_.strength));
        invert(factor_.data(), m_, 1 / along, result);
        if (!is_definite) std::fill(result, result + m_ * m_, NAN);
        return is_definite;
    }

    double log_likelihood() const { return value_ - penalty_; }
    double penalty() const { return penalty_; }

    // Log-determinant of the curvature without the direction "all scores up by the same", which is no part of the
    // model; that of ties, which would take something away, is left out.
    double log_det() {
        evaluate(score);
        bool had_ties = std::exchange(has_ties_, false);
        curve();
        has_ties_ = had_ties;
        double along = shift_ * static_cast<double>(m_) + (prior_.is_gamma ? 0.0 : prior_.strength);
        return log_determinant(factor_.data(), m_) - std::log(along);
    }

  private:
    static double largest(const std::vector<double> &x) {
        double most = 0;
        for (double value : x) most = std::max(most, std::fabs(value));
        return most;
    }

    double evaluate(const std::vector<double> &s) {
        double top = *std::max_element(s.begin(), s.end());
        for (size_t i = 0; i < m_; ++i) worth_[i] = std::exp(std::max(s[i] - top, LEAST_LOG_WORTH));
        std::fill(gain_.begin(), gain_.end(), 0.0);
        std::fill(rate_.begin(), rate_.end(), 0.0);
        double value = sum_stages(stages_, worth_.data(), gain_.data(), rate_.data(), tail_);
        for (size_t i = 0; i < m_; ++i) {
            value += wins_[i] * (s[i] - top);
            gradient_[i] = wins_[i] + worth_[i] * (gain_[i] - rate_[i]);
        }
        penalty_ = 0;
        if (prior_.is_gamma) {
            double sum = 0;
            for (double worth : worth_) sum += worth;
            for (size_t i = 0; i < m_; ++i) {
                penalty_ += prior_.strength * (s[i] - top - std::log(sum));
                gradient_[i] += prior_.strength * (1 - static_cast<double>(m_) * worth_[i] / sum);
            }
        } else {
            for (size_t i = 0; i < m_; ++i) {
                penalty_ -= prior_.strength / 2 * s[i] * s[i];
                gradient_[i] -= prior_.strength * s[i];
            }
        }
        return value + penalty_;
    }

    // Factorise the second derivative at the worths of the last evaluation; false if it had to be made definite.
    bool curve() {
        std::vector<double> remaining(m_ * m_, 0.0), tied(has_ties_ ? m_ * m_ : 0, 0.0);
        curve_stages(stages_, worth_.data(), m_, remaining.data(), has_ties_ ? tied.data() : nullptr, tail_);
        double sum = 0, trace = 0;
        for (double worth : worth_) sum += worth;
        for (size_t i = 0; i < m_; ++i) {
            double share = worth_[i] / sum, scale = prior_.strength * static_cast<double>(m_);
            if (prior_.is_gamma) {
                for (size_t j = 0; j <= i; ++j) remaining[i * m_ + j] -= scale * share * worth_[j] / sum;
                remaining[i * m_ + i] += scale * share;
            } else {
                remaining[i * m_ + i] += prior_.strength;
            }
            trace += remaining[i * m_ + i];
        }
        shift_ = std::max(trace, 1e-300) / static_cast<double>(m_ * m_);
        for (double &value : remaining) value += shift_;
        if (has_ties_) {
            factor_ = remaining;
            for (size_t k = 0; k < m_ * m_; ++k) factor_[k] -= tied[k];
            if (factorise(factor_.data(), m_, LEAST_PIVOT)) return true;
        }
        double lift = 0;
        for (int tries = 0; tries < 60; ++tries) {
            factor_ = remaining;
            for (size_t i = 0; i < m_; ++i) factor_[i * m_ + i] += lift;
            if (factorise(factor_.data(), m_, LEAST_PIVOT)) return !has_ties_ && lift == 0;
            lift = lift == 0 ? 1e-10 * shift_ * static_cast<double>(m_) : lift * 10;
        }
        return false;
    }

    void centre() {
        double mean = 0;
        for (double s : score) mean += s;
        mean /= static_cast<double>(m_);
        for (double &s : score) s -= mean;
    }

    Stages stages_;
    size_t m_;
    Prior prior_;

  public:
    std::vector<double> score;
    int steps = 0;
    double norm = 0;

  private:
    std::vector<double> wins_, worth_, gain_, rate_, gradient_, trial_, step_, tail_, factor_;
    double total_ = 0, value_ = 0, penalty_ = 0, shift_ = 0;
    bool has_ties_ = false;
};

nb::tuple stage_sums(In<int64_t> indptr, In<int32_t> slot, In<uint8_t> mark, In<double> weight, In<double> worth) {
    Buffer<double> gain(worth.size(), 0.0), rate(worth.size(), 0.0);
    double value;
    {
        nb::gil_scoped_release release;
        Stages all{indptr.data(), slot.data(), mark.data(), weight.data(), 0, weight.size()};
        value = sum_all_stages(all, worth.data(), gain.get(), rate.get());
    }
    return nb::make_tuple(value, gain.give(), rate.give());
}

Out<double> stage_rates(In<int64_t> indptr, In<int32_t> slot, In<double> draw, In<double> worth) {
    Buffer<double> rate(worth.size(), 0.0);
    {
        nb::gil_scoped_release release;
        Stages all{indptr.data(), slot.data(), nullptr, nullptr, 0, indptr.size() - 1};
        std::vector<double> tail(longest(all));
        for (size_t b = 0; b < all.to; ++b) {
            int64_t from = all.indptr[b], to = all.indptr[b + 1];
            sum_tail(all, worth.data(), from, to, tail.data());
            double so_far = 0;
            for (int64_t k = from; k < to; ++k) rate[all.slot[k]] += so_far += draw.data()[k] / tail[k - from];
        }
    }
    return rate.give();
}

Out2<double> stage_curvature(In<int64_t> indptr, In<int32_t> slot, In<uint8_t> mark, In<double> weight,
                             In<double> worth) {
    size_t m = worth.size();
    Buffer<double> matrix(m * m, 0.0);
    {
        nb::gil_scoped_release release;
        Stages all{indptr.data(), slot.data(), mark.data(), weight.data(), 0, weight.size()};
        bool has_ties = false;
        for (size_t b = 0; b < all.to && !has_ties; ++b)
            for (int64_t k = all.indptr[b]; k + 1 < all.indptr[b + 1]; ++k)
                has_ties = has_ties || (all.mark[k] == CHOSEN && all.mark[k + 1] == GOES_ON);
        std::vector<double> tail(longest(all)), tied(has_ties ? m * m : 0, 0.0);
        curve_stages(all, worth.data(), m, matrix.get(), has_ties ? tied.data() : nullptr, tail);
        for (size_t k = 0; k < tied.size(); ++k) matrix[k] -= tied[k];
        constexpr size_t side = 32;
        for (size_t row = 0; row < m; row += side)
            for (size_t column = 0; column <= row; column += side)
                for (size_t i = row; i < std::min(row + side, m); ++i)
                    for (size_t j = column; j < std::min(column + side, i); ++j) matrix[j * m + i] = matrix[i * m + j];
    }
    return matrix.give2(m, m);
}

nb::tuple fit_stages(In<int64_t> slot_ptr, In<int64_t> ballot_ptr, In<int64_t> indptr, In<int32_t> slot,
                     In<uint8_t> mark, In<double> weight, double prior, bool is_gamma, int max_steps, double tolerance,
                     bool with_errors, bool with_evidence) {
    size_t instances = slot_ptr.size() - 1, slots = static_cast<size_t>(slot_ptr.data()[instances]);
    size_t cells = 0;
    for (size_t q = 0; with_errors && q < instances; ++q) {
        size_t m = static_cast<size_t>(slot_ptr.data()[q + 1] - slot_ptr.data()[q]);
        cells += m * m;
    }
    Buffer<double> score(slots, 0.0), covariance(cells, 0.0), value(instances, 0.0), norm(instances, 0.0);
    Buffer<double> penalty(instances, 0.0), log_det(instances, 0.0);
    Buffer<int32_t> steps(instances, 0);
    Buffer<uint8_t> is_definite(instances, 1);
    {
        nb::gil_scoped_release release;
        size_t at = 0;
        for (size_t q = 0; q < instances; ++q) {
            int64_t first = slot_ptr.data()[q];
            size_t m = static_cast<size_t>(slot_ptr.data()[q + 1] - first);
            size_t block = at;
            at += m * m;
            if (m < 2) continue;
            Stages stages{indptr.data(),
                          slot.data(),
                          mark.data(),
                          weight.data(),
                          static_cast<size_t>(ballot_ptr.data()[q]),
                          static_cast<size_t>(ballot_ptr.data()[q + 1]),
                          static_cast<int32_t>(first)};
            Fit fit(stages, m, {prior, is_gamma});
            fit.run(max_steps, tolerance);
            std::copy(fit.score.begin(), fit.score.end(), score.get() + first);
            value[q] = fit.log_likelihood();
            norm[q] = fit.norm;
            steps[q] = fit.steps;
            penalty[q] = fit.penalty();
            if (with_errors) is_definite[q] = fit.covariance(covariance.get() + block);
            if (with_evidence) log_det[q] = fit.log_det();
        }
    }
    return nb::make_tuple(score.give(), covariance.give(), value.give(), norm.give(), steps.give(), is_definite.give(),
                          penalty.give(), log_det.give());
}

} // namespace

void bind_stages(nb::module_ &m) {
    m.def("stage_sums", &stage_sums, "indptr"_a.noconvert(), "slot"_a.noconvert(), "mark"_a.noconvert(),
          "weight"_a.noconvert(), "worth"_a.noconvert());
    m.def("stage_rates", &stage_rates, "indptr"_a.noconvert(), "slot"_a.noconvert(), "draw"_a.noconvert(),
          "worth"_a.noconvert());
    m.def("stage_curvature", &stage_curvature, "indptr"_a.noconvert(), "slot"_a.noconvert(), "mark"_a.noconvert(),
          "weight"_a.noconvert(), "worth"_a.noconvert());
    m.def("fit_stages", &fit_stages, "slot_ptr"_a.noconvert(), "ballot_ptr"_a.noconvert(), "indptr"_a.noconvert(),
          "slot"_a.noconvert(), "mark"_a.noconvert(), "weight"_a.noconvert(), "prior"_a, "is_gamma"_a, "max_steps"_a,
          "tolerance"_a, "with_errors"_a, "with_evidence"_a);
}

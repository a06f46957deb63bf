// Stagewise choice (Plackett-Luce, ordered partitions): at each stage of a ballot a tier is chosen from all that remain.
//
// log-likelihood = sum over stages of weight * (log(worth of the tier) - log(worth of all that remain)).
// mark says what starts at an entry: 1 a tier that is chosen, 2 the rest (nothing more is chosen), 0 the tier goes on.
// One pass backwards over a ballot gives what remains at each stage, one pass forwards the gradient: linear time.
#include "newton.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

namespace {

constexpr uint8_t GOES_ON = 0, CHOSEN = 1;
constexpr double LARGE = 1e140, SMALL = 1e-140; // one more factor keeps a product inside the range of double
constexpr double MIN_LOG_WORTH = -320;        // so that the squares of worths do not underflow

// The bundle StageRows as it comes from Python, and ballots [from, to) of it; slots count from `base`.
using StageArrays = std::tuple<In<int64_t>, In<int32_t>, In<uint8_t>, In<double>>;

struct Stages {
    const int64_t *indptr;
    const int32_t *slot;
    const uint8_t *mark = nullptr;
    const double *weight = nullptr;
    size_t from = 0, to = 0;
    int32_t base = 0;

    Stages() = default;
    explicit Stages(const StageArrays &arrays)
        : indptr(std::get<0>(arrays).data()), slot(std::get<1>(arrays).data()), mark(std::get<2>(arrays).data()),
          weight(std::get<3>(arrays).data()), to(std::get<3>(arrays).size()) {}
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
    Interrupts interrupts;
    for (size_t b = all.from; b < all.to; ++b) {
        int64_t from = all.indptr[b], to = all.indptr[b + 1];
        interrupts.poll(static_cast<size_t>((to - from) * (to - from)));
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

// The stages of one instance.
class StageLikelihood {
  public:
    StageLikelihood(const Stages &stages, size_t m_)
        : m(m_), n_extra(0), stages_(stages), wins_(m, 0.0), worth_(m), gain_(m), rate_(m), tail_(longest(stages)) {
        for (size_t b = stages.from; b < stages.to; ++b)
            for (int64_t k = stages.indptr[b]; k < stages.indptr[b + 1]; ++k) {
                bool is_alone = k + 1 == stages.indptr[b + 1] || stages.mark[k + 1] != GOES_ON;
                if (stages.mark[k] != CHOSEN) continue;
                if (is_alone) wins_[static_cast<size_t>(stages.slot[k] - stages.base)] += stages.weight[b];
                total_ += stages.weight[b];
                has_ties_ = has_ties_ || !is_alone;
            }
    }

    const size_t m, n_extra;
    double total() const { return total_; }
    // The log-sum of a tier of several items is convex: its tangent is a lower bound.
    bool is_concave() const { return !has_ties_; }
    void start(double *) const {}

    double evaluate(const double *s) {
        double top = *std::max_element(s, s + m);
        for (size_t i = 0; i < m; ++i) worth_[i] = std::exp(std::max(s[i] - top, MIN_LOG_WORTH));
        std::fill(gain_.begin(), gain_.end(), 0.0);
        std::fill(rate_.begin(), rate_.end(), 0.0);
        double value = stages_.base ? sum_stages(stages_, worth_.data(), gain_.data(), rate_.data(), tail_)
                                    : sum_all_stages(stages_, worth_.data(), gain_.data(), rate_.data());
        for (size_t i = 0; i < m; ++i) value += wins_[i] * (s[i] - top);
        return value;
    }

    void gradient(double *g) const {
        for (size_t i = 0; i < m; ++i) g[i] += wins_[i] + worth_[i] * (gain_[i] - rate_[i]);
    }

    void hessian(double *h, bool is_exact) {
        bool with_ties = has_ties_ && is_exact;
        std::vector<double> tied(with_ties ? m * m : 0, 0.0);
        curve_stages(stages_, worth_.data(), m, h, with_ties ? tied.data() : nullptr, tail_);
        for (size_t k = 0; k < tied.size(); ++k) h[k] -= tied[k];
    }

  private:
    Stages stages_;
    std::vector<double> wins_, worth_, gain_, rate_, tail_;
    double total_ = 0;
    bool has_ties_ = false;
};

nb::tuple stage_sums(const StageArrays &arrays, In<double> worth) {
    Buffer<double> gain(worth.size(), 0.0), rate(worth.size(), 0.0);
    double value;
    {
        nb::gil_scoped_release release;
        Stages all(arrays);
        value = sum_all_stages(all, worth.data(), gain.get(), rate.get());
    }
    return nb::make_tuple(value, gain.give(), rate.give());
}

Out<double> stage_rates(In<int64_t> indptr, In<int32_t> slot, In<double> draw, In<double> worth) {
    Buffer<double> rate(worth.size(), 0.0);
    {
        nb::gil_scoped_release release;
        Stages all;
        all.indptr = indptr.data(), all.slot = slot.data(), all.to = indptr.size() - 1;
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

Out2<double> stage_hessian(const StageArrays &arrays, In<double> worth) {
    size_t m = worth.size();
    Buffer<double> matrix(m * m, 0.0);
    {
        nb::gil_scoped_release release;
        Stages all(arrays);
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

// The tier that begins at entry k of ballot b: its items share the weight by worth.
template <size_t N>
void give_tier(const Stages &all, const double *worth, const double *x, size_t b, int64_t k, int64_t to,
               double *product) {
    int64_t end = end_of_tier(all, k, to);
    double tier = 0, sum[N] = {};
    for (int64_t j = k; j < end; ++j) {
        size_t slot = static_cast<size_t>(all.slot[j]);
        tier += worth[slot];
        for (size_t c = 0; c < N; ++c) sum[c] += worth[slot] * x[slot * N + c];
    }
    for (int64_t j = k; j < end; ++j)
        for (size_t c = 0; c < N; ++c)
            product[static_cast<size_t>(all.slot[j]) * N + c] += all.weight[b] / tier * (sum[c] / tier);
}

// For N vectors (row s of x holds their values at slot s): what the choices a slot remains in take from its product, and
// what tiers of several items give back.
template <size_t N> void take_choices(const Stages &all, const double *worth, const double *x, double *product) {
    std::vector<double> tail(longest(all)), sums(tail.size() * N);
    for (size_t b = 0; b < all.to; ++b) {
        int64_t from = all.indptr[b], to = all.indptr[b + 1];
        double total = 0, so_far[N] = {};
        for (int64_t k = to; k-- > from;) { // the worth that remains, plain and times the vectors
            size_t slot = static_cast<size_t>(all.slot[k]);
            tail[k - from] = total += worth[slot];
            for (size_t c = 0; c < N; ++c) sums[(k - from) * N + c] = so_far[c] += worth[slot] * x[slot * N + c];
        }
        std::fill_n(so_far, N, 0.0);
        for (int64_t k = from; k < to; ++k) {
            if (all.mark[k] == CHOSEN) {
                double share = all.weight[b] / (tail[k - from] * tail[k - from]);
                for (size_t c = 0; c < N; ++c) so_far[c] += share * sums[(k - from) * N + c];
                if (k + 1 < to && all.mark[k + 1] == GOES_ON) give_tier<N>(all, worth, x, b, k, to, product);
            }
            double *own = product + static_cast<size_t>(all.slot[k]) * N;
            for (size_t c = 0; c < N; ++c) own[c] -= so_far[c];
        }
    }
}

// The matrix of second derivatives times many vectors, without building it; x has one row per slot, `rate` is the rate
// less the gain of stage_sums.
Out2<double> stage_product(const StageArrays &arrays, In<double> worth, In<double> rate, In2<double> x) {
    constexpr size_t WIDTH = 4;
    size_t m = worth.size(), columns = x.shape(1);
    Buffer<double> result(m * columns);
    {
        nb::gil_scoped_release release;
        Stages all(arrays);
        std::vector<double> own(m * WIDTH), product(m * WIDTH);
        for (size_t first = 0, width; first < columns; first += width) {
            width = columns - first >= WIDTH ? WIDTH : 1;
            for (size_t i = 0; i < m; ++i)
                for (size_t c = 0; c < width; ++c) own[i * width + c] = x.data()[i * columns + first + c];
            std::fill(product.begin(), product.end(), 0.0);
            (width == 1 ? take_choices<1> : take_choices<WIDTH>)(all, worth.data(), own.data(), product.data());
            for (size_t i = 0; i < m; ++i)
                for (size_t c = 0; c < width; ++c)
                    result[i * columns + first + c] =
                        worth.data()[i] * (product[i * width + c] + rate.data()[i] * own[i * width + c]);
        }
    }
    return result.give2(m, columns);
}

nb::object fit_stages(In<int64_t> slot_ptr, In<int64_t> ballot_ptr, const StageArrays &arrays,
                      const BeliefArrays &belief, const WarmStartArrays &warm_start, double small_step, bool with_errors) {
    Fits fits(slot_ptr, belief, warm_start, with_errors);
    {
        nb::gil_scoped_release release;
        for (size_t q = 0; q < fits.instances(); ++q) {
            if (fits.size(q) > 1) {
                Stages stages(arrays);
                stages.from = static_cast<size_t>(ballot_ptr.data()[q]);
                stages.to = static_cast<size_t>(ballot_ptr.data()[q + 1]);
                stages.base = static_cast<int32_t>(fits.first(q));
                StageLikelihood likelihood(stages, fits.size(q));
                fits.fit(q, likelihood, false, small_step);
            }
            fits.next(q);
        }
    }
    return fits.give();
}

} // namespace

void bind_stages(nb::module_ &m) {
    m.def("stage_sums", &stage_sums, "stages"_a.noconvert(), "worth"_a.noconvert());
    m.def("stage_rates", &stage_rates, "indptr"_a.noconvert(), "slot"_a.noconvert(), "draw"_a.noconvert(),
          "worth"_a.noconvert());
    m.def("stage_hessian", &stage_hessian, "stages"_a.noconvert(), "worth"_a.noconvert());
    m.def("stage_product", &stage_product, "stages"_a.noconvert(), "worth"_a.noconvert(), "rate"_a.noconvert(),
          "x"_a.noconvert());
    m.def("fit_stages", &fit_stages, "slot_ptr"_a.noconvert(), "ballot_ptr"_a.noconvert(), "stages"_a.noconvert(),
          "belief"_a.noconvert(), "warm_start"_a.noconvert(), "small_step"_a, "with_errors"_a);
}

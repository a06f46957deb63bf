// Ordered partitions whose sets are worth the maximum, minimum, geometric or harmonic mean of their members' worths.
//
// At a stage of a query a non-empty set S is chosen from the remaining objects R with probability g(|S|) Phi(S) / Z.
// Maximum and minimum have an exact normaliser: the n-th best of N remaining objects is the best of M(N - n) sets,
// M(j) = sum_m g(m) C(j, m - 1), so that Z = sum_n M(N - n) worth_(n). The others are sampled: a chain per stage holds
// one set, a byte per remaining object. Random numbers come from the caller.
#include "tiered.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

constexpr double WIDE = 300;          // scores further apart than this are worked on as logarithms, or cut there
constexpr double NEGLIGIBLE = 1e-18;  // what is left of a sum and does not change it any more
constexpr double CANCELLED = 1e-6;    // a difference smaller than this part of its terms is summed anew

// ---- maximum and minimum ----
constexpr size_t FEW = 64;

// Where each key stands in increasing order, equal ones in order of appearance, by counting the smaller ones: n^2
// comparisons, but side by side, which is faster than sorting where there are few.
SIMD_CLONES void count_smaller(const double *key, int64_t *place, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        int64_t count = 0;
        for (size_t k = 0; k < i; ++k) count += key[k] <= key[i];
        for (size_t k = i + 1; k < n; ++k) count += key[k] < key[i];
        place[i] = count;
    }
}

// The objects of one query that remain, by worth from the extreme one on, in a list that they leave when chosen.
class Remaining {
  public:
    explicit Remaining(size_t longest) : next_(longest + 2), previous_(longest + 2), place_(longest), at_(longest) {}

    void sort(const double *score, size_t n, bool is_maximum) {
        end_ = static_cast<int32_t>(n + 1);
        if (n <= FEW) {
            double key[FEW];
            int64_t place[FEW];
            for (size_t k = 0; k < n; ++k) key[k] = is_maximum ? -score[k] : score[k];
            count_smaller(key, place, n);
            for (size_t k = 0; k < n; ++k) at_[static_cast<size_t>(place[k])].second = static_cast<int32_t>(k);
        } else {
            for (size_t k = 0; k < n; ++k) at_[k] = {is_maximum ? -score[k] : score[k], static_cast<int32_t>(k)};
            std::sort(at_.begin(), at_.begin() + static_cast<long>(n));
        }
        for (size_t k = 0; k < n; ++k) place_[static_cast<size_t>(at_[k].second)] = static_cast<int32_t>(k + 1);
        for (int32_t k = 0; k <= end_; ++k) {
            next_[static_cast<size_t>(k)] = k + 1;
            previous_[static_cast<size_t>(k)] = k - 1;
        }
    }
    void remove(size_t position) {
        size_t place = static_cast<size_t>(place_[position]);
        next_[static_cast<size_t>(previous_[place])] = next_[place];
        previous_[static_cast<size_t>(next_[place])] = previous_[place];
    }
    int32_t first() const { return next_[0]; }
    int32_t last() const { return previous_[static_cast<size_t>(end_)]; }
    int32_t after(int32_t place) const { return next_[static_cast<size_t>(place)]; }
    bool is_end(int32_t place) const { return place == end_; }
    size_t position(int32_t place) const { return static_cast<size_t>(at_[static_cast<size_t>(place - 1)].second); }

  private:
    std::vector<int32_t> next_, previous_, place_;
    std::vector<std::pair<double, int32_t>> at_;
    int32_t end_ = 0;
};

struct Counts {
    const double *shrink;     // M(j) / M(j + 1)
    const double *log_spread; // log of (g-weighted number of sets of N objects) / M(N - 1)
};

class Extremes {
  public:
    Extremes(size_t longest, Counts counts, bool is_maximum)
        : remaining_(longest), worth_(longest), terms_(longest), where_(longest), counts_(counts),
          is_maximum_(is_maximum) {}

    // Loss and gradient of one query; `factor` points at the factors of its stages and is moved past them.
    double evaluate(const double *score, const int32_t *tier, const double *&factor, size_t n, double weight,
                    double *gradient) {
        std::fill(gradient, gradient + n, 0.0);
        if (n < 2) {
            if (factor) factor += n;
            return 0;
        }
        double zero = 0;
        for (size_t k = 0; k < n; ++k) zero += score[k] * 0;
        if (zero != 0) { // what is no number cannot be sorted
            std::fill(gradient, gradient + n, std::nan(""));
            if (factor) factor += tier[n - 1] + 1;
            return std::nan("");
        }
        double low = *std::min_element(score, score + n), high = *std::max_element(score, score + n), value = 0;
        bool is_wide = !(high - low < WIDE);
        remaining_.sort(score, n, is_maximum_);
        for (size_t k = 0; k < n; ++k) worth_[k] = score[k] - high;
        if (!is_wide) exponentials(worth_.data(), n, low - high);
        for (size_t from = 0; from < n;) {
            size_t to = from + 1, chosen = from;
            for (; to < n && tier[to] == tier[from]; ++to)
                if (is_maximum_ ? score[to] > score[chosen] : score[to] < score[chosen]) chosen = to;
            double own = factor ? weight * *factor++ : weight;
            if (own != 0) {
                double log_z = is_wide ? walk_wide(n - from) : walk(n - from);
                for (size_t c = 0; c < reached_; ++c) gradient[where_[c]] += own * terms_[c];
                gradient[chosen] -= own;
                double ratio = static_cast<double>(n - from) / static_cast<double>(to - from);
                value += own * (log_z - counts_.log_spread[n - from] - (score[chosen] - high) + std::log(ratio));
            }
            for (; from < to; ++from) remaining_.remove(from);
        }
        return value;
    }

  private:
    // The terms M(N - n) / M(N - 1) worth_(n), as shares of their sum; returns the logarithm of the sum.
    double walk(size_t n) {
        double total = 0, factor = 1, last = worth_[remaining_.position(remaining_.last())];
        reached_ = 0;
        for (int32_t place = remaining_.first(); !remaining_.is_end(place); place = remaining_.after(place)) {
            size_t position = remaining_.position(place), left = n - reached_;
            double worth = worth_[position];
            if (factor * std::max(worth, last) * static_cast<double>(left) < NEGLIGIBLE * total) break;
            where_[reached_] = position;
            total += terms_[reached_++] = factor * worth;
            if (left > 1) factor *= counts_.shrink[left - 2];
        }
        for (size_t c = 0; c < reached_; ++c) terms_[c] /= total;
        return std::log(total);
    }

    // The same where worths are logarithms.
    double walk_wide(size_t n) {
        double high = -INFINITY, log_factor = 0, last = worth_[remaining_.position(remaining_.last())];
        reached_ = 0;
        for (int32_t place = remaining_.first(); !remaining_.is_end(place); place = remaining_.after(place)) {
            size_t position = remaining_.position(place), left = n - reached_;
            double bound = log_factor + std::max(worth_[position], last) + std::log(static_cast<double>(left));
            if (bound < high + std::log(NEGLIGIBLE)) break;
            where_[reached_] = position;
            high = std::max(high, terms_[reached_++] = log_factor + worth_[position]);
            if (left > 1) log_factor += std::log(counts_.shrink[left - 2]);
        }
        double total = 0;
        for (size_t c = 0; c < reached_; ++c) total += terms_[c] = std::exp(terms_[c] - high);
        for (size_t c = 0; c < reached_; ++c) terms_[c] /= total;
        return high + std::log(total);
    }

    Remaining remaining_;
    std::vector<double> worth_, terms_;
    std::vector<size_t> where_;
    size_t reached_ = 0;
    Counts counts_;
    bool is_maximum_;
};

nb::tuple extreme_partitions(In<double> scores, In<int64_t> ptr, In<int32_t> tier, In<double> factor, In<double> weight,
                             In<double> shrink, In<double> log_spread, bool is_maximum) {
    Buffer<double> gradient(scores.size()), loss(weight.size());
    {
        nb::gil_scoped_release release;
        const int64_t *at = ptr.data();
        Extremes extremes(largest_query(ptr), {shrink.data(), log_spread.data()}, is_maximum);
        const double *next = factor.size() ? factor.data() : nullptr;
        for (size_t q = 0; q < weight.size(); ++q) {
            size_t from = static_cast<size_t>(at[q]), n = static_cast<size_t>(at[q + 1]) - from;
            loss[q] = extremes.evaluate(scores.data() + from, tier.data() + from, next, n, weight.data()[q],
                                        gradient.get() + from);
        }
    }
    return nb::make_tuple(loss.give(), gradient.give());
}

// ---- geometric and harmonic mean ----
// Chains: chain c holds a set of the objects [begin[c], end[c]); its bytes follow those of the chains before it.
// They come as the bundle Subsets.
using SubsetArrays = std::tuple<In<int64_t>, In<int64_t>, In<uint8_t>>;

struct Chains {
    const double *score;
    const int64_t *begin, *end;
    const uint8_t *member;
    size_t n, bytes;

    Chains(In<double> &scores, const SubsetArrays &sets)
        : score(scores.data()), begin(std::get<0>(sets).data()), end(std::get<1>(sets).data()),
          member(std::get<2>(sets).data()), n(std::get<0>(sets).size()), bytes(std::get<2>(sets).size()) {}
    size_t size(size_t c) const { return static_cast<size_t>(end[c] - begin[c]); }
};

// The logarithm of the mean worth of a set that is not empty.
double log_mean(const double *score, const uint8_t *member, size_t n, bool is_harmonic) {
    double count = 0, total = 0, low = INFINITY;
    for (size_t k = 0; k < n; ++k)
        if (member[k]) {
            ++count;
            total += score[k];
            low = std::min(low, score[k]);
        }
    if (!is_harmonic) return total / count;
    total = 0;
    for (size_t k = 0; k < n; ++k)
        if (member[k]) total += std::exp(low - score[k]);
    return low + std::log(count / total);
}

std::pair<double, size_t> sum_of_members(const double *value, const uint8_t *member, size_t n) {
    double total = 0;
    size_t count = 0;
    for (size_t k = 0; k < n; ++k)
        if (member[k]) total += value[k], ++count;
    return {total, count};
}

// One visit to every object of a chain: it is in the set with its probability given all others. The set stays
// non-empty. `temperature` is the power of Phi; log_bias[m] = log g(m).
void visit_geometric(const double *score, uint8_t *member, const double *uniform, size_t n, double temperature,
                     const double *log_bias) {
    auto [total, count] = sum_of_members(score, member, n);
    for (size_t k = 0; k < n; ++k) {
        size_t others = count - member[k];
        double rest = member[k] ? total - score[k] : total;
        bool is_in = true;
        if (others) {
            double gain = temperature * (score[k] - rest / static_cast<double>(others)) / static_cast<double>(others + 1) +
                          (log_bias[others + 1] - log_bias[others]);
            is_in = uniform[k] < 1 / (1 + std::exp(-gain));
        }
        member[k] = is_in;
        total = is_in ? rest + score[k] : rest;
        count = others + is_in;
    }
}

void visit_harmonic(const double *score, uint8_t *member, const double *uniform, size_t n, double temperature,
                    const double *log_bias, double *inverse) {
    double low = *std::min_element(score, score + n);
    for (size_t k = 0; k < n; ++k) inverse[k] = std::max(low - score[k], -WIDE);
    exponentials(inverse, n, -WIDE);
    auto [total, count] = sum_of_members(inverse, member, n);
    for (size_t k = 0; k < n; ++k) {
        size_t others = count - member[k];
        double rest = member[k] ? total - inverse[k] : total;
        if (member[k] && rest < CANCELLED * total) {
            rest = 0;
            for (size_t i = 0; others && i < n; ++i)
                if (member[i] && i != k) rest += inverse[i];
        }
        bool is_in = true;
        if (others) {
            double m = static_cast<double>(others), odds = (m + 1) * rest / (m * (rest + inverse[k]));
            if (temperature != 1) odds = std::pow(odds, temperature);
            odds *= std::exp(log_bias[others + 1] - log_bias[others]);
            is_in = uniform[k] < 1 / (1 + 1 / odds);
        }
        member[k] = is_in;
        total = is_in ? rest + inverse[k] : rest;
        count = others + is_in;
    }
}

Out<uint8_t> gibbs_subsets(In<double> scores, SubsetArrays sets, In<double> uniform, double temperature,
                           In<double> log_bias, bool is_harmonic) {
    Chains chains(scores, sets);
    Buffer<uint8_t> result(chains.bytes);
    {
        nb::gil_scoped_release release;
        std::copy_n(chains.member, chains.bytes, result.get());
        std::vector<double> inverse;
        size_t at = 0;
        for (size_t c = 0; c < chains.n; ++c) {
            const double *score = chains.score + chains.begin[c];
            size_t n = chains.size(c);
            if (is_harmonic) {
                inverse.resize(std::max(inverse.size(), n));
                visit_harmonic(score, result.get() + at, uniform.data() + at, n, temperature, log_bias.data(),
                               inverse.data());
            } else {
                visit_geometric(score, result.get() + at, uniform.data() + at, n, temperature, log_bias.data());
            }
            at += n;
        }
    }
    return result.give();
}

// One proposal per chain: a size, uniform from 1 to N, then a uniform set of that size. Such a set has probability
// 1 / (N C(N, m)), so the acceptance ratio carries the binomial coefficients. choice[c] is (size, acceptance).
Out<uint8_t> metropolis_subsets(In<double> scores, SubsetArrays sets, In<double> uniform, In2<double> choice,
                                double temperature, In<double> log_bias, In<double> log_factorial, bool is_harmonic) {
    Chains chains(scores, sets);
    Buffer<uint8_t> result(chains.bytes);
    {
        nb::gil_scoped_release release;
        const double *bias = log_bias.data(), *factorial = log_factorial.data();
        size_t at = 0;
        for (size_t c = 0; c < chains.n; ++c) {
            const double *score = chains.score + chains.begin[c], *draw = uniform.data() + at;
            const uint8_t *old = chains.member + at;
            uint8_t *proposed = result.get() + at;
            size_t n = chains.size(c), count = 0;
            size_t size = std::min(n, 1 + static_cast<size_t>(choice.data()[2 * c] * static_cast<double>(n)));
            for (size_t k = 0, needed = size; k < n; ++k) {
                count += old[k];
                proposed[k] = draw[k] * static_cast<double>(n - k) < static_cast<double>(needed);
                needed -= proposed[k];
            }
            double gain = temperature * (log_mean(score, proposed, n, is_harmonic) - log_mean(score, old, n, is_harmonic)) +
                          (bias[size] - bias[count]) + (factorial[count] + factorial[n - count]) -
                          (factorial[size] + factorial[n - size]);
            // Observed sets may be of a size that cannot be (log g = -inf): any other is better.
            bool is_taken = bias[count] == -INFINITY ? bias[size] > -INFINITY : choice.data()[2 * c + 1] < std::exp(gain);
            if (!is_taken) std::copy(old, old + n, proposed);
            at += n;
        }
    }
    return result.give();
}

Out<double> subset_worths(In<double> scores, SubsetArrays sets, bool is_harmonic) {
    Chains chains(scores, sets);
    Buffer<double> worth(chains.n);
    {
        nb::gil_scoped_release release;
        size_t at = 0;
        for (size_t c = 0; c < chains.n; at += chains.size(c++))
            worth[c] = log_mean(chains.score + chains.begin[c], chains.member + at, chains.size(c), is_harmonic);
    }
    return worth.give();
}

Out<double> subset_slopes(In<double> scores, SubsetArrays sets, In<double> weight, bool is_harmonic) {
    Chains chains(scores, sets);
    Buffer<double> slope(scores.size(), 0.0);
    {
        nb::gil_scoped_release release;
        size_t at = 0;
        for (size_t c = 0; c < chains.n; at += chains.size(c++)) {
            const double *score = chains.score + chains.begin[c];
            const uint8_t *in = chains.member + at;
            double *out = slope.get() + chains.begin[c], count = 0, total = 0, low = INFINITY;
            size_t n = chains.size(c);
            for (size_t k = 0; k < n; ++k)
                if (in[k]) {
                    ++count;
                    low = std::min(low, score[k]);
                }
            if (is_harmonic)
                for (size_t k = 0; k < n; ++k)
                    if (in[k]) total += std::exp(low - score[k]);
            for (size_t k = 0; k < n; ++k)
                if (in[k]) out[k] += weight.data()[c] * (is_harmonic ? std::exp(low - score[k]) / total : 1 / count);
        }
    }
    return slope.give();
}

} // namespace

void bind_subsets(nb::module_ &m) {
    m.def("extreme_partitions", &extreme_partitions, "scores"_a.noconvert(), "ptr"_a.noconvert(), "tier"_a.noconvert(),
          "factor"_a.noconvert(), "weight"_a.noconvert(), "shrink"_a.noconvert(), "log_spread"_a.noconvert(),
          "is_maximum"_a);
    m.def("gibbs_subsets", &gibbs_subsets, "scores"_a.noconvert(), "subsets"_a.noconvert(), "uniform"_a.noconvert(),
          "temperature"_a, "log_bias"_a.noconvert(), "is_harmonic"_a);
    m.def("metropolis_subsets", &metropolis_subsets, "scores"_a.noconvert(), "subsets"_a.noconvert(),
          "uniform"_a.noconvert(), "choice"_a.noconvert(), "temperature"_a, "log_bias"_a.noconvert(),
          "log_factorial"_a.noconvert(), "is_harmonic"_a);
    m.def("subset_worths", &subset_worths, "scores"_a.noconvert(), "subsets"_a.noconvert(), "is_harmonic"_a);
    m.def("subset_slopes", &subset_slopes, "scores"_a.noconvert(), "subsets"_a.noconvert(), "weight"_a.noconvert(),
          "is_harmonic"_a);
}

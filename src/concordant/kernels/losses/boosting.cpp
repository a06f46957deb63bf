// RankBoost: pair weights kept in factors, and the search for the best thresholded feature.
//
// A query's positions stand by decreasing label (tiers from 0). The weight of a pair, i in a better tier than j, is
// weight_q exp(-(f_i - f_j)) = weight_q v_i u_j: sums over all pairs are sums over tiers, O(n) instead of O(n^2).
#include "exponential.hpp"
#include "search.hpp"

#include <cmath>
#include <limits>

namespace {

// Run task(first, last) for every tier of one query, best tier first.
template <typename Run> void for_each_tier(const int32_t *tier, size_t begin, size_t end, Run run) {
    for (size_t first = begin; first < end;) {
        size_t last = first + 1;
        while (last < end && tier[last] == tier[first]) ++last;
        run(first, last);
        first = last;
    }
}

// exp(f - centre) of every position of a query, and one over it; half the range of f (below 1400) lies on
// either side of the centre.
void factors(const double *score, size_t begin, size_t end, double *rise, double *fall) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (size_t k = begin; k < end; ++k) {
        low = std::min(low, score[k]);
        high = std::max(high, score[k]);
    }
    double centre = low + (high - low) / 2;
    for (size_t k = begin; k < end; ++k) rise[k] = score[k] - centre;
    exponentials(rise + begin, end - begin, low - centre);
    for (size_t k = begin; k < end; ++k) fall[k] = 1 / rise[k];
}

nb::tuple boost_potentials(In<double> score, In<int64_t> ptr, In<int32_t> tier, In<double> weight) {
    size_t n = score.size(), queries = ptr.size() - 1;
    Buffer<double> rise(n), fall(n), potential(n);
    double total = 0;
    {
        nb::gil_scoped_release release;
        for (size_t q = 0; q < queries; ++q) {
            size_t begin = static_cast<size_t>(ptr.data()[q]), end = static_cast<size_t>(ptr.data()[q + 1]);
            double w = weight.data()[q], above = 0, below = 0;
            factors(score.data(), begin, end, rise.get(), fall.get());
            for (size_t k = end; k-- > begin;) potential[k] = 0;
            for_each_tier(tier.data(), begin, end, [&](size_t first, size_t last) {
                for (size_t k = first; k < last; ++k) potential[k] -= w * rise[k] * above;
                for (size_t k = first; k < last; ++k) above += fall[k];
            });
            for (size_t last = end; last > begin;) {
                size_t first = last;
                while (first > begin && tier.data()[first - 1] == tier.data()[last - 1]) --first;
                for (size_t k = first; k < last; ++k) {
                    double mine = w * fall[k] * below;
                    potential[k] += mine;
                    total += mine;
                }
                for (size_t k = first; k < last; ++k) below += rise[k];
                last = first;
            }
        }
    }
    return nb::make_tuple(potential.give(), total);
}

nb::tuple boost_shares(In<double> score, In<int64_t> ptr, In<int32_t> tier, In<double> weight, In<uint8_t> vote) {
    size_t n = score.size(), queries = ptr.size() - 1;
    double right = 0, wrong = 0;
    {
        nb::gil_scoped_release release;
        Buffer<double> rise(n), fall(n);
        const uint8_t *h = vote.data();
        for (size_t q = 0; q < queries; ++q) {
            size_t begin = static_cast<size_t>(ptr.data()[q]), end = static_cast<size_t>(ptr.data()[q + 1]);
            double w = weight.data()[q], chosen = 0, others = 0; // weights of the better positions, by vote
            factors(score.data(), begin, end, rise.get(), fall.get());
            for_each_tier(tier.data(), begin, end, [&](size_t first, size_t last) {
                for (size_t k = first; k < last; ++k) (h[k] ? wrong : right) += w * rise[k] * (h[k] ? others : chosen);
                for (size_t k = first; k < last; ++k) (h[k] ? chosen : others) += fall[k];
            });
        }
    }
    return nb::make_tuple(right, wrong);
}

double boost_errors(In<double> score, In<int64_t> ptr, In<int32_t> tier, In<double> weight) {
    nb::gil_scoped_release release;
    size_t queries = ptr.size() - 1;
    double total = 0;
    std::vector<size_t> order;
    std::vector<double> tree;
    const double *f = score.data();
    const int32_t *level = tier.data();
    for (size_t q = 0; q < queries; ++q) {
        size_t begin = static_cast<size_t>(ptr.data()[q]), end = static_cast<size_t>(ptr.data()[q + 1]);
        if (end - begin < 2) continue;
        size_t tiers = static_cast<size_t>(level[end - 1]) + 1;
        order.resize(end - begin);
        for (size_t k = 0; k < order.size(); ++k) order[k] = begin + k;
        // Best scores first; among equal scores worse tiers first, so that a tied pair counts as a mistake.
        std::sort(order.begin(), order.end(),
                  [&](size_t a, size_t b) { return f[a] != f[b] ? f[a] > f[b] : level[a] > level[b]; });
        tree.assign(tiers + 1, 0.0); // how many positions of every tier came before (a Fenwick tree)
        double seen = 0, mistakes = 0;
        for (size_t k : order) {
            double not_worse = 0;
            for (size_t at = static_cast<size_t>(level[k]) + 1; at; at &= at - 1) not_worse += tree[at];
            mistakes += seen - not_worse;
            for (size_t at = static_cast<size_t>(level[k]) + 1; at <= tiers; at += at & (~at + 1)) tree[at] += 1;
            seen += 1;
        }
        total += weight.data()[q] * mistakes;
    }
    return total;
}

constexpr size_t TOGETHER = 32;

// How many cuts lie below every value; what is missing gets one code more than values can. Binary search takes the same
// steps for all values, so many go together: none waits for another, and there is no branch to guess.
template <typename Value> Out<int32_t> interval_codes(In<Value> value, In<double> cuts) {
    size_t n = value.size(), m = cuts.size();
    Buffer<int32_t> code(n);
    {
        nb::gil_scoped_release release;
        const double *cut = cuts.data();
        for (size_t first = 0; first < n; first += TOGETHER) {
            size_t some = std::min(TOGETHER, n - first);
            double x[TOGETHER] = {};
            size_t below[TOGETHER] = {};
            for (size_t k = 0; k < some; ++k) x[k] = static_cast<double>(value.data()[first + k]);
            for (size_t length = m; length > 0;) {
                size_t half = (length + 1) / 2;
                for (size_t k = 0; k < TOGETHER; ++k)
                    below[k] += half * static_cast<size_t>(cut[below[k] + half - 1] < x[k]);
                length -= half;
            }
            for (size_t k = 0; k < some; ++k)
                code[first + k] = static_cast<int32_t>(std::isnan(x[k]) ? m + 1 : below[k]);
        }
    }
    return code.give();
}

// Sums of the potentials by code, for up to four features at a time: one feature alone would wait for its own stores.
template <typename Code>
void histograms(const Code *code, size_t n, size_t columns, const double *potential, double *sums, size_t width) {
    for (size_t k = 0; k < columns * width; ++k) sums[k] = 0;
    if (columns == 4) {
        const Code *a = code, *b = code + n, *c = code + 2 * n, *d = code + 3 * n;
        double *sa = sums, *sb = sums + width, *sc = sums + 2 * width, *sd = sums + 3 * width;
        for (size_t k = 0; k < n; ++k) {
            double p = potential[k];
            sa[a[k]] += p;
            sb[b[k]] += p;
            sc[c[k]] += p;
            sd[d[k]] += p;
        }
        return;
    }
    for (size_t column = 0; column < columns; ++column)
        for (size_t k = 0; k < n; ++k) sums[column * width + static_cast<size_t>(code[column * n + k])] += potential[k];
}

struct Stump {
    double gain = 0;
    int64_t cut = -1;
    int64_t direction = 1;
};

constexpr double NEARLY = 1 - 1e-9; // gains this close are equal: the first of them wins on every machine

// The best threshold of one feature from its sums by code: codes 0 … cuts hold values, code cuts + 1 what is missing.
// With `at_least` given, the first threshold that reaches it.
Stump best_of(const double *sums, int64_t cuts, double at_least) {
    Stump best;
    double present = 0, below = 0;
    for (int64_t c = 0; c <= cuts; ++c) present += sums[c];
    for (int64_t cut = -1; cut < cuts; ++cut) {
        if (cut >= 0) below += sums[cut];
        if (present - below > best.gain) best = {present - below, cut, 1};
        if (best.gain >= at_least) return best;
        if (below > best.gain) best = {below, cut, -1};
        if (best.gain >= at_least) return best;
    }
    return best;
}

template <typename Code> nb::tuple best_stump(In2<Code> code, In<int64_t> cuts, In<double> potential) {
    size_t features = code.shape(0), n = code.shape(1), at = 0;
    Stump best;
    {
        nb::gil_scoped_release release;
        constexpr double NONE = std::numeric_limits<double>::infinity();
        int64_t most = 0;
        for (size_t f = 0; f < features; ++f) most = std::max(most, cuts.data()[f]);
        size_t width = static_cast<size_t>(most) + 2;
        Buffer<double> gain(features);
        auto some = [&](size_t group) {
            size_t first = group * 4, columns = std::min<size_t>(4, features - first);
            std::vector<double> sums(columns * width);
            histograms(code.data() + first * n, n, columns, potential.data(), sums.data(), width);
            for (size_t k = 0; k < columns; ++k)
                gain[first + k] = best_of(sums.data() + k * width, cuts.data()[first + k], NONE).gain;
        };
        size_t groups = (features + 3) / 4;
        if (static_cast<double>(features) * static_cast<double>(n) < WORTH_THREADS)
            for (size_t group = 0; group < groups; ++group) some(group);
        else
            for_each_task(groups, some);
        for (size_t f = 0; f < features; ++f) best.gain = std::max(best.gain, gain[f]);
        double enough = best.gain * NEARLY;
        while (at + 1 < features && gain[at] < enough) ++at;
        if (features) {
            std::vector<double> sums(width);
            histograms(code.data() + at * n, n, 1, potential.data(), sums.data(), width);
            best = best_of(sums.data(), cuts.data()[at], enough);
        }
    }
    return nb::make_tuple(static_cast<int64_t>(at), best.cut, best.direction, best.gain);
}

} // namespace

void bind_boosting(nb::module_ &m) {
    m.def("boost_potentials", &boost_potentials, "score"_a.noconvert(), "ptr"_a.noconvert(), "tier"_a.noconvert(),
          "weight"_a.noconvert());
    m.def("boost_shares", &boost_shares, "score"_a.noconvert(), "ptr"_a.noconvert(), "tier"_a.noconvert(),
          "weight"_a.noconvert(), "vote"_a.noconvert());
    m.def("boost_errors", &boost_errors, "score"_a.noconvert(), "ptr"_a.noconvert(), "tier"_a.noconvert(),
          "weight"_a.noconvert());
    m.def("interval_codes", &interval_codes<float>, "value"_a.noconvert(), "cuts"_a.noconvert());
    m.def("interval_codes", &interval_codes<double>, "value"_a.noconvert(), "cuts"_a.noconvert());
    m.def("best_stump", &best_stump<uint8_t>, "code"_a.noconvert(), "cuts"_a.noconvert(), "potential"_a.noconvert());
    m.def("best_stump", &best_stump<int32_t>, "code"_a.noconvert(), "cuts"_a.noconvert(), "potential"_a.noconvert());
}

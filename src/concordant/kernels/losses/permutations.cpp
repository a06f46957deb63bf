// The expected NDCG of a random order of few objects, exactly, and its gradient by score.
//
// An order puts object d at place i; its probability is e^(sum of score_d / log2(i + 1)) over the sum of the same over
// all n! orders. Orders that have filled their first k places with the same set S share everything but what happens
// inside S, so that sums over orders become sums over the 2^n sets, from the empty one on and back from the full one:
//
// F(S) = sum over d in S of F(S - d) e^(score_d c_|S|)       all ways to fill the first |S| places with S
// m(S) = mean discounted gain of these places, weighted by the same
// B(S), h(S): the same for the places after |S|, filled with what is not in S
//
// The step S -> S + d has the chance P = F(S) e^(score_d c) B(S + d) / F(all), and an order that takes it has the mean
// gain m(S) + gain + h(S + d); the gradient at d is the sum of P c (that mean - mean of all) over its steps. Where scores
// lie far apart, every F and B is kept relative to its largest term, which is known: objects stand by decreasing score,
// so that it fills places in order of number, and nothing overflows. O(2^n n) per query.
#include "tiered.hpp"

#include <numeric>

namespace {

constexpr double WIDE = 600; // energies further apart than this do not fit beside each other

struct PermutationScratch {
    std::vector<double> score, gain, discount, power;      // by decreasing score; 1 / log2(i + 2); e^energy by place
    std::vector<double> ways, best, mean, ahead, top, rest; // by set: F, log of its largest term, m; B, its log, h
    std::vector<double> gradient;
    std::vector<uint32_t> order;
};

struct Sum {
    double ways = 0, gained = 0;
    void add(double part, double gain) {
        ways += part;
        gained += part * gain;
    }
};

inline size_t lowest(size_t set) { return static_cast<size_t>(__builtin_ctzll(set)); }
inline size_t count(size_t set) { return static_cast<size_t>(__builtin_popcountll(set)); }

// E[discounted gain] of the sorted objects; the gradient by sorted object goes to s.gradient. `counted`: places whose
// gain counts. Where energies are not wide apart, F and B are kept as they are.
template <bool is_wide> double expect(size_t n, size_t counted, PermutationScratch &s) {
    const size_t all = (size_t{1} << n) - 1;
    for (auto *values : {&s.ways, &s.best, &s.mean, &s.ahead, &s.top, &s.rest}) values->resize(all + 1);
    s.power.resize(n * n);
    for (size_t place = 0; place < (is_wide ? 0 : n); ++place)
        for (size_t d = 0; d < n; ++d) s.power[place * n + d] = std::exp(s.score[d] * s.discount[place]);
    s.ways[0] = 1, s.best[0] = 0, s.mean[0] = 0;
    s.ahead[all] = 1, s.top[all] = 0, s.rest[all] = 0;
    for (size_t set = 1; set <= all; ++set) {
        const size_t place = count(set) - 1, worst = 63 - static_cast<size_t>(__builtin_clzll(set));
        const double weight = s.discount[place], gains = place < counted ? weight : 0.0;
        const double *power = s.power.data() + place * n;
        if (is_wide) s.best[set] = s.best[set ^ (size_t{1} << worst)] + s.score[worst] * weight;
        Sum sum;
        for (size_t left = set; left; left &= left - 1) {
            const size_t d = lowest(left), before = set ^ (size_t{1} << d);
            const double factor = is_wide ? std::exp(s.best[before] + s.score[d] * weight - s.best[set]) : power[d];
            sum.add(s.ways[before] * factor, s.mean[before] + s.gain[d] * gains);
        }
        s.ways[set] = sum.ways;
        s.mean[set] = sum.gained / sum.ways;
    }
    const double expected = s.mean[all];
    std::fill_n(s.gradient.begin(), n, 0.0);
    for (size_t set = all; set-- > 0;) {
        const size_t place = count(set), missing = all ^ set;
        const double weight = s.discount[place], gains = place < counted ? weight : 0.0;
        const double *power = s.power.data() + place * n;
        double reached = s.ways[set] / s.ways[all];
        if (is_wide) {
            s.top[set] = s.top[set | (size_t{1} << lowest(missing))] + s.score[lowest(missing)] * weight;
            reached *= std::exp(s.best[set] + s.top[set] - s.best[all]);
        }
        Sum sum;
        for (size_t left = missing; left; left &= left - 1) {
            const size_t d = lowest(left), after = set | (size_t{1} << d);
            const double factor = is_wide ? std::exp(s.top[after] + s.score[d] * weight - s.top[set]) : power[d];
            const double part = s.ahead[after] * factor, gained = s.gain[d] * gains + s.rest[after];
            sum.add(part, gained);
            s.gradient[d] += reached * part * weight * (s.mean[set] + gained - expected);
        }
        s.ahead[set] = sum.ways;
        s.rest[set] = sum.gained / sum.ways;
    }
    return expected;
}

// Whether the energies of two orders can differ by more than exponentials hold.
bool is_wide(size_t n, const PermutationScratch &s) {
    double weight = 0;
    for (size_t k = 0; k < n; ++k) weight += s.discount[k];
    return (s.score[0] - s.score[n - 1]) * weight > WIDE;
}

// The bundle LabelledQueries.
using QueryArrays = std::tuple<In<int64_t>, In<int32_t>, In<double>, In<int64_t>, In<double>>;

// (sum of weight (1 - expected NDCG), gradient by position); cutoff 0: the whole list. Queries without a better and a
// worse object, or without any gain, count nothing.
nb::tuple expected_ndcg(In<double> score, QueryArrays queries, int64_t cutoff) {
    auto &[ptr, tier, label, row, weight] = queries;
    const double *labels = label.data();
    Buffer<double> gradient(score.size(), 0.0);
    double value = 0;
    {
        nb::gil_scoped_release release;
        const size_t most = largest_query(ptr);
        PermutationScratch s;
        s.score.resize(most), s.gain.resize(most), s.gradient.resize(most), s.order.resize(most);
        for (size_t k = 0; k < most; ++k) s.discount.push_back(1 / std::log2(static_cast<double>(k + 2)));
        for_each_query(score, ptr, tier, weight, [&](const TieredQuery &query) {
            const size_t counted = cutoff ? std::min(static_cast<size_t>(cutoff), query.n) : query.n;
            const double *mine = labels + query.base;
            if (!query.has_pairs() || !(mine[0] > 0) || is_no_number(query, value, gradient)) return;
            auto gain_of = [&](size_t k) { // 2^label - 1 scaled so that it always fits
                return mine[k] > 0 ? std::exp2(mine[k] - mine[0]) - std::exp2(-mine[0]) : 0.0;
            };
            double ideal = 0;
            for (size_t k = 0; k < counted; ++k) ideal += gain_of(k) * s.discount[k];
            std::iota(s.order.begin(), s.order.begin() + static_cast<long>(query.n), 0u);
            std::sort(s.order.begin(), s.order.begin() + static_cast<long>(query.n), [&](uint32_t a, uint32_t b) {
                return query.score[a] != query.score[b] ? query.score[a] > query.score[b] : a < b;
            });
            for (size_t k = 0; k < query.n; ++k) {
                s.score[k] = query.score[s.order[k]] - query.score[s.order[0]];
                s.gain[k] = gain_of(s.order[k]) / ideal;
            }
            const double expected =
                is_wide(query.n, s) ? expect<true>(query.n, counted, s) : expect<false>(query.n, counted, s);
            value += query.weight * (1 - expected);
            for (size_t k = 0; k < query.n; ++k) gradient[query.base + s.order[k]] = -query.weight * s.gradient[k];
        });
    }
    return nb::make_tuple(value, gradient.give());
}

} // namespace

void bind_permutations(nb::module_ &m) {
    m.def("expected_ndcg", &expected_ndcg, "score"_a.noconvert(), "queries"_a.noconvert(), "cutoff"_a);
}

// LambdaRank: logistic pair losses, each weighted by how much a retrieval metric would change if the two objects
// swapped places in the order of the current scores.
//
// Every change of a metric is put together in O(1) from numbers kept per object (at its current place):
//
// NDCG: |G_i - G_j| |1/D(place_i) - 1/D(place_j)|, gains over the ideal's.
// AP: with C = relevant up to the place, H = sum of 1/place over them and A = C/place - H, moving a relevant object
//     i down to the place of j changes AP by (A_j - A_i)/R, moving it up by the same with A + 1/place.
// ERR: with P = chance to reach a place, E = the metric up to it, V = chance to stop there, swapping places a < b
//     changes ERR by (V_a - V_b) [(E_{b-1} + P_b/b - E_a)/(1 - V_a) - P_a/a].
#include "tiered.hpp"

#include <numeric>

namespace {

enum Target { NDCG, AP, ERR }; // numbered as in codes.py

constexpr size_t COUNTED = 64; // up to this many objects places are found by counting, not by sorting

struct LambdaScratch {
    std::vector<double> up, down, gain;                     // odds and the gradient
    std::vector<double> place, value, reach, share, before; // per object, as each target needs them; place from 1
    std::vector<uint32_t> order;
    size_t relevant = 0; // how many are, for average precision
    std::vector<double> discount; // by place, 0 beyond the cutoff
    explicit LambdaScratch(size_t largest)
        : up(scratch_for(largest)), down(up), gain(up), place(up), value(up), reach(up), share(up), before(up) {}
};

// place[i]: 1 for the highest score; equal scores in row order, as the metrics break ties.
SIMD_CLONES void count_places(size_t n, const double *score, const int64_t *row, double *place) {
    for (size_t i = 0; i < n; ++i) {
        double x = score[i];
        int64_t mine = row[i], above = 1;
        for (size_t j = 0; j < n; ++j)
            above += (score[j] > x) | (static_cast<int64_t>(score[j] == x) & static_cast<int64_t>(row[j] < mine));
        place[i] = static_cast<double>(above);
    }
}

void find_places(const TieredQuery &query, const int64_t *row, LambdaScratch &s) {
    if (query.n <= COUNTED) {
        count_places(query.n, query.score, row, s.place.data());
    } else {
        s.order.resize(query.n);
        std::iota(s.order.begin(), s.order.end(), 0u);
        std::sort(s.order.begin(), s.order.end(), [&](uint32_t a, uint32_t b) {
            return query.score[a] != query.score[b] ? query.score[a] > query.score[b] : row[a] < row[b];
        });
        for (size_t k = 0; k < query.n; ++k) s.place[s.order[k]] = static_cast<double>(k + 1);
    }
    s.order.resize(query.n);
    for (size_t i = 0; i < query.n; ++i) s.order[static_cast<size_t>(s.place[i]) - 1] = static_cast<uint32_t>(i);
}

// 2^(label - top) - 2^-top: the gain 2^label - 1 scaled so that it always fits; labels below 0 count as 0.
double scaled_gain(double label, double top) { return label > 0 ? std::exp2(label - top) - std::exp2(-top) : 0.0; }

// value = gain over the ideal's, share = discount of the place. False: nothing to gain.
bool prepare_ndcg(const TieredQuery &query, const double *label, LambdaScratch &s) {
    double ideal = 0, top = std::max(label[0], 0.0);
    for (size_t from = 0, to; from < query.n; from = to) {
        to = query.tier_end(from);
        double gain = scaled_gain(label[from], top);
        for (size_t k = from; k < to; ++k) {
            s.value[k] = gain;
            ideal += gain * s.discount[k];
        }
    }
    if (!(ideal > 0)) return false;
    for (size_t k = 0; k < query.n; ++k) {
        s.value[k] /= ideal;
        s.share[k] = s.discount[static_cast<size_t>(s.place[k]) - 1];
    }
    return true;
}

// value = A/R, before = (A + 1/place)/R, reach = 1 where relevant.
bool prepare_ap(const TieredQuery &query, const double *label, size_t cutoff, LambdaScratch &s) {
    size_t relevant = 0;
    while (relevant < query.n && label[relevant] >= 1) ++relevant;
    s.relevant = relevant;
    if (relevant == 0 || relevant == query.n) return false;
    double count = 0, harmonic = 0, all = static_cast<double>(relevant);
    for (size_t k = 0; k < query.n; ++k) {
        size_t i = s.order[k];
        double inverse = k < cutoff ? 1 / static_cast<double>(k + 1) : 0.0;
        s.reach[i] = i < relevant ? 1.0 : 0.0;
        if (i < relevant) {
            count += 1;
            harmonic += inverse;
        }
        s.value[i] = (count * inverse - harmonic) / all;
        s.before[i] = s.value[i] + inverse / all;
    }
    return true;
}

// value = V, reach = 1/(1 - V), share = P/place, before = E up to and including the place; up to but excluding it
// plus P/place is the same E less V P/place plus P/place.
bool prepare_err(const TieredQuery &query, const double *label, size_t cutoff, double largest, LambdaScratch &s) {
    double met = 0, reached = 1, top = std::max({largest, label[0], 0.0});
    if (!(label[0] > 0)) return false;
    for (size_t from = 0, to; from < query.n; from = to) {
        to = query.tier_end(from);
        double stop = std::min(scaled_gain(label[from], top), 1 - 1e-12); // so that 1/(1 - V) stays finite
        for (size_t k = from; k < to; ++k) s.value[k] = stop;
    }
    for (size_t k = 0; k < query.n; ++k) {
        size_t i = s.order[k];
        double stop = s.value[i];
        s.share[i] = k < cutoff ? reached / static_cast<double>(k + 1) : 0.0;
        s.reach[i] = 1 / (1 - stop);
        met += stop * s.share[i];
        s.before[i] = met;
        reached *= 1 - stop;
    }
    return true;
}

// What the changes are made of; plain pointers, which the compiler can keep in registers.
struct Objects {
    const double *place, *value, *reach, *share, *before;
    explicit Objects(const LambdaScratch &s)
        : place(s.place.data()), value(s.value.data()), reach(s.reach.data()), share(s.share.data()),
          before(s.before.data()) {}
};

// What the metric would change by if object i and the objects from j on swapped places.
template <Target target> ALWAYS_INLINE Lanes change_of(const Objects &s, size_t i, size_t j) {
    const Lanes value = load(s.value + j);
    if (target == NDCG) return (s.value[i] - value) * magnitude(s.share[i] - load(s.share + j));
    const Lanes is_below = load(s.place + j) - s.place[i]; // positive where j stands after i
    const Lanes before = load(s.before + j), reach = load(s.reach + j);
    if (target == AP)
        return (s.reach[i] - reach) * magnitude(if_positive(is_below, value - s.value[i], before - s.before[i]));
    const Lanes share = load(s.share + j), with_j = before + share * (1.0 - value);
    const double with_i = s.before[i] + s.share[i] * (1.0 - s.value[i]);
    const Lanes down = (with_j - s.before[i]) * s.reach[i] - s.share[i], up = (with_i - before) * reach - share;
    return (s.value[i] - value) * magnitude(if_positive(is_below, down, up));
}

struct Logistic {
    Lanes chance, loss; // t/(1 + t) and log(1 + t)
};

// 1 + t = m 2^e with m in [sqrt(1/2), sqrt(2)), log m = 2 artanh z with z = (m - 1)/(m + 1): a polynomial in z^2 up to
// z^19, split in two so that its halves run side by side. One division serves z and the chance.
ALWAYS_INLINE Logistic logistic_of(const Lanes &t) {
    const Lanes all = 1.0 + t;
#if defined(__GNUC__)
    typedef uint64_t Bits __attribute__((vector_size(LANES * sizeof(double))));
    Bits bits;
    std::memcpy(&bits, &all, sizeof bits);
    const Bits raised = bits + 0x00095F619980C433u; // carries into the exponent where the mantissa exceeds sqrt(2)
    const Bits scaled = (raised >> 52) | 0x4330000000000000u; // the exponent as the low bits of 2^52 + e
    const Bits rest = bits - ((raised & 0xFFF0000000000000u) - 0x3FF0000000000000u);
    Lanes exponent, m;
    std::memcpy(&exponent, &scaled, sizeof scaled);
    std::memcpy(&m, &rest, sizeof rest);
    exponent = exponent - 4503599627371519.0; // 2^52 + 1023
    const Lanes above = m + 1.0, part = 1.0 / (all * above), z = (m - 1.0) * (all * part), y = z * z, yy = y * y;
    const Lanes even = 2.0 + yy * (2.0 / 5 + yy * (2.0 / 9 + yy * (2.0 / 13 + yy * (2.0 / 17))));
    const Lanes odd = 2.0 / 3 + yy * (2.0 / 7 + yy * (2.0 / 11 + yy * (2.0 / 15 + yy * (2.0 / 19))));
    return {t * (above * part), z * (even + y * odd) + exponent * 0.69314718055994530942};
#else
    return {t / all, each_lane([&](size_t k) { return std::log(all[k]); })};
#endif
}

// For rows [from, to): everything from `worse` on.
template <Target target>
ALWAYS_INLINE void lambda_rows(size_t from, size_t to, size_t worse, size_t n, LambdaScratch &s, Lanes &value) {
    const Objects objects(s);
    const double *up = s.up.data();
    double *gain = s.gain.data();
    for (size_t i = from; i < to; ++i) {
        const double down = s.down[i];
        Lanes lost = Lanes{};
        for (size_t j = worse; j < n; j += LANES) {
            const Logistic pair = logistic_of(down * load(up + j));
            const Lanes change = change_of<target>(objects, i, j), pull = change * pair.chance;
            value += change * pair.loss;
            lost += pull;
            store(gain + j, load(gain + j) + pull);
        }
        gain[i] -= sum_of(lost);
    }
}

template <Target target> ALWAYS_INLINE double lambda_query(size_t n, const int32_t *tier, LambdaScratch &s) {
    Lanes value = Lanes{};
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && tier[to] == tier[from];) ++to;
        lambda_rows<target>(from, to, to, n, s, value);
    }
    return sum_of(value);
}

SIMD_CLONES double lambda_fast(int target, size_t n, const int32_t *tier, LambdaScratch &s) {
    if (target == NDCG) return lambda_query<NDCG>(n, tier, s);
    if (target == ERR) return lambda_query<ERR>(n, tier, s);
    Lanes value = Lanes{};
    lambda_rows<AP>(0, s.relevant, s.relevant, n, s, value); // relevant or not is all that average precision sees
    return sum_of(value);
}

// Scores so far apart that their exponentials do not fit.
double lambda_safe(int target, const TieredQuery &query, LambdaScratch &s) {
    const Objects objects(s);
    double value = 0;
    for (size_t from = 0, to; from < query.n; from = to) {
        to = query.tier_end(from);
        for (size_t i = from; i < to; ++i)
            for (size_t j = to; j < query.n; ++j) {
                const Lanes change = target == NDCG ? change_of<NDCG>(objects, i, j)
                                     : target == AP ? change_of<AP>(objects, i, j)
                                                    : change_of<ERR>(objects, i, j);
                double x = query.score[j] - query.score[i], pull = change[0] * sigmoid_of(x);
                value += change[0] * softplus(x);
                s.gain[i] -= pull;
                s.gain[j] += pull;
            }
    }
    return value;
}

// The bundle LabelledQueries.
using QueryArrays = std::tuple<In<int64_t>, In<int32_t>, In<double>, In<int64_t>, In<double>>;

// The bundle LambdaGoal: target, cutoff (0: the whole list), the largest label of the scale, for ERR.
using GoalNumbers = std::tuple<int, int64_t, double>;

// Which metric counts, with room to work in for queries up to some size.
struct Goal {
    int target;
    size_t top;
    double largest;
    LambdaScratch s;

    Goal(const GoalNumbers &goal, size_t most)
        : target(std::get<0>(goal)), top(std::get<1>(goal) ? static_cast<size_t>(std::get<1>(goal)) : most),
          largest(std::get<2>(goal)), s(most) {
        s.discount.assign(target == NDCG ? most : 0, 0.0);
        for (size_t k = 0; k < std::min(s.discount.size(), top); ++k)
            s.discount[k] = 1 / std::log2(static_cast<double>(k + 2));
    }
    // Add the loss of a query to `value` and leave its gradient in s.gain; false: nothing to gain.
    bool evaluate(const TieredQuery &query, const double *label, const int64_t *row, double &value) {
        find_places(query, row, s);
        if (!(target == NDCG ? prepare_ndcg(query, label, s)
              : target == AP ? prepare_ap(query, label, top, s)
                             : prepare_err(query, label, top, largest, s)))
            return false;
        std::fill_n(s.gain.begin(), query.n + 2 * LANES, 0.0);
        Span span = span_of(query.score, query.n);
        if (span.width() < WIDEST) {
            fill_odds(query, span.middle(), 1.0, s.up.data(), s.down.data());
            value += query.weight * lambda_fast(target, query.n, query.tier, s);
        } else
            value += query.weight * lambda_safe(target, query, s);
        return true;
    }
};

// (value, gradient by position)
nb::tuple lambda_terms(In<double> score, QueryArrays queries, GoalNumbers goal) {
    auto &[ptr, tier, label, row, weight] = queries;
    const double *labels = label.data();
    const int64_t *rows = row.data();
    Buffer<double> gradient(score.size(), 0.0);
    double value = 0;
    {
        nb::gil_scoped_release release;
        Goal at(goal, largest_query(ptr));
        for_each_query(score, ptr, tier, weight, [&](const TieredQuery &query) {
            if (!query.has_pairs() || is_no_number(query, value, gradient)) return;
            if (!at.evaluate(query, labels + query.base, rows + query.base, value)) return;
            for (size_t i = 0; i < query.n; ++i) gradient[query.base + i] = query.weight * at.s.gain[i];
        });
    }
    return nb::make_tuple(value, gradient.give());
}

using ::load;
ALWAYS_INLINE Lanes load(const float *from) { return Lanes{from[0], from[1], from[2], from[3]}; }

// Inner products of rows with the weights, four partial sums each.
template <typename T> ALWAYS_INLINE double product_of(const T *x, const double *theta, size_t columns) {
    Lanes sum = Lanes{}, more = Lanes{};
    size_t c = 0;
    for (; c + 2 * LANES <= columns; c += 2 * LANES) {
        sum += load(x + c) * load(theta + c);
        more += load(x + c + LANES) * load(theta + c + LANES);
    }
    double rest = 0;
    for (; c < columns; ++c) rest += static_cast<double>(x[c]) * theta[c];
    return sum_of(sum + more) + rest;
}
template <typename T> ALWAYS_INLINE void add_row(const T *x, double factor, double *theta, size_t columns) {
    size_t c = 0;
    for (; c + LANES <= columns; c += LANES) store(theta + c, load(theta + c) + factor * load(x + c));
    for (; c < columns; ++c) theta[c] += factor * static_cast<double>(x[c]);
}
#define FOR_BOTH_TYPES(T)                                                                                              \
    SIMD_CLONES void score_rows(const T *X, const int64_t *row, size_t n, const double *theta, size_t columns,         \
                                double *score) {                                                                       \
        for (size_t i = 0; i < n; ++i)                                                                                 \
            score[i] = product_of(X + static_cast<size_t>(row[i]) * columns, theta, columns);                          \
    }                                                                                                                  \
    SIMD_CLONES void step_along(const T *X, const int64_t *row, size_t n, const double *gain, double rate,             \
                                double *theta, size_t columns) {                                                       \
        for (size_t i = 0; i < n; ++i)                                                                                 \
            if (gain[i] != 0) add_row(X + static_cast<size_t>(row[i]) * columns, -rate * gain[i], theta, columns);     \
    }
FOR_BOTH_TYPES(float)
FOR_BOTH_TYPES(double)

// (weights, value): one step per query of `visits`, theta <- (1 - decay) theta - rate gradient.
template <typename T>
nb::tuple lambda_descent(In2<T> X, QueryArrays queries, In<int64_t> visits, In<double> theta, double rate, double decay,
                         GoalNumbers goal) {
    auto &[ptr, tier, label, row, weight] = queries;
    Buffer<double> moved = copy_of(theta);
    const size_t columns = theta.size();
    double value = 0;
    {
        nb::gil_scoped_release release;
        const size_t most = largest_query(ptr);
        Goal at(goal, most);
        std::vector<double> score = scratch_for(most);
        for (size_t v = 0; v < visits.size(); ++v) {
            const size_t q = static_cast<size_t>(visits.data()[v]), base = static_cast<size_t>(ptr.data()[q]);
            const TieredQuery query{base, static_cast<size_t>(ptr.data()[q + 1]) - base, score.data(), tier.data() + base,
                                    weight.data()[q]};
            const int64_t *rows = row.data() + base;
            bool moves = query.has_pairs();
            if (moves) {
                score_rows(X.data(), rows, query.n, moved.get(), columns, score.data());
                double zero = 0;
                for (size_t i = 0; i < query.n; ++i) zero += score[i] * 0;
                if (zero != 0) { // scores that are no numbers: steps too long
                    value = std::numeric_limits<double>::quiet_NaN();
                    std::fill_n(moved.get(), columns, value);
                    break;
                }
                moves = at.evaluate(query, label.data() + base, rows, value);
            }
            if (decay != 0)
                for (size_t c = 0; c < columns; ++c) moved[c] *= 1 - decay;
            if (moves) step_along(X.data(), rows, query.n, at.s.gain.data(), rate * query.weight, moved.get(), columns);
        }
    }
    return nb::make_tuple(moved.give(), value);
}

} // namespace

void bind_lambdas(nb::module_ &m) {
    m.def("lambda_terms", &lambda_terms, "score"_a.noconvert(), "queries"_a.noconvert(), "goal"_a);
    m.def("lambda_descent", &lambda_descent<double>, "X"_a.noconvert(), "queries"_a.noconvert(), "visits"_a.noconvert(),
          "theta"_a.noconvert(), "rate"_a, "decay"_a, "goal"_a);
    m.def("lambda_descent", &lambda_descent<float>, "X"_a.noconvert(), "queries"_a.noconvert(), "visits"_a.noconvert(),
          "theta"_a.noconvert(), "rate"_a, "decay"_a, "goal"_a);
}

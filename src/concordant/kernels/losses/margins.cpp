// The losses of pairs that need not visit pairs: rank regress and exponential in O(n), hinge and squared hinge in
// O(n log n), whatever the number of tiers.
//
// Rank regress and exponential: what i has to do with everything worse is a sum over a suffix, what j has to do with
// everything better a sum over a prefix; tiers move as a whole, so that ties never meet.
//
// Hinges: i over j costs something where score_j > key_i = score_i - 1. Walk down the sorted scores and keys
// together, and every i finds the violators it must count already walked past: those in worse tiers are a suffix sum
// in a Fenwick tree over tiers. Walking up serves the j's. A gradient is a count (hinge) or a count and a sum
// (squared), and the value follows from it. Small queries go through all pairs instead, four at a time.
#include "tiered.hpp"

#include <tuple>
#include <utility>

namespace {

constexpr size_t SMALL = 640; // up to this many positions all pairs are faster than sorting

double mean_of(const double *x, size_t n) {
    double total = 0;
    for (size_t i = 0; i < n; ++i) total += x[i];
    return total / static_cast<double>(n);
}

// ---- rank regress: (margin - d)^2 ----

// sum over pairs of (f_j - k_i)^2 with k = f - margin: the value from the sums the gradient needs anyway.
double regress_query(const TieredQuery &query, double margin, double *f, double *gain) {
    size_t n = query.n;
    double middle = mean_of(query.score, n), value = 0, count = 0, total = 0;
    for (size_t i = 0; i < n; ++i) f[i] = query.score[i] - middle;
    for (size_t from = 0, to; from < n; from = to) { // as the worse one
        to = query.tier_end(from);
        double here = 0;
        for (size_t j = from; j < to; ++j) {
            gain[j] = count * f[j] - total;
            value += f[j] * gain[j];
            here += f[j] - margin;
        }
        count += static_cast<double>(to - from);
        total += here;
    }
    count = total = 0;
    for (size_t to = n, from; to > 0; to = from) { // as the better one
        from = to - 1;
        while (from > 0 && query.tier[from - 1] == query.tier[to - 1]) --from;
        double here = 0;
        for (size_t i = from; i < to; ++i) {
            double slope = total - count * (f[i] - margin);
            value -= (f[i] - margin) * slope;
            gain[i] -= slope;
            here += f[i];
        }
        count += static_cast<double>(to - from);
        total += here;
    }
    for (size_t i = 0; i < n; ++i) gain[i] *= 2;
    return value;
}

// ---- exponential: e^-d ----

double exponential_query(const TieredQuery &query, double *up, double *down, double *gain) {
    Span span = span_of(query.score, query.n);
    fill_odds(query, span.middle(), 1.0, up, down);
    double value = 0, better = 0, worse = 0;
    for (size_t from = 0, to; from < query.n; from = to) {
        to = query.tier_end(from);
        for (size_t j = from; j < to; ++j) value += gain[j] = up[j] * better;
        for (size_t i = from; i < to; ++i) better += down[i];
    }
    for (size_t to = query.n, from; to > 0; to = from) {
        from = to - 1;
        while (from > 0 && query.tier[from - 1] == query.tier[to - 1]) --from;
        for (size_t i = from; i < to; ++i) gain[i] -= down[i] * worse;
        for (size_t i = from; i < to; ++i) worse += up[i];
    }
    return value;
}

// Scores so far apart that the value may not fit: beyond e^WIDEST a pair goes on along its tangent.
double exponential_query_safe(const TieredQuery &query, double *gain) {
    double value = 0;
    std::fill_n(gain, query.n, 0.0);
    for (size_t from = 0, to; from < query.n; from = to) {
        to = query.tier_end(from);
        for (size_t i = from; i < to; ++i)
            for (size_t j = to; j < query.n; ++j) {
                double x = query.score[j] - query.score[i], bounded = std::min(x, WIDEST), e = std::exp(bounded);
                value += e * (1 + (x - bounded));
                gain[i] -= e;
                gain[j] += e;
            }
    }
    return value;
}

void exponential_hessian_query(const TieredQuery &query, const double *v, double *up, double *down, double *gain) {
    Span span = span_of(query.score, query.n);
    fill_odds(query, span.middle(), 1.0, up, down);
    double sum = 0, moved = 0;
    for (size_t from = 0, to; from < query.n; from = to) {
        to = query.tier_end(from);
        for (size_t j = from; j < to; ++j) gain[j] = up[j] * (sum * v[j] - moved);
        for (size_t i = from; i < to; ++i) sum += down[i], moved += down[i] * v[i];
    }
    sum = moved = 0;
    for (size_t to = query.n, from; to > 0; to = from) {
        from = to - 1;
        while (from > 0 && query.tier[from - 1] == query.tier[to - 1]) --from;
        for (size_t i = from; i < to; ++i) gain[i] += down[i] * (sum * v[i] - moved);
        for (size_t i = from; i < to; ++i) sum += up[i], moved += up[i] * v[i];
    }
}

void exponential_hessian_query_safe(const TieredQuery &query, const double *v, double *gain) {
    std::fill_n(gain, query.n, 0.0);
    for (size_t from = 0, to; from < query.n; from = to) {
        to = query.tier_end(from);
        for (size_t i = from; i < to; ++i)
            for (size_t j = to; j < query.n; ++j) {
                double x = query.score[j] - query.score[i];
                if (x > WIDEST) continue;
                double change = std::exp(x) * (v[i] - v[j]);
                gain[i] += change;
                gain[j] -= change;
            }
    }
}

// ---- hinges ----

struct HingeScratch {
    std::vector<double> f, key, gain, v; // scores, scores less the margin, the gradient, a direction
    std::vector<double> f_payload, key_payload; // f and key about the mean, so that sums of them cancel little
    std::vector<double> lost_count, lost_sum, won_count, won_sum; // violated pairs as the better, as the worse one
    std::vector<std::pair<double, uint32_t>> order;
    std::vector<double> tree;
    explicit HingeScratch(size_t largest)
        : f(scratch_for(largest)), key(scratch_for(largest)), gain(scratch_for(largest)), v(scratch_for(largest)) {}

    void read(const TieredQuery &query) {
        for (size_t i = 0; i < query.n; ++i) {
            f[i] = query.score[i];
            key[i] = f[i] - 1;
        }
        std::fill_n(f.begin() + static_cast<std::ptrdiff_t>(query.n), 2 * LANES, -1e300); // violates nothing
        std::fill_n(gain.begin(), query.n + 2 * LANES, 0.0);
    }
    void read_direction(const double *direction, size_t n) {
        std::copy_n(direction, n, v.begin());
        std::fill_n(v.begin() + static_cast<std::ptrdiff_t>(n), 2 * LANES, 0.0);
    }
    void centre_payloads(size_t n) {
        double middle = mean_of(f.data(), n);
        f_payload.resize(n);
        key_payload.resize(n);
        for (size_t i = 0; i < n; ++i) {
            f_payload[i] = f[i] - middle;
            key_payload[i] = f_payload[i] - 1;
        }
    }
};

// Prefix sums of (count, sum) by tier that can grow: O(log tiers) to add and to ask.
struct TierSums {
    std::vector<double> &tree;
    size_t tiers;
    TierSums(std::vector<double> &memory, size_t count) : tree(memory), tiers(count) { clear(); }
    void clear() { tree.assign(2 * (tiers + 1), 0.0); }
    void add(size_t tier, double x) {
        for (size_t k = tier + 1; k <= tiers; k += k & (~k + 1)) {
            tree[2 * k] += 1;
            tree[2 * k + 1] += x;
        }
    }
    // Over tiers before `tier`.
    std::pair<double, double> before(size_t tier) const {
        double count = 0, sum = 0;
        for (size_t k = tier; k > 0; k &= k - 1) {
            count += tree[2 * k];
            sum += tree[2 * k + 1];
        }
        return {count, sum};
    }
};

// For every position: how many pairs it violates with and the sum of the others' payloads, as the better one (payload
// of the worse) and as the worse one (payload of the better).
void find_violations(const TieredQuery &query, HingeScratch &s, const double *of_worse, const double *of_better) {
    size_t n = query.n, tiers = static_cast<size_t>(query.tier[n - 1]) + 1;
    for (auto *out : {&s.lost_count, &s.lost_sum, &s.won_count, &s.won_sum}) out->resize(n);
    s.order.resize(n);
    for (size_t i = 0; i < n; ++i) s.order[i] = {s.f[i], static_cast<uint32_t>(i)};
    std::sort(s.order.begin(), s.order.end());
    TierSums sums(s.tree, tiers);
    for (size_t a = n, b = n; a > 0; --a) { // down: which scores lie above this key?
        size_t i = s.order[a - 1].second;
        for (; b > 0 && s.order[b - 1].first > s.key[i]; --b) {
            size_t j = s.order[b - 1].second;
            sums.add(tiers - 1 - static_cast<size_t>(query.tier[j]), of_worse[j]);
        }
        std::tie(s.lost_count[i], s.lost_sum[i]) = sums.before(tiers - 1 - static_cast<size_t>(query.tier[i]));
    }
    sums.clear();
    for (size_t a = 0, b = 0; a < n; ++a) { // up: which keys lie below this score?
        size_t j = s.order[a].second;
        for (; b < n && s.key[s.order[b].second] < s.f[j]; ++b) {
            size_t i = s.order[b].second;
            sums.add(static_cast<size_t>(query.tier[i]), of_better[i]);
        }
        std::tie(s.won_count[j], s.won_sum[j]) = sums.before(static_cast<size_t>(query.tier[j]));
    }
}

double hinge_sorted(const TieredQuery &query, HingeScratch &s) {
    s.centre_payloads(query.n);
    find_violations(query, s, s.f.data(), s.f.data());
    double value = 0;
    for (size_t i = 0; i < query.n; ++i) {
        s.gain[i] = s.won_count[i] - s.lost_count[i];
        value += s.won_count[i] * s.f_payload[i] - s.lost_count[i] * s.key_payload[i];
    }
    return value;
}

double squared_hinge_sorted(const TieredQuery &query, HingeScratch &s) {
    s.centre_payloads(query.n);
    const double *f = s.f_payload.data(), *key = s.key_payload.data();
    find_violations(query, s, f, key);
    double value = 0;
    for (size_t i = 0; i < query.n; ++i) {
        double as_worse = s.won_count[i] * f[i] - s.won_sum[i], as_better = s.lost_sum[i] - s.lost_count[i] * key[i];
        s.gain[i] = 2 * (as_worse - as_better);
        value += f[i] * as_worse - key[i] * as_better;
    }
    return value;
}

void squared_hinge_hessian_sorted(const TieredQuery &query, HingeScratch &s) {
    find_violations(query, s, s.v.data(), s.v.data());
    for (size_t i = 0; i < query.n; ++i)
        s.gain[i] = 2 * ((s.won_count[i] + s.lost_count[i]) * s.v[i] - s.won_sum[i] - s.lost_sum[i]);
}

// slope(i, j, excess) of the lanes of worse objects from j on, for every better object i; gain collects the slopes.
template <typename Slope>
ALWAYS_INLINE void for_each_preference(size_t n, const int32_t *tier, HingeScratch &s, Slope &&slope) {
    const double *f = s.f.data(), *key = s.key.data();
    double *gain = s.gain.data();
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && tier[to] == tier[from];) ++to;
        for (size_t i = from; i < to; ++i) {
            Lanes all = Lanes{};
            for (size_t j = to; j < n; j += LANES) {
                Lanes one = slope(i, j, load(f + j) - key[i]);
                all += one;
                store(gain + j, load(gain + j) + one);
            }
            gain[i] -= sum_of(all);
        }
    }
}

SIMD_CLONES double hinge_direct(size_t n, const int32_t *tier, HingeScratch &s) {
    Lanes value = Lanes{};
    for_each_preference(n, tier, s, [&](size_t, size_t, const Lanes &excess) {
        value += positive_part(excess);
        return is_positive(excess);
    });
    return sum_of(value);
}

SIMD_CLONES double squared_hinge_direct(size_t n, const int32_t *tier, HingeScratch &s) {
    Lanes value = Lanes{};
    for_each_preference(n, tier, s, [&](size_t, size_t, const Lanes &excess) {
        Lanes part = positive_part(excess);
        value += part * part;
        return 2.0 * part;
    });
    return sum_of(value);
}

SIMD_CLONES void squared_hinge_hessian_direct(size_t n, const int32_t *tier, HingeScratch &s) {
    const double *v = s.v.data();
    for_each_preference(n, tier, s, [&](size_t i, size_t j, const Lanes &excess) {
        return if_positive(excess, 2.0 * (load(v + j) - v[i]), Lanes{});
    });
}

// ---- over all queries ----

// body(query) fills `gain` and returns the value of one query, or nothing of interest for a Hessian product.
template <typename Body>
nb::tuple over_queries(In<double> score, In<int64_t> ptr, In<int32_t> tier, In<double> weight, const double *gain,
                       Body &&body) {
    Buffer<double> gradient(score.size(), 0.0);
    double value = 0;
    {
        nb::gil_scoped_release release;
        for_each_query(score, ptr, tier, weight, [&](const TieredQuery &query) {
            if (!query.has_pairs() || is_no_number(query, value, gradient)) return;
            value += query.weight * body(query);
            for (size_t i = 0; i < query.n; ++i) gradient[query.base + i] = query.weight * gain[i];
        });
    }
    return nb::make_tuple(value, gradient.give());
}

nb::tuple regress_terms(In<double> score, In<int64_t> ptr, In<int32_t> tier, In<double> weight, double margin) {
    std::vector<double> f = scratch_for(largest_query(ptr)), gain = f;
    return over_queries(score, ptr, tier, weight, gain.data(), [&](const TieredQuery &query) {
        return regress_query(query, margin, f.data(), gain.data());
    });
}

nb::tuple exponential_terms(In<double> score, In<int64_t> ptr, In<int32_t> tier, In<double> weight) {
    std::vector<double> up = scratch_for(largest_query(ptr)), down = up, gain = up;
    return over_queries(score, ptr, tier, weight, gain.data(), [&](const TieredQuery &query) {
        if (span_of(query.score, query.n).width() >= WIDEST) return exponential_query_safe(query, gain.data());
        return exponential_query(query, up.data(), down.data(), gain.data());
    });
}

nb::object exponential_hessian_product(In<double> score, In<int64_t> ptr, In<int32_t> tier, In<double> weight,
                                       In<double> direction) {
    std::vector<double> up = scratch_for(largest_query(ptr)), down = up, gain = up;
    return over_queries(score, ptr, tier, weight, gain.data(), [&](const TieredQuery &query) {
        const double *v = direction.data() + query.base;
        if (span_of(query.score, query.n).width() >= WIDEST)
            exponential_hessian_query_safe(query, v, gain.data());
        else
            exponential_hessian_query(query, v, up.data(), down.data(), gain.data());
        return 0.0;
    })[1];
}

nb::tuple hinge_terms(In<double> score, In<int64_t> ptr, In<int32_t> tier, In<double> weight) {
    HingeScratch s(largest_query(ptr));
    return over_queries(score, ptr, tier, weight, s.gain.data(), [&](const TieredQuery &query) {
        s.read(query);
        return query.n > SMALL ? hinge_sorted(query, s) : hinge_direct(query.n, query.tier, s);
    });
}

nb::tuple squared_hinge_terms(In<double> score, In<int64_t> ptr, In<int32_t> tier, In<double> weight) {
    HingeScratch s(largest_query(ptr));
    return over_queries(score, ptr, tier, weight, s.gain.data(), [&](const TieredQuery &query) {
        s.read(query);
        return query.n > SMALL ? squared_hinge_sorted(query, s) : squared_hinge_direct(query.n, query.tier, s);
    });
}

nb::object squared_hinge_hessian_product(In<double> score, In<int64_t> ptr, In<int32_t> tier, In<double> weight,
                                         In<double> direction) {
    HingeScratch s(largest_query(ptr));
    return over_queries(score, ptr, tier, weight, s.gain.data(), [&](const TieredQuery &query) {
        s.read(query);
        s.read_direction(direction.data() + query.base, query.n);
        if (query.n > SMALL)
            squared_hinge_hessian_sorted(query, s);
        else
            squared_hinge_hessian_direct(query.n, query.tier, s);
        return 0.0;
    })[1];
}

} // namespace

void bind_margins(nb::module_ &m) {
    m.def("regress_terms", &regress_terms, "score"_a.noconvert(), "ptr"_a.noconvert(), "tier"_a.noconvert(),
          "weight"_a.noconvert(), "margin"_a);
    m.def("exponential_terms", &exponential_terms, "score"_a.noconvert(), "ptr"_a.noconvert(), "tier"_a.noconvert(),
          "weight"_a.noconvert());
    m.def("exponential_hessian_product", &exponential_hessian_product, "score"_a.noconvert(), "ptr"_a.noconvert(),
          "tier"_a.noconvert(), "weight"_a.noconvert(), "direction"_a.noconvert());
    m.def("hinge_terms", &hinge_terms, "score"_a.noconvert(), "ptr"_a.noconvert(), "tier"_a.noconvert(),
          "weight"_a.noconvert());
    m.def("squared_hinge_terms", &squared_hinge_terms, "score"_a.noconvert(), "ptr"_a.noconvert(),
          "tier"_a.noconvert(), "weight"_a.noconvert());
    m.def("squared_hinge_hessian_product", &squared_hinge_hessian_product, "score"_a.noconvert(), "ptr"_a.noconvert(),
          "tier"_a.noconvert(), "weight"_a.noconvert(), "direction"_a.noconvert());
}

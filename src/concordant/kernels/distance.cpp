// Kendall and Kemeny distances between rankings with ties and missing items: how many pairs of items two rankings
// order differently, how many only one of them ties, how many both order.
//
// Few items: every ranking becomes bit sets over the pairs of items, and two rankings are compared 64 pairs at a time.
// Many items: the items are walked in the order of one ranking and counted in the order of the other, O(M log M).
#include "common.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace {

enum Missing { ignore, last, last_free };

struct Counts {
    int64_t discordant = 0, tied_once = 0, ordered = 0; // ordered: by both rankings
};

// A pair the two rankings cannot disagree on does not count as comparable; no comparable pair, no distance.
double distance_of(const Counts &counts, double penalty, bool normalised) {
    double distance = static_cast<double>(counts.discordant) + penalty * static_cast<double>(counts.tied_once);
    if (!normalised) return distance;
    int64_t comparable = counts.ordered + (penalty > 0 ? counts.tied_once : 0);
    return comparable ? distance / static_cast<double>(comparable) : 0.0;
}

inline int64_t pairs(int64_t n) { return n * (n - 1) / 2; }

// ---- few items: bit sets over pairs of items -------------------------------------------------------------------

struct PairBits {
    size_t words;
    std::vector<uint64_t> before, ordered, known; // known: the pair says something, even if only that it is tied
    bool strict = true;                           // every pair of every ranking is ordered

    PairBits(const int32_t *tiers, size_t rankings, size_t items, Missing missing)
        : words((items * (items - 1) / 2 + 63) / 64), before(rankings * words, 0), ordered(rankings * words, 0),
          known(rankings * words, 0) {
        for (size_t r = 0; r < rankings; ++r) fill(tiers + r * items, items, missing, r * words);
    }

    void fill(const int32_t *tier, size_t items, Missing missing, size_t at) {
        uint64_t bit = 1;
        for (size_t i = 0; i < items; ++i)
            for (size_t j = i + 1; j < items; ++j) {
                int32_t a = tier[i], b = tier[j];
                bool says = missing == ignore ? (a >= 0 && b >= 0) : missing == last || a >= 0 || b >= 0;
                if (missing != ignore) { // an unranked item (-1) stands after every ranked one
                    a = a < 0 ? INT32_MAX : a;
                    b = b < 0 ? INT32_MAX : b;
                }
                bool differs = says && a != b;
                strict = strict && differs;
                if (differs && a < b) before[at] |= bit;
                if (differs) ordered[at] |= bit;
                if (says) known[at] |= bit;
                bit <<= 1;
                if (!bit) bit = 1, ++at;
            }
    }
};

SIMD_CLONES int64_t count_different(const uint64_t *a, const uint64_t *b, size_t words) {
    int64_t count = 0;
    for (size_t w = 0; w < words; ++w) count += __builtin_popcountll(a[w] ^ b[w]);
    return count;
}

SIMD_CLONES void count_words(const uint64_t *before_a, const uint64_t *ordered_a, const uint64_t *known_a,
                             const uint64_t *before_b, const uint64_t *ordered_b, const uint64_t *known_b,
                             size_t words, Counts *counts) {
    int64_t discordant = 0, tied_once = 0, ordered = 0;
    for (size_t w = 0; w < words; ++w) {
        uint64_t both = ordered_a[w] & ordered_b[w];
        ordered += __builtin_popcountll(both);
        discordant += __builtin_popcountll((before_a[w] ^ before_b[w]) & both);
        tied_once += __builtin_popcountll((ordered_a[w] ^ ordered_b[w]) & known_a[w] & known_b[w]);
    }
    *counts = {discordant, tied_once, ordered};
}

// ---- many items: walk one ranking, count in the other ----------------------------------------------------------

// A set of positions that answers "how many are below p". One bit per position; above the bits, counters in groups of
// 256 hold how many lie earlier in their group, so adding touches one short run of counters on each level.
class CountingSet {
  public:
    explicit CountingSet(size_t positions) : bits_(positions / 64 + 1, 0) {
        size_t size = bits_.size();
        while (true) {
            levels_.emplace_back(size, 0);
            if (size <= group) break;
            size = (size + group - 1) / group;
        }
    }
    void clear() {
        std::fill(bits_.begin(), bits_.end(), 0);
        for (auto &level : levels_) std::fill(level.begin(), level.end(), 0);
    }
    inline int64_t below(size_t position) const {
        size_t at = position / 64;
        int64_t count = __builtin_popcountll(bits_[at] & ((uint64_t{1} << (position % 64)) - 1));
        for (const auto &level : levels_) {
            count += level[at];
            at /= group;
        }
        return count;
    }
    inline void add(size_t position) {
        size_t at = position / 64;
        bits_[at] |= uint64_t{1} << (position % 64);
        for (auto &level : levels_) {
            size_t end = std::min((at / group + 1) * group, level.size());
            uint32_t *counter = level.data();
            for (size_t k = at + 1; k < end; ++k) ++counter[k];
            at /= group;
        }
    }

  private:
    static constexpr size_t group = 256;
    std::vector<uint64_t> bits_;
    std::vector<std::vector<uint32_t>> levels_;
};

// A ranking prepared for walking: items best first, and for each item its place and the end of its bucket.
struct Walk {
    std::vector<int32_t> tier, order, place, bucket_end; // tier -1: left out; unranked items may form bucket `items`
    int64_t unranked = 0;                                // size of that bucket
    bool strict = true;                                  // complete and without ties

    Walk(const int32_t *given, size_t items, Missing missing) : tier(given, given + items) {
        std::vector<int32_t> starts(items + 2, 0);
        for (int32_t &t : tier) {
            unranked += t < 0;
            if (t < 0 && missing != ignore) t = static_cast<int32_t>(items);
            if (t >= 0) ++starts[static_cast<size_t>(t) + 1];
            strict = strict && t >= 0;
        }
        for (size_t t = 0; t <= items; ++t) {
            strict = strict && starts[t + 1] <= 1;
            starts[t + 1] += starts[t];
        }
        order.resize(static_cast<size_t>(starts[items + 1]));
        place.assign(items, -1);
        bucket_end.assign(items, -1);
        std::vector<int32_t> next(starts.begin(), starts.end() - 1);
        for (size_t i = 0; i < items; ++i)
            if (tier[i] >= 0) {
                place[i] = next[static_cast<size_t>(tier[i])]++;
                bucket_end[i] = starts[static_cast<size_t>(tier[i]) + 1];
                order[static_cast<size_t>(place[i])] = static_cast<int32_t>(i);
            }
    }
};

struct Scratch {
    CountingSet seen;
    std::vector<int64_t> in_bucket, in_both; // by tier of the second ranking
    explicit Scratch(size_t items) : seen(items + 1), in_bucket(items + 1, 0), in_both(items + 1, 0) {}
};

SIMD_CLONES int64_t count_inversions(const int32_t *order, const int32_t *place, size_t items, Scratch &scratch) {
    int64_t inversions = 0;
    scratch.seen.clear();
    for (size_t k = 0; k < items; ++k) {
        size_t p = static_cast<size_t>(place[order[k]]);
        inversions += static_cast<int64_t>(k) - scratch.seen.below(p);
        scratch.seen.add(p);
    }
    return inversions;
}

Counts compare_walks(const Walk &a, const Walk &b, Missing missing, Scratch &scratch) {
    size_t items = a.tier.size();
    Counts counts;
    if (a.strict && b.strict) {
        counts.discordant = count_inversions(a.order.data(), b.place.data(), items, scratch);
        counts.ordered = pairs(static_cast<int64_t>(items));
        return counts;
    }
    scratch.seen.clear();
    std::fill(scratch.in_bucket.begin(), scratch.in_bucket.end(), 0);
    int64_t seen = 0, tied_a = 0, tied_b = 0, tied_both = 0, free_both_a = 0, free_both_b = 0;
    int32_t unranked = static_cast<int32_t>(items);
    for (size_t first = 0; first < a.order.size();) {
        int32_t tier = a.tier[a.order[first]];
        size_t end = static_cast<size_t>(a.bucket_end[a.order[first]]);
        int64_t here = 0, both_here = 0;
        for (size_t k = first; k < end; ++k) {
            int32_t item = a.order[k], tier_b = b.tier[item];
            if (tier_b < 0) continue;
            counts.discordant += seen - scratch.seen.below(static_cast<size_t>(b.bucket_end[item]));
            tied_b += scratch.in_bucket[tier_b]++;
            int64_t together = scratch.in_both[tier_b]++;
            both_here += together;
            if (tier_b == unranked) free_both_b += together;
            ++here;
        }
        for (size_t k = first; k < end; ++k) {
            int32_t item = a.order[k];
            if (b.tier[item] < 0) continue;
            scratch.in_both[b.tier[item]] = 0;
            scratch.seen.add(static_cast<size_t>(b.place[item]));
        }
        seen += here;
        tied_a += pairs(here);
        tied_both += both_here;
        if (tier == unranked) free_both_a = both_here;
        first = end;
    }
    counts.ordered = pairs(seen) - tied_a - tied_b + tied_both;
    counts.tied_once = tied_a + tied_b - 2 * tied_both;
    if (missing == last_free)
        counts.tied_once -= pairs(a.unranked) - free_both_a + pairs(b.unranked) - free_both_b;
    return counts;
}

// ---- the kernels -----------------------------------------------------------------------------------------------

// Counts (discordant, tied once, ordered by both) of a reference against every ranking. Tiers lie in [-1, items).
Out2<int64_t> kendall_counts(In<int32_t> reference, In2<int32_t> tiers, int missing_code) {
    size_t rankings = tiers.shape(0), items = tiers.shape(1);
    Missing missing = static_cast<Missing>(missing_code);
    Buffer<int64_t> out(3 * rankings);
    {
        nb::gil_scoped_release release;
        Walk walk(reference.data(), items, missing);
        Scratch scratch(items);
        for (size_t r = 0; r < rankings; ++r) {
            Counts counts = compare_walks(walk, Walk(tiers.data() + r * items, items, missing), missing, scratch);
            out[3 * r] = counts.discordant, out[3 * r + 1] = counts.tied_once, out[3 * r + 2] = counts.ordered;
        }
    }
    return out.give2(rankings, 3);
}

// Bit sets cost items^2 / 64 words a pair of rankings, a walk about 6 ns an item: they meet near here.
constexpr size_t few_items = 400;

// Distances between all pairs of rankings. Tiers lie in [-1, items).
Out2<double> kendall_matrix(In2<int32_t> tiers, int missing_code, double penalty, bool normalised) {
    size_t rankings = tiers.shape(0), items = tiers.shape(1);
    Missing missing = static_cast<Missing>(missing_code);
    Buffer<double> out(rankings * rankings, 0.0);
    {
        nb::gil_scoped_release release;
        auto put = [&](size_t r, size_t s, const Counts &counts) {
            out[r * rankings + s] = out[s * rankings + r] = distance_of(counts, penalty, normalised);
        };
        if (items && items <= few_items) {
            PairBits bits(tiers.data(), rankings, items, missing);
            size_t words = bits.words;
            for (size_t r = 0; r < rankings; ++r)
                for (size_t s = r + 1; s < rankings; ++s) {
                    size_t a = r * words, b = s * words;
                    Counts counts;
                    if (bits.strict) {
                        counts.discordant = count_different(&bits.before[a], &bits.before[b], words);
                        counts.ordered = pairs(static_cast<int64_t>(items));
                    } else {
                        count_words(&bits.before[a], &bits.ordered[a], &bits.known[a], &bits.before[b],
                                    &bits.ordered[b], &bits.known[b], words, &counts);
                    }
                    put(r, s, counts);
                }
        } else {
            std::vector<Walk> walks;
            walks.reserve(rankings);
            for (size_t r = 0; r < rankings; ++r) walks.emplace_back(tiers.data() + r * items, items, missing);
            Scratch scratch(items);
            for (size_t r = 0; r < rankings; ++r)
                for (size_t s = r + 1; s < rankings; ++s)
                    put(r, s, compare_walks(walks[r], walks[s], missing, scratch));
        }
    }
    return out.give2(rankings, rankings);
}

} // namespace

void bind_distance(nb::module_ &m) {
    m.def("kendall_counts", &kendall_counts, "reference"_a.noconvert(), "tiers"_a.noconvert(), "missing"_a);
    m.def("kendall_matrix", &kendall_matrix, "tiers"_a.noconvert(), "missing"_a, "penalty"_a, "normalised"_a);
}

// Kendall and Kemeny distances between rankings with ties and missing items: how many pairs of items two rankings
// order differently, how many only one of them ties, how many both order.
//
// Few items: every ranking becomes bit sets over the pairs of items, and two rankings are compared 64 pairs at a time.
// Many items: the items are walked in the order of one ranking and counted in the order of the other, O(M log M).
#include "common.hpp"

#include <algorithm>
#include <vector>
#ifdef _MSC_VER
#include <intrin.h>
#endif

namespace {

// Numbered as in codes.py.
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

inline int64_t ones(uint64_t bits) {
#ifdef _MSC_VER
    return static_cast<int64_t>(__popcnt64(bits));
#else
    return __builtin_popcountll(bits);
#endif
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

    // No branches: which of two items comes first is a coin toss to the processor.
    void fill(const int32_t *tier, size_t items, Missing missing, size_t at) {
        uint64_t before_word = 0, ordered_word = 0, known_word = 0, all_ordered = 1;
        unsigned shift = 0;
        auto store = [&]() {
            before[at] = before_word, ordered[at] = ordered_word, known[at] = known_word;
            before_word = ordered_word = known_word = shift = 0;
            ++at;
        };
        for (size_t i = 0; i < items; ++i) {
            uint64_t ranked_i = tier[i] >= 0;
            uint32_t place_i = static_cast<uint32_t>(tier[i]); // -1 becomes the last place of all
            for (size_t j = i + 1; j < items; ++j) {
                uint64_t ranked_j = tier[j] >= 0;
                uint32_t place_j = static_cast<uint32_t>(tier[j]);
                uint64_t says = missing == ignore ? ranked_i & ranked_j : missing == last ? 1 : ranked_i | ranked_j;
                uint64_t differs = says & (place_i != place_j);
                all_ordered &= differs;
                before_word |= (differs & (place_i < place_j)) << shift;
                ordered_word |= differs << shift;
                known_word |= says << shift;
                if (++shift == 64) store();
            }
        }
        if (shift) store();
        strict = strict && all_ordered;
    }
};

SIMD_CLONES int64_t count_different(const uint64_t *a, const uint64_t *b, size_t words) {
    int64_t count = 0;
    for (size_t w = 0; w < words; ++w) count += ones(a[w] ^ b[w]);
    return count;
}

SIMD_CLONES void count_words(const uint64_t *before_a, const uint64_t *ordered_a, const uint64_t *known_a,
                             const uint64_t *before_b, const uint64_t *ordered_b, const uint64_t *known_b,
                             size_t words, Counts *counts) {
    int64_t discordant = 0, tied_once = 0, ordered = 0;
    for (size_t w = 0; w < words; ++w) {
        uint64_t both = ordered_a[w] & ordered_b[w];
        ordered += ones(both);
        discordant += ones((before_a[w] ^ before_b[w]) & both);
        tied_once += ones((ordered_a[w] ^ ordered_b[w]) & known_a[w] & known_b[w]);
    }
    *counts = {discordant, tied_once, ordered};
}

// ---- many items: walk one ranking, count in the other ----------------------------------------------------------

// A set of positions that answers "how many are below p". One bit per position; above the words of bits, levels of
// counters in groups of 16 hold how many lie earlier in their group. Adding a position raises the later counters of one
// group on each level: two vector additions of a ready-made step, without a branch.
class CountingSet {
  public:
    explicit CountingSet(size_t positions) : bits_(positions / 64 + 1, 0) {
        for (size_t i = 0; i < group; ++i)
            for (size_t k = 0; k < group; ++k) steps_[i][k] = k > i;
        size_t size = bits_.size(), total = 0;
        while (true) {
            starts_.push_back(total);
            total += (size + group - 1) / group * group;
            if (size <= group) break;
            size = (size + group - 1) / group;
        }
        counters_.assign(total, 0);
    }
    void clear() {
        std::fill(bits_.begin(), bits_.end(), 0);
        std::fill(counters_.begin(), counters_.end(), 0);
    }
    inline int64_t below(size_t position) const {
        size_t at = position / 64;
        int64_t count = ones(bits_[at] & ((uint64_t{1} << (position % 64)) - 1));
        for (size_t start : starts_) {
            count += counters_[start + at];
            at /= group;
        }
        return count;
    }
    inline void add(size_t position) {
        size_t at = position / 64;
        bits_[at] |= uint64_t{1} << (position % 64);
        for (size_t start : starts_) {
            raise(counters_.data() + start + at / group * group, steps_[at % group]);
            at /= group;
        }
    }

  private:
    static constexpr size_t group = 16;
    // Written as one vector because left to itself the compiler bounces the sums through the stack, three times slower.
    static inline void raise(uint32_t *counter, const uint32_t *step) {
#ifdef __GNUC__
        typedef uint32_t Sixteen __attribute__((vector_size(64), aligned(4), may_alias));
        *reinterpret_cast<Sixteen *>(counter) += *reinterpret_cast<const Sixteen *>(step);
#else
        for (size_t k = 0; k < group; ++k) counter[k] += step[k];
#endif
    }
    std::vector<uint64_t> bits_;
    std::vector<size_t> starts_; // of the levels, in counters_
    std::vector<uint32_t> counters_;
    uint32_t steps_[group][group];
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

SIMD_CLONES Counts compare_walks(const Walk &a, const Walk &b, Missing missing, Scratch &scratch) {
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

// Bit sets cost items^2 / 128 words a pair of rankings, a walk about 6 ns an item: they meet near here.
constexpr size_t few_items = 200;

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
            const uint64_t *before = bits.before.data(), *ordered = bits.ordered.data(), *known = bits.known.data();
            for (size_t r = 0; r < rankings; ++r)
                for (size_t s = r + 1; s < rankings; ++s) {
                    size_t a = r * words, b = s * words;
                    Counts counts;
                    if (bits.strict) {
                        counts.discordant = count_different(before + a, before + b, words);
                        counts.ordered = pairs(static_cast<int64_t>(items));
                    } else {
                        count_words(before + a, ordered + a, known + a, before + b, ordered + b, known + b, words, &counts);
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

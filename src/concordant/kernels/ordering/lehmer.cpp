// Lehmer codes: encode, decode, and the votes of many ballots for every coordinate.
//
// Coordinate x of a ranking's code is the number of items before x in a reference order that the ranking puts behind x.
// A ballot is walked from its best item down; the items met so far are a set of bits, so a coordinate costs a few counts
// of bits. With ties and missing items a ballot votes for a range of values; ranges are added as differences, so that a
// vote costs the same however wide it is. Chunks of ballots have votes of their own, which are added up in order: the
// result does not depend on the number of threads.
#include "ballots.hpp"
#include "search.hpp"

#include <cstring>
#include <memory>
#ifdef _MSC_VER
#include <intrin.h>
#endif

namespace {

inline size_t ones(uint64_t bits) {
#ifdef _MSC_VER
    return static_cast<size_t>(__popcnt64(bits));
#else
    return static_cast<size_t>(__builtin_popcountll(bits));
#endif
}

// A set of places that counts its members below a place: words of bits, and above 8 words a Fenwick tree of counts.
class PlaceSet {
  public:
    explicit PlaceSet(size_t places) : bits_(places / 64 + 1, 0), tree_(bits_.size() > 8 ? bits_.size() + 1 : 0, 0) {}
    void clear() {
        std::fill(bits_.begin(), bits_.end(), 0);
        std::fill(tree_.begin(), tree_.end(), 0);
    }
    void add(size_t place) {
        bits_[place / 64] |= uint64_t{1} << (place % 64);
        if (!tree_.empty())
            for (size_t k = place / 64 + 1; k < tree_.size(); k += k & (~k + 1)) ++tree_[k];
    }
    size_t below(size_t place) const {
        size_t word = place / 64, count = ones(bits_[word] & ((uint64_t{1} << (place % 64)) - 1));
        if (tree_.empty()) {
            for (size_t w = 0; w < word; ++w) count += ones(bits_[w]);
        } else {
            for (size_t k = word; k; k &= k - 1) count += tree_[k];
        }
        return count;
    }
    bool has(size_t place) const { return bits_[place / 64] >> (place % 64) & 1; }

  private:
    std::vector<uint64_t> bits_;
    std::vector<uint32_t> tree_;
};

struct Ballot {
    const int64_t *slot;
    const int32_t *tier;
    size_t size;
};

inline size_t triangle(size_t x) { return x * (x + 1) / 2; }

// ---- permutations: one vote each -------------------------------------------------------------------------------

// Up to 128 items the set of items met lies in two registers. What an item needs stands ready: the places below its own,
// its own bit, and where its row of votes ends.
struct Mask {
    uint64_t below[2], own[2];
    size_t end;
};

std::vector<Mask> make_masks(const int32_t *place, size_t m) {
    std::vector<Mask> masks(m);
    for (size_t i = 0; i < m; ++i) {
        size_t x = static_cast<size_t>(place[i]);
        uint64_t bit = uint64_t{1} << (x % 64);
        masks[i] = x < 64 ? Mask{{bit - 1, 0}, {bit, 0}, triangle(x) + x}
                          : Mask{{~uint64_t{0}, bit - 1}, {0, bit}, triangle(x) + x};
    }
    return masks;
}

SIMD_CLONES void count_short(const int64_t *slot, size_t ballots, size_t m, const Mask *masks, uint32_t *votes) {
    for (size_t b = 0; b < ballots; ++b) {
        uint64_t low = 0, high = 0;
        for (size_t k = 0; k < m; ++k) {
            const Mask &mask = masks[slot[k]];
            ++votes[mask.end - ones(low & mask.below[0]) - ones(high & mask.below[1])];
            low |= mask.own[0];
            high |= mask.own[1];
        }
        slot += m;
    }
}

SIMD_CLONES void count_long(const int64_t *slot, int64_t base, const int32_t *place, size_t m, PlaceSet &met,
                            uint32_t *votes, size_t from, size_t to) {
    met.clear();
    for (size_t k = 0; k < m; ++k) {
        size_t x = static_cast<size_t>(place[slot[k] - base]);
        if (x >= from && x < to) ++votes[triangle(x) - triangle(from) + x - met.below(x)];
        met.add(x);
    }
}

// ---- weak orders: a vote spread over a range -------------------------------------------------------------------

// Rows of differences have one place more than values, for the end of the last range.
inline size_t row_start(size_t x) { return triangle(x) + x; }

struct Spread {
    size_t m, from, to;
    bool ignores_missing;
    PlaceSet met, named;
    double *votes;

    void vote(size_t x, size_t least, size_t most, double weight) {
        if (x < from || x >= to) return;
        double share = weight / static_cast<double>(most - least + 1);
        double *row = votes + row_start(x) - row_start(from);
        row[least] += share;
        row[most + 1] -= share;
    }
    void add(const Ballot &ballot, int64_t base, const int32_t *place, double weight) {
        auto place_of = [&](size_t k) { return static_cast<size_t>(place[ballot.slot[k] - base]); };
        met.clear();
        named.clear();
        bool is_complete = ballot.size == m;
        if (!is_complete)
            for (size_t k = 0; k < ballot.size; ++k) named.add(place_of(k));
        for (size_t start = 0; start < ballot.size;) {
            size_t stop = start + 1;
            while (stop < ballot.size && ballot.tier[stop] == ballot.tier[start]) ++stop;
            // x - (better or level) <= code <= x - better; what the ballot leaves out is behind, or anywhere.
            for (size_t k = start; k < stop; ++k) {
                size_t x = place_of(k);
                better_.push_back(met.below(x));
            }
            for (size_t k = start; k < stop; ++k) met.add(place_of(k));
            for (size_t k = start; k < stop; ++k) {
                size_t x = place_of(k), most = x - better_[k - start], least = x - met.below(x);
                if (ignores_missing && !is_complete) least -= x - named.below(x);
                vote(x, least, most, weight);
            }
            better_.clear();
            start = stop;
        }
        if (ignores_missing || is_complete) return;
        for (size_t x = 0; x < m; ++x)
            if (!named.has(x)) vote(x, 0, x - named.below(x), weight);
    }

  private:
    std::vector<size_t> better_;

  public:
    Spread(size_t size, size_t first, size_t end, bool ignores, double *out)
        : m(size), from(first), to(end), ignores_missing(ignores), met(size), named(size), votes(out) {}
};

// ---- one instance ----------------------------------------------------------------------------------------------

constexpr size_t MAX_CHUNKS = 8;
constexpr size_t WORTH_A_CHUNK = 1 << 19; // entries

SIMD_CLONES bool has_ties(const int32_t *tier, size_t m) {
    int32_t equal = 0;
    for (size_t k = 1; k < m; ++k) equal |= tier[k] == tier[k - 1];
    return equal;
}

struct Election {
    const Ballots &all;
    const int64_t *ballot; // which ballots
    size_t n;
    int64_t base;
    size_t m;
    const int32_t *place;
    bool ignores_missing;

    Ballot operator[](size_t b) const {
        int64_t from = all.indptr[ballot[b]], to = all.indptr[ballot[b] + 1];
        return {all.slot + from, all.tier + from, static_cast<size_t>(to - from)};
    }
    bool is_plain() const { // complete rankings without ties that count once
        std::atomic<bool> plain{true};
        size_t chunks = std::min<size_t>(64, n * m / WORTH_A_CHUNK + 1), per_chunk = (n + chunks - 1) / chunks;
        for_each_task(chunks, [&](size_t c) {
            for (size_t b = c * per_chunk; b < std::min(n, (c + 1) * per_chunk) && plain; ++b) {
                Ballot own = (*this)[b];
                if (own.size != m || all.weight[ballot[b]] != 1.0 || has_ties(own.tier, m)) plain = false;
            }
        });
        return plain;
    }
};

// Hand over ballots that stand one after the other together.
template <typename Use> void for_each_run(const Election &e, size_t from, size_t to, Use use) {
    while (from < to) {
        size_t stop = from + 1;
        while (stop < to && e.ballot[stop] == e.ballot[stop - 1] + 1) ++stop;
        use(e[from].slot, stop - from);
        from = stop;
    }
}

size_t chunks_of(const Election &e) { return std::min(MAX_CHUNKS, e.n * e.m / WORTH_A_CHUNK + 1); }

// Votes for the coordinates from:to, value after value, coordinate after coordinate.
void count_votes(const Election &e, bool is_plain, size_t from, size_t to, double *votes) {
    size_t chunks = chunks_of(e), per_chunk = (e.n + chunks - 1) / chunks, values = triangle(to) - triangle(from);
    if (is_plain) {
        std::vector<std::vector<uint32_t>> parts(chunks);
        for_each_task(chunks, [&](size_t c) {
            parts[c].assign(values, 0);
            size_t first = c * per_chunk, last = std::max(first, std::min(e.n, (c + 1) * per_chunk));
            if (e.m <= 128 && to == e.m && from == 0) {
                std::vector<Mask> masks = make_masks(e.place, e.m);
                for_each_run(e, first, last, [&](const int64_t *slot, size_t ballots) {
                    count_short(slot, ballots, e.m, masks.data() - e.base, parts[c].data());
                });
            } else {
                PlaceSet met(e.m);
                for (size_t b = first; b < last; ++b)
                    count_long(e[b].slot, e.base, e.place, e.m, met, parts[c].data(), from, to);
            }
        });
        for (size_t k = 0; k < values; ++k) {
            uint64_t sum = 0;
            for (const auto &part : parts) sum += part[k];
            votes[k] = static_cast<double>(sum);
        }
        return;
    }
    std::vector<std::vector<double>> parts(chunks);
    for_each_task(chunks, [&](size_t c) {
        parts[c].assign(row_start(to) - row_start(from), 0.0);
        Spread spread(e.m, from, to, e.ignores_missing, parts[c].data());
        for (size_t b = c * per_chunk; b < std::min(e.n, (c + 1) * per_chunk); ++b)
            spread.add(e[b], e.base, e.place, e.all.weight[e.ballot[b]]);
    });
    for (size_t c = 1; c < chunks; ++c)
        for (size_t k = 0; k < parts[0].size(); ++k) parts[0][k] += parts[c][k];
    for (size_t x = from; x < to; ++x) {
        const double *row = parts[0].data() + row_start(x) - row_start(from);
        double sum = 0;
        for (size_t value = 0; value <= x; ++value) *votes++ = sum += row[value];
    }
}

// The least value with the most votes, or the least that half of the votes do not exceed; 0 without votes.
constexpr double VOTE_TOLERANCE = 1e-9; // shares of a vote are fractions: sums of them carry rounding errors

int64_t pick_value(const double *votes, size_t values, bool is_median) {
    double total = 0, most = 0;
    for (size_t k = 0; k < values; ++k) total += votes[k], most = std::max(most, votes[k]);
    double slack = VOTE_TOLERANCE * total, sum = 0;
    for (size_t k = 0; k < values; ++k) {
        sum += votes[k];
        if (is_median ? sum >= total / 2 - slack : votes[k] >= most - slack) return static_cast<int64_t>(k);
    }
    return 0;
}

// Few ballots for so many items: a table of votes would be mostly empty, so the codes themselves are kept and looked through,
// a few coordinates at a time. Ballots are permutations here.
void pick_from_codes(const Election &e, bool is_median, int64_t *code) {
    std::vector<int32_t> codes(e.n * e.m);
    size_t chunks = chunks_of(e), per_chunk = (e.n + chunks - 1) / chunks;
    for_each_task(chunks, [&](size_t c) {
        PlaceSet met(e.m);
        for (size_t b = c * per_chunk; b < std::min(e.n, (c + 1) * per_chunk); ++b) {
            met.clear();
            for (size_t k = 0; k < e.m; ++k) {
                size_t x = static_cast<size_t>(e.place[e[b].slot[k] - e.base]);
                codes[b * e.m + x] = static_cast<int32_t>(x - met.below(x));
                met.add(x);
            }
        }
    });
    constexpr size_t width = 16; // coordinates of one cache line
    for_each_task((e.m + width - 1) / width, [&](size_t block) {
        size_t first = block * width, count = std::min(width, e.m - first);
        std::vector<int32_t> column(width * e.n);
        for (size_t b = 0; b < e.n; ++b)
            for (size_t k = 0; k < count; ++k) column[k * e.n + b] = codes[b * e.m + first + k];
        for (size_t k = 0; k < count; ++k) {
            auto from = column.begin() + static_cast<std::ptrdiff_t>(k * e.n), to = from + static_cast<std::ptrdiff_t>(e.n);
            auto middle = from + static_cast<std::ptrdiff_t>((e.n - 1) / 2);
            if (is_median) {
                std::nth_element(from, middle, to);
                code[first + k] = *middle;
                continue;
            }
            std::sort(from, to);
            std::ptrdiff_t most = 0;
            for (auto start = from; start < to;) {
                auto stop = std::upper_bound(start, to, *start);
                if (stop - start > most) most = stop - start, code[first + k] = *start;
                start = stop;
            }
        }
    });
}

template <typename Use> void for_each_election(const Ballots &all, In<int32_t> &place, bool ignores_missing, Use use) {
    Instances by_instance(all);
    for (size_t q = 0; q < all.instances; ++q) {
        int64_t base = all.slot_ptr[q], first = by_instance.from[q];
        use(Election{all, by_instance.ballot.data() + first, static_cast<size_t>(by_instance.from[q + 1] - first), base,
                     all.candidates(q), place.data() + base, ignores_missing});
    }
}

Out<double> lehmer_votes(BallotArrays ballots, In<int32_t> place, bool ignores_missing) {
    Ballots all(ballots);
    size_t total = 0;
    for (size_t q = 0; q < all.instances; ++q) total += triangle(all.candidates(q));
    Buffer<double> votes(total);
    {
        nb::gil_scoped_release release;
        double *out = votes.get();
        for_each_election(all, place, ignores_missing, [&](const Election &e) {
            count_votes(e, e.is_plain(), 0, e.m, out);
            out += triangle(e.m);
        });
    }
    return votes.give();
}

// The votes of a block of coordinates are counted, looked at and forgotten, so memory stays bounded for many items.
Out<int64_t> lehmer_consensus(BallotArrays ballots, In<int32_t> place, bool ignores_missing, bool is_median,
                              int64_t max_values) {
    Ballots all(ballots);
    Buffer<int64_t> code(place.size());
    {
        nb::gil_scoped_release release;
        std::vector<double> votes;
        for_each_election(all, place, ignores_missing, [&](const Election &e) {
            bool is_plain = e.is_plain();
            int64_t *own = code.get() + e.base;
            if (is_plain && e.n && e.n < 2 * e.m) return pick_from_codes(e, is_median, own);
            size_t most = static_cast<size_t>(max_values);
            for (size_t from = 0, to = 0; from < e.m; from = to) {
                while (to < e.m && (to == from || triangle(to + 1) - triangle(from) <= most)) ++to;
                votes.resize(triangle(to) - triangle(from));
                count_votes(e, is_plain, from, to, votes.data());
                for (size_t x = from; x < to; ++x)
                    own[x] = pick_value(votes.data() + triangle(x) - triangle(from), x + 1, is_median);
            }
        });
    }
    return code.give();
}

Out<int64_t> pick_codes(In<int64_t> ptr, In<double> votes, bool is_median) {
    Buffer<int64_t> code(static_cast<size_t>(ptr.data()[ptr.size() - 1]));
    {
        nb::gil_scoped_release release;
        const double *row = votes.data();
        for (size_t q = 0, k = 0; q + 1 < ptr.size(); ++q) {
            size_t m = static_cast<size_t>(ptr.data()[q + 1] - ptr.data()[q]);
            for (size_t x = 0; x < m; ++x, ++k) {
                code[k] = pick_value(row, x + 1, is_median);
                row += x + 1;
            }
        }
    }
    return code.give();
}

// ---- codes of permutations -------------------------------------------------------------------------------------

// From orders (item at each place) to codes.
Out2<int32_t> lehmer_encode(In2<int32_t> order) {
    size_t n = order.shape(0), m = order.shape(1);
    Buffer<int32_t> code(n * m);
    {
        nb::gil_scoped_release release;
        size_t chunks = std::min<size_t>(64, n * m / WORTH_A_CHUNK + 1), per_chunk = (n + chunks - 1) / chunks;
        for_each_task(chunks, [&](size_t c) {
            PlaceSet met(m);
            for (size_t r = c * per_chunk; r < std::min(n, (c + 1) * per_chunk); ++r) {
                const int32_t *own = order.data() + r * m;
                met.clear();
                for (size_t k = 0; k < m; ++k) {
                    size_t x = static_cast<size_t>(own[k]);
                    code[r * m + x] = static_cast<int32_t>(x - met.below(x));
                    met.add(x);
                }
            }
        });
    }
    return code.give2(n, m);
}

// A tree of counts of free places finds the k-th free place in log m steps.
class FreePlaces {
  public:
    explicit FreePlaces(size_t m) : size_(1) {
        while (size_ < m) size_ *= 2;
        tree_.assign(2 * size_, 0);
        for (size_t k = 0; k < m; ++k) tree_[size_ + k] = 1;
        for (size_t k = size_; --k;) tree_[k] = tree_[2 * k] + tree_[2 * k + 1];
    }
    size_t take(size_t k) {
        size_t node = 1;
        for (--tree_[1]; node < size_; --tree_[node]) {
            node *= 2;
            if (k >= tree_[node]) k -= tree_[node++];
        }
        return node - size_;
    }

  private:
    size_t size_;
    std::vector<size_t> tree_;
};

// Item x stands before code(x) of the items 0 … x - 1, so the last item takes free place x - code(x), then the one before.
Out<int64_t> lehmer_decode(In<int64_t> ptr, In<int64_t> code) {
    Buffer<int64_t> order(code.size());
    {
        nb::gil_scoped_release release;
        for (size_t q = 0; q + 1 < ptr.size(); ++q) {
            size_t base = static_cast<size_t>(ptr.data()[q]), m = static_cast<size_t>(ptr.data()[q + 1]) - base;
            if (!m) continue;
            FreePlaces free(m);
            for (size_t x = m; x--;)
                order[base + free.take(x - static_cast<size_t>(code.data()[base + x]))] = static_cast<int64_t>(x);
        }
    }
    return order.give();
}

} // namespace

void bind_lehmer(nb::module_ &m) {
    m.def("lehmer_votes", &lehmer_votes, "ballots"_a.noconvert(), "place"_a.noconvert(), "ignores_missing"_a);
    m.def("lehmer_consensus", &lehmer_consensus, "ballots"_a.noconvert(), "place"_a.noconvert(), "ignores_missing"_a,
          "is_median"_a, "max_values"_a);
    m.def("pick_codes", &pick_codes, "ptr"_a.noconvert(), "votes"_a.noconvert(), "is_median"_a);
    m.def("lehmer_encode", &lehmer_encode, "order"_a.noconvert());
    m.def("lehmer_decode", &lehmer_decode, "ptr"_a.noconvert(), "code"_a.noconvert());
}

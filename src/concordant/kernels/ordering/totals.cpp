// What rankings cost: totals of given rankings, and of every ballot taken as the consensus of its own instance.
//
// Problems and costs are laid out as in search.cpp.
#include "ballots.hpp"
#include "search.hpp"

#include <limits>

namespace {

constexpr size_t ROWS = 8, COLUMNS = 256; // of a tile of pairs, which is used for all rankings before the next is made
constexpr size_t RANKINGS_AT_ONCE = 256;
constexpr size_t WORTH_TILES = 8;         // rankings
constexpr double LARGEST = 5e5; // up to here the costs of a tile can be added up as integers

// What the pairs of a tile cost if the row is before the column, or level with it, more than if it is behind.
template <typename T> struct Tile {
    size_t row, column, rows, columns;
    T ahead[ROWS * COLUMNS], level[ROWS * COLUMNS];

    Tile(size_t m, const double *before, const double *tied, size_t i, size_t j)
        : row(i), column(j), rows(std::min(ROWS, m - i)), columns(std::min(COLUMNS, m - j)) {
        for (size_t r = 0; r < rows; ++r)
            for (size_t c = 0; c < columns; ++c) {
                size_t here = (i + r) * m + j + c, there = (j + c) * m + i + r;
                bool counts = i + r < j + c;
                ahead[r * COLUMNS + c] = counts ? static_cast<T>(before[here] - before[there]) : T{0};
                level[r * COLUMNS + c] = counts ? static_cast<T>(tied[here] - before[there]) : T{0};
            }
    }
};

template <typename T> ALWAYS_INLINE double tile_total(const Tile<T> &tile, const int32_t *tier, bool has_ties) {
    const int32_t *others = tier + tile.column;
    T total = 0;
    for (size_t r = 0; r < tile.rows; ++r) {
        int32_t own = tier[tile.row + r];
        const T *ahead = tile.ahead + r * COLUMNS, *level = tile.level + r * COLUMNS;
        for (size_t c = 0; c < tile.columns; ++c) total += own < others[c] ? ahead[c] : T{0};
        if (has_ties)
            for (size_t c = 0; c < tile.columns; ++c) total += own == others[c] ? level[c] : T{0};
    }
    return static_cast<double>(total);
}

SIMD_CLONES double count_tile(const Tile<int32_t> &tile, const int32_t *tier, bool has_ties) {
    return tile_total(tile, tier, has_ties);
}
double count_tile(const Tile<double> &tile, const int32_t *tier, bool has_ties) { return tile_total(tile, tier, has_ties); }

// Rankings of the items of one problem, rows of tiers.
struct Rankings {
    size_t n, m;
    std::vector<int32_t> tier;
    std::vector<uint8_t> has_ties;

    Rankings(size_t rankings, size_t items) : n(rankings), m(items), tier(rankings * items), has_ties(rankings, 0) {}
    int32_t *row(size_t r) { return tier.data() + r * m; }
    void look_for_ties() {
        std::vector<int32_t> sorted;
        for (size_t r = 0; r < n; ++r) {
            sorted.assign(row(r), row(r) + m);
            std::sort(sorted.begin(), sorted.end());
            has_ties[r] = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
        }
    }
    // Tiers of any size become small ones that compare alike.
    void read(size_t r, const int64_t *from) {
        bool is_small = std::all_of(from, from + m, [](int64_t t) {
            return t >= std::numeric_limits<int32_t>::min() && t <= std::numeric_limits<int32_t>::max();
        });
        std::vector<int64_t> levels(is_small ? 0 : m);
        if (!is_small) std::copy_n(from, m, levels.begin());
        std::sort(levels.begin(), levels.end());
        for (size_t i = 0; i < m; ++i)
            row(r)[i] = static_cast<int32_t>(
                is_small ? from[i] : std::lower_bound(levels.begin(), levels.end(), from[i]) - levels.begin());
    }
};

template <typename T>
void add_tiles(const double *before, const double *tied, Rankings &rankings, double *total) {
    size_t m = rankings.m;
    for (size_t i = 0; i < m; i += ROWS)
        for (size_t j = i / COLUMNS * COLUMNS; j < m; j += COLUMNS) {
            Tile<T> tile(m, before, tied, i, j);
            for (size_t r = 0; r < rankings.n; ++r) total[r] += count_tile(tile, rankings.row(r), rankings.has_ties[r]);
        }
}

double total_of(size_t m, const double *before, const double *tied, const int32_t *tier) {
    double total = 0;
    for (size_t i = 0; i < m; ++i)
        for (size_t j = i + 1; j < m; ++j)
            total += tier[i] < tier[j] ? before[i * m + j] : tier[i] > tier[j] ? before[j * m + i] : tied[i * m + j];
    return total;
}

// What each ranking costs: all pairs as if the first were behind, and what it costs more where it is not.
void add_totals(const double *before, const double *tied, Rankings &rankings, double *total) {
    size_t m = rankings.m;
    if (rankings.n < WORTH_TILES) {
        for (size_t r = 0; r < rankings.n; ++r) total[r] = total_of(m, before, tied, rankings.row(r));
        return;
    }
    rankings.look_for_ties();
    double behind = 0;
    for (size_t i = 0; i < m; ++i)
        for (size_t j = 0; j < i; ++j) behind += before[i * m + j];
    std::fill_n(total, rankings.n, behind);
    bool whole = are_whole(before, m * m, LARGEST) && are_whole(tied, m * m, LARGEST);
    (whole ? add_tiles<int32_t> : add_tiles<double>)(before, tied, rankings, total);
}

Out2<double> ranking_totals(In<int64_t> ptr, In<double> before, In<double> tied, In2<int64_t> tier) {
    size_t problems = ptr.size() - 1, rankings = tier.shape(0), items = tier.shape(1);
    Buffer<double> total(rankings * problems, 0.0);
    {
        nb::gil_scoped_release release;
        for_each_problem(ptr.data(), problems, rankings, [&](size_t q, size_t base, size_t m, size_t at) {
            Rankings own(rankings, m);
            std::vector<double> sums(rankings);
            for (size_t r = 0; r < rankings; ++r) own.read(r, tier.data() + r * items + base);
            add_totals(before.data() + at, tied.data() + at, own, sums.data());
            for (size_t r = 0; r < rankings; ++r) total[r * problems + q] = sums[r];
        });
    }
    return total.give2(rankings, problems);
}

// Some ballots of an instance, each a ranking of all its candidates: those it leaves out are its last tier.
void total_ballots(const Ballots &all, const int64_t *ballot, size_t n, const double *before, const double *tied,
                   double *total) {
    size_t q = static_cast<size_t>(all.instance[ballot[0]]);
    Rankings rankings(n, all.candidates(q));
    std::vector<double> sums(n);
    for (size_t r = 0; r < n; ++r) {
        std::fill_n(rankings.row(r), rankings.m, std::numeric_limits<int32_t>::max());
        for (int64_t k = all.indptr[ballot[r]]; k < all.indptr[ballot[r] + 1]; ++k)
            rankings.row(r)[all.slot[k] - all.slot_ptr[q]] = all.tier[k];
    }
    add_totals(before, tied, rankings, sums.data());
    for (size_t r = 0; r < n; ++r) total[ballot[r]] = sums[r];
}

Out<double> ballot_totals(BallotArrays ballots, In<double> before, In<double> tied) {
    Ballots all(ballots);
    Buffer<double> total(all.n);
    {
        nb::gil_scoped_release release;
        std::vector<size_t> start = matrix_starts(all);
        Instances by_instance(all);
        struct Part {
            size_t instance, from, to;
        };
        std::vector<Part> parts;
        double pairs = 0;
        for (size_t q = 0; q < all.instances; ++q) {
            size_t from = static_cast<size_t>(by_instance.from[q]), to = static_cast<size_t>(by_instance.from[q + 1]);
            pairs += static_cast<double>(to - from) * static_cast<double>(start[q + 1] - start[q]);
            for (; from < to; from += RANKINGS_AT_ONCE) parts.push_back({q, from, std::min(to, from + RANKINGS_AT_ONCE)});
        }
        auto one = [&](size_t k) {
            Part part = parts[k];
            total_ballots(all, by_instance.ballot.data() + part.from, part.to - part.from,
                          before.data() + start[part.instance], tied.data() + start[part.instance], total.get());
        };
        if (pairs < WORTH_THREADS) {
            for (size_t k = 0; k < parts.size(); ++k) one(k);
        } else {
            for_each_task(parts.size(), one);
        }
    }
    return total.give();
}

} // namespace

void bind_totals(nb::module_ &m) {
    m.def("ranking_totals", &ranking_totals, "ptr"_a.noconvert(), "before"_a.noconvert(), "tied"_a.noconvert(),
          "tier"_a.noconvert());
    m.def("ballot_totals", &ballot_totals, "ballots"_a.noconvert(), "before"_a.noconvert(), "tied"_a.noconvert());
}

// Pair counts: how much weight puts each candidate before each other one, for every instance.
//
// Short ballots touch only the pairs they name, one item's row after the other where matrices outgrow the cache. Long
// ones are laid out as positions and compared with tiles of columns, which vectorises: 16 comparisons an instruction
// when all weights are equal.
#include "ballots.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace {

// One instance: its ballots, its candidates, its two blocks of the result.
struct Task {
    const Ballots &all;
    Missing missing;
    const int64_t *ballot;
    size_t n;
    int64_t base;
    size_t m;
    double *wins, *ties;
};

constexpr size_t BLOCK = 1024;       // ballots compared at once; below 2^15 so that 16-bit counters cannot overflow
constexpr size_t WEIGHED_BLOCK = 32; // the same with weights: a tile of positions stays in the first-level cache
constexpr size_t TILE = 16;
constexpr size_t COLUMNS = 64; // of a tile of counts: two rows of them are eight registers
constexpr size_t WORTH_COUNTING = 16; // ballots of one weight
constexpr size_t WORTH_ROWS = 200;         // candidates whose matrices outgrow the cache, if
constexpr double LENGTH_WORTH_ROWS = 8; // ballots name more than this many

// In how many ballots two items compare so with each of a tile of others; the tile is ballot-major.
template <typename Compare>
ALWAYS_INLINE void count_rows(const int16_t *tile, const int16_t *one, const int16_t *two, size_t n, int16_t *count,
                              Compare compare) {
    int16_t first[COLUMNS] = {}, second[COLUMNS] = {};
    for (size_t b = 0; b < n; ++b, tile += COLUMNS) {
        int16_t x = one[b], y = two[b];
        for (size_t t = 0; t < COLUMNS; ++t) first[t] = static_cast<int16_t>(first[t] + compare(x, tile[t]));
        for (size_t t = 0; t < COLUMNS; ++t) second[t] = static_cast<int16_t>(second[t] + compare(y, tile[t]));
    }
    std::copy_n(first, COLUMNS, count);
    std::copy_n(second, COLUMNS, count + COLUMNS);
}

SIMD_CLONES void count_before(const int16_t *tile, const int16_t *one, const int16_t *two, size_t n, int16_t *count) {
    count_rows(tile, one, two, n, count, std::less<int16_t>());
}

SIMD_CLONES void count_after(const int16_t *tile, const int16_t *one, const int16_t *two, size_t n, int16_t *count) {
    count_rows(tile, one, two, n, count, std::greater<int16_t>());
}

SIMD_CLONES void count_equal(const int16_t *tile, const int16_t *one, const int16_t *two, size_t n, int16_t *count) {
    count_rows(tile, one, two, n, count, std::equal_to<int16_t>());
}

// The weight of the ballots in which one item compares so with each item of a tile; positions are ballot-major.
template <typename Compare>
ALWAYS_INLINE void weigh_tile(const double *tile, const double *position, const double *weight, size_t n, size_t stride,
                        double *total, Compare compare) {
    double sum[TILE];
    for (size_t t = 0; t < TILE; ++t) sum[t] = total[t];
    for (size_t b = 0; b < n; ++b) {
        double here = position[b * stride], w = weight[b];
        for (size_t t = 0; t < TILE; ++t) sum[t] += compare(here, tile[b * TILE + t]) ? w : 0.0;
    }
    for (size_t t = 0; t < TILE; ++t) total[t] = sum[t];
}

SIMD_CLONES void weigh_before(const double *tile, const double *position, const double *weight, size_t n,
                              size_t stride, double *total) {
    weigh_tile(tile, position, weight, n, stride, total, std::less<double>());
}

SIMD_CLONES void weigh_equal(const double *tile, const double *position, const double *weight, size_t n,
                             size_t stride, double *total) {
    weigh_tile(tile, position, weight, n, stride, total, std::equal_to<double>());
}

// Write the place of every candidate in one ballot: 0 for the first tier, m for those it leaves out. `level` is the
// same, except that candidates whose tie does not count get a level of their own, which equals no other.
template <typename T> void place(const Task &task, size_t b, T *position, T *level) {
    const Ballots &all = task.all;
    int64_t from = all.indptr[task.ballot[b]], to = all.indptr[task.ballot[b] + 1];
    bool is_open = all.is_open[task.ballot[b]];
    T missing = static_cast<T>(task.m);
    for (size_t i = 0; i < task.m; ++i) {
        position[i] = missing;
        if (level) level[i] = task.missing == Missing::last ? missing : -static_cast<T>(i + 1);
    }
    int group = -1;
    for (int64_t k = from; k < to; ++k) {
        if (k == from || all.tier[k] != all.tier[k - 1]) ++group;
        size_t i = static_cast<size_t>(all.slot[k] - task.base);
        position[i] = static_cast<T>(group);
        if (level) {
            bool free = is_open && all.tier[k] == all.tier[to - 1];
            level[i] = free ? -static_cast<T>(i + 1) : static_cast<T>(group);
        }
    }
}

struct Ties {
    bool any = false, free = false; // free: some tie does not count
};

Ties find_ties(const Task &task) {
    Ties ties;
    const Ballots &all = task.all;
    for (size_t b = 0; b < task.n; ++b) {
        int64_t from = all.indptr[task.ballot[b]], to = all.indptr[task.ballot[b] + 1];
        if (static_cast<int64_t>(task.m) - (to - from) > 1) {
            ties.any = true;
            ties.free = ties.free || task.missing == Missing::last_free;
        }
        for (int64_t k = from + 1; k < to && !ties.any; ++k) ties.any = all.tier[k] == all.tier[k - 1];
        if (all.is_open[task.ballot[b]] && to - from > 1 && all.tier[to - 1] == all.tier[to - 2])
            ties.any = ties.free = true;
    }
    return ties;
}

// Positions (or levels) of all candidates in some ballots, by ballot for the tiles and by item for the rows.
struct PositionTable {
    size_t rows, n = 0; // rows: candidates, and more up to whole tiles, which nobody asks about
    std::vector<int16_t> by_ballot, by_item, tile;

    PositionTable(size_t m, size_t ballots)
        : rows((m + COLUMNS - 1) / COLUMNS * COLUMNS), by_ballot(rows * ballots), by_item(rows * ballots),
          tile(COLUMNS * ballots) {}
    int16_t *ballot(size_t b) { return by_ballot.data() + b * rows; }
    void arrange(size_t ballots) {
        n = ballots;
        for (size_t i = 0; i < rows; i += COLUMNS)
            for (size_t b = 0; b < n; b += COLUMNS)
                for (size_t k = i; k < i + COLUMNS; ++k)
                    for (size_t c = b; c < std::min(b + COLUMNS, n); ++c) by_item[k * n + c] = by_ballot[c * rows + k];
    }
    void load_tile(size_t j) {
        for (size_t b = 0; b < n; ++b) std::copy_n(by_ballot.data() + b * rows + j, COLUMNS, tile.data() + b * COLUMNS);
    }
    // Compare a tile of rows with the tile of columns that is loaded.
    template <typename Count> void count(size_t i, int16_t *result, Count count) const {
        for (size_t k = 0; k < TILE; k += 2) {
            const int16_t *row = by_item.data() + (i + k) * n;
            count(tile.data(), row, row + n, n, result + k * COLUMNS);
        }
    }
};

// Add a tile of counts, times the weight, to a matrix, and another one to its mirror image, for rows before columns.
void add_tile(double *matrix, size_t m, size_t i, size_t j, double weight, const int16_t *here, const int16_t *mirrored) {
    size_t width = std::min(COLUMNS, m - j), height = std::min(TILE, m - i);
    for (size_t r = 0; r < height; ++r)
        for (size_t t = i + r < j ? 0 : i + r - j + 1; t < width; ++t)
            matrix[(i + r) * m + j + t] += weight * here[r * COLUMNS + t];
    for (size_t t = 0; t < width; ++t)
        for (size_t r = 0; r < height && i + r < j + t; ++r)
            matrix[(j + t) * m + i + r] += weight * mirrored[r * COLUMNS + t];
}

// Long ballots of one weight: tiles of rows compared with tiles of columns, above the diagonal only.
void count_dense(const Task &task, double weight) {
    constexpr size_t CELLS = TILE * COLUMNS;
    size_t m = task.m, most = std::min(BLOCK, task.n);
    Ties has = find_ties(task);
    PositionTable position(m, most), level(has.free ? m : 0, most);
    std::vector<int16_t> before(CELLS), after(CELLS), equal(CELLS);
    Interrupts interrupts;
    for (size_t start = 0; start < task.n; start += BLOCK) {
        size_t n = std::min(BLOCK, task.n - start);
        for (size_t b = 0; b < n; ++b)
            place<int16_t>(task, start + b, position.ballot(b), has.free ? level.ballot(b) : nullptr);
        position.arrange(n);
        if (has.free) level.arrange(n);
        for (size_t j = 0; j < m; j += COLUMNS) {
            interrupts.poll(n * (j + 1));
            position.load_tile(j);
            if (has.free) level.load_tile(j);
            for (size_t i = 0; i < std::min(m, j + COLUMNS); i += TILE) {
                position.count(i, before.data(), count_before);
                if (has.any) position.count(i, after.data(), count_after);
                if (has.free) level.count(i, equal.data(), count_equal);
                for (size_t k = 0; k < CELLS; ++k) {
                    if (!has.any) after[k] = static_cast<int16_t>(static_cast<int>(n) - before[k]);
                    if (!has.free) equal[k] = static_cast<int16_t>(static_cast<int>(n) - before[k] - after[k]);
                }
                add_tile(task.wins, m, i, j, weight, before.data(), after.data());
                if (has.any) add_tile(task.ties, m, i, j, weight, equal.data(), equal.data());
            }
        }
    }
}

// Long ballots of different weights: ballot-major positions, one item against a tile of others.
void weigh_dense(const Task &task) {
    size_t m = task.m, padded = (m + TILE - 1) / TILE * TILE;
    Ties has = find_ties(task);
    // Padding: a place before all others, a level equal to none.
    std::vector<double> position(WEIGHED_BLOCK * padded, -1.0), level(has.any ? WEIGHED_BLOCK * padded : 0, 0.5);
    std::vector<double> tile(WEIGHED_BLOCK * TILE), weight(WEIGHED_BLOCK), sum(TILE);
    Interrupts interrupts;
    for (size_t start = 0; start < task.n; start += WEIGHED_BLOCK) {
        size_t n = std::min(WEIGHED_BLOCK, task.n - start);
        for (size_t b = 0; b < n; ++b) {
            size_t row = b * padded;
            place<double>(task, start + b, position.data() + row, has.any ? level.data() + row : nullptr);
            weight[b] = task.all.weight[task.ballot[start + b]];
        }
        for (int pass = 0; pass < (has.any ? 2 : 1); ++pass) {
            const std::vector<double> &table = pass ? level : position;
            double *result = pass ? task.ties : task.wins;
            for (size_t j = 0; j < m; j += TILE) {
                interrupts.poll(n * m * TILE);
                size_t width = std::min(TILE, m - j);
                for (size_t b = 0; b < n; ++b)
                    std::copy_n(table.data() + b * padded + j, TILE, tile.data() + b * TILE);
                for (size_t i = 0; i < m; ++i) {
                    std::copy_n(result + i * m + j, width, sum.data());
                    auto weigh = pass ? weigh_equal : weigh_before;
                    weigh(tile.data(), table.data() + i, weight.data(), n, padded, sum.data());
                    std::copy_n(sum.data(), width, result + i * m + j);
                }
            }
        }
    }
    for (size_t i = 0; i < m; ++i) task.ties[i * m + i] = 0;
}

// Copy what stands above the diagonal below it.
void mirror(double *matrix, size_t m) {
    for (size_t i = 0; i < m; i += TILE)
        for (size_t j = i; j < m; j += TILE)
            for (size_t r = i; r < std::min(i + TILE, m); ++r)
                for (size_t c = std::max(j, r + 1); c < std::min(j + TILE, m); ++c) matrix[c * m + r] = matrix[r * m + c];
}

// What candidates that ballots leave out lose and tie, as if no ballot named both of a pair.
void fill_in(const Task &task, const std::vector<double> &named, double total) {
    size_t m = task.m;
    for (size_t x = 0; x < m; ++x)
        for (size_t y = 0; y < m; ++y) {
            if (x == y) continue;
            task.wins[x * m + y] += named[x];
            if (task.missing == Missing::last) task.ties[x * m + y] += total - named[x] - named[y];
        }
}

// Short ballots: touch only the pairs a ballot names. Candidates it leaves out lose to all it names; that is one sum
// per row, added at the end, from which the pairs inside the ballot are taken out again.
void scatter(const Task &task) {
    const Ballots &all = task.all;
    size_t m = task.m;
    bool fills = task.missing != Missing::ignore;
    std::vector<double> named(fills ? m : 0, 0.0);
    double total = 0;
    Interrupts interrupts;
    for (size_t b = 0; b < task.n; ++b) {
        int64_t ballot = task.ballot[b], from = all.indptr[ballot], to = all.indptr[ballot + 1];
        double w = all.weight[ballot];
        interrupts.poll(static_cast<size_t>(8 * (to - from) * (to - from)));
        total += w;
        for (int64_t start = from; start < to;) {
            int64_t stop = start + 1;
            while (stop < to && all.tier[stop] == all.tier[start]) ++stop;
            bool counts = !(stop == to && all.is_open[ballot]);
            for (int64_t k = start; k < stop; ++k) {
                size_t x = static_cast<size_t>(all.slot[k] - task.base);
                if (fills) named[x] += w;
                for (int64_t other = start; other < stop; ++other) {
                    size_t y = static_cast<size_t>(all.slot[other] - task.base);
                    if (x == y) continue;
                    if (counts) task.ties[x * m + y] += w;
                    if (fills) task.wins[x * m + y] -= w;
                    if (task.missing == Missing::last) task.ties[x * m + y] += w;
                }
                for (int64_t other = stop; other < to; ++other) {
                    size_t y = static_cast<size_t>(all.slot[other] - task.base);
                    if (!fills) task.wins[x * m + y] += w;
                    if (fills) task.wins[y * m + x] -= w;
                    if (task.missing == Missing::last) {
                        task.ties[x * m + y] += w;
                        task.ties[y * m + x] += w;
                    }
                }
            }
            start = stop;
        }
    }
    if (fills) fill_in(task, named, total);
}

// The entries of all ballots of an instance: inside a tier the items rise, and every item knows its tiers.
struct Entries {
    std::vector<uint32_t> item, tier_start; // tier t owns entries tier_start[t]:tier_start[t + 1]
    std::vector<uint32_t> ballot, ballot_start; // of each tier; ballot b owns entries ballot_start[b]:ballot_start[b + 1]
    std::vector<uint32_t> from, tier; // item i stands in the tiers tier[from[i]:from[i + 1]]

    explicit Entries(const Task &task) : ballot_start(1, 0), from(task.m + 1, 0) {
        const Ballots &all = task.all;
        size_t n = 0;
        auto each_entry = [&](auto visit) {
            for (size_t b = 0; b < task.n; ++b) {
                int64_t first = all.indptr[task.ballot[b]], last = all.indptr[task.ballot[b] + 1];
                for (int64_t k = first; k < last; ++k)
                    visit(b, static_cast<size_t>(all.slot[k] - task.base), k == first || all.tier[k] != all.tier[k - 1]);
            }
        };
        each_entry([&](size_t b, size_t i, bool begins) {
            if (begins) {
                tier_start.push_back(static_cast<uint32_t>(n));
                ballot.push_back(static_cast<uint32_t>(b));
            }
            while (ballot_start.size() <= b) ballot_start.push_back(static_cast<uint32_t>(n));
            ++from[i + 1];
            ++n;
        });
        ballot_start.resize(task.n + 1, static_cast<uint32_t>(n));
        tier_start.push_back(static_cast<uint32_t>(n));
        for (size_t i = 0; i < task.m; ++i) from[i + 1] += from[i];
        std::vector<uint32_t> next(from.begin(), from.end());
        tier.resize(n);
        uint32_t t = 0;
        each_entry([&](size_t, size_t i, bool begins) {
            t += begins;
            tier[next[i]++] = t - 1;
        });
        next.assign(tier_start.begin(), tier_start.end());
        item.resize(n);
        for (size_t i = 0; i < task.m; ++i)
            for (uint32_t k = from[i]; k < from[i + 1]; ++k) item[next[tier[k]]++] = static_cast<uint32_t>(i);
    }
};

// Short ballots over many candidates: the same sums as by `scatter`, row by row, so that a row stays in the cache.
void sum_rows(const Task &task) {
    const Ballots &all = task.all;
    Entries entries(task);
    size_t m = task.m;
    bool fills = task.missing != Missing::ignore, ties_all = task.missing == Missing::last;
    std::vector<uint32_t> next(entries.tier_start); // where the items behind the row's own begin
    std::vector<double> named(fills ? m : 0, 0.0);
    double total = 0;
    for (size_t b = 0; b < task.n; ++b) total += all.weight[task.ballot[b]];
    Interrupts interrupts;
    for (size_t x = 0; x < m; ++x) {
        interrupts.poll(m * (1 + entries.from[x + 1] - entries.from[x]));
        double *wins = task.wins + x * m, *ties = task.ties + x * m;
        for (uint32_t k = entries.from[x]; k < entries.from[x + 1]; ++k) {
            uint32_t t = entries.tier[k], b = entries.ballot[t];
            const uint32_t *item = entries.item.data(), *first = item + entries.ballot_start[b];
            const uint32_t *behind = item + ++next[t], *stop = item + entries.tier_start[t + 1];
            const uint32_t *last = item + entries.ballot_start[b + 1];
            double w = all.weight[task.ballot[b]];
            if (!(stop == last && all.is_open[task.ballot[b]]))
                for (const uint32_t *y = behind; y < stop; ++y) ties[*y] += w;
            if (ties_all)
                for (const uint32_t *y = first; y < last; ++y)
                    if (*y > x) ties[*y] += w;
            if (fills) {
                named[x] += w;
                for (const uint32_t *y = first; y < stop; ++y) wins[*y] -= w;
            } else {
                for (const uint32_t *y = stop; y < last; ++y) wins[*y] += w;
            }
        }
        wins[x] = 0;
    }
    mirror(task.ties, m);
    if (fills) fill_in(task, named, total);
}

// Many ballots often share few weights: ballots of one weight are only counted, the others are added up one by one.
void count_by_weight(const Task &task) {
    const double *weight = task.all.weight;
    std::vector<int64_t> sorted(task.ballot, task.ballot + task.n), alone;
    std::stable_sort(sorted.begin(), sorted.end(), [&](int64_t a, int64_t b) { return weight[a] < weight[b]; });
    Task part = task;
    for (size_t start = 0, stop = 0; start < sorted.size(); start = stop) {
        while (stop < sorted.size() && weight[sorted[stop]] == weight[sorted[start]]) ++stop;
        part.ballot = sorted.data() + start;
        part.n = stop - start;
        if (part.n >= WORTH_COUNTING) {
            count_dense(part, weight[sorted[start]]);
        } else {
            alone.insert(alone.end(), part.ballot, part.ballot + part.n);
        }
    }
    part.ballot = alone.data();
    part.n = alone.size();
    if (part.n) weigh_dense(part);
}

void count_instance(const Task &task) {
    const Ballots &all = task.all;
    double total = 0, squares = 0, entries = 0;
    bool complete = true, whole = true;
    for (size_t b = 0; b < task.n; ++b) {
        int64_t ballot = task.ballot[b];
        double length = static_cast<double>(all.indptr[ballot + 1] - all.indptr[ballot]), w = all.weight[ballot];
        squares += length * length;
        entries += length;
        total += w;
        complete = complete && length == static_cast<double>(task.m);
        whole = whole && w == std::floor(w);
    }
    // A pair costs the dense way less than a tenth of what it costs the other way.
    double pairs = static_cast<double>(task.n) * static_cast<double>(task.m * task.m);
    bool compares_all = complete || task.missing != Missing::ignore;
    if (compares_all && task.m >= TILE && task.m < 32000 && task.n >= TILE && pairs / 10 < squares) {
        count_by_weight(task);
    } else if (task.m >= WORTH_ROWS && entries < 4e9 && entries > LENGTH_WORTH_ROWS * static_cast<double>(task.n)) {
        sum_rows(task);
    } else {
        scatter(task);
    }
    if (whole) return;
    // Sums of fractions leave dust where nothing should be.
    for (double *block : {task.wins, task.ties})
        for (size_t k = 0; k < task.m * task.m; ++k)
            if (std::fabs(block[k]) <= WEIGHT_TOLERANCE * total) block[k] = 0;
}

nb::tuple pair_counts(BallotArrays ballots, int missing) {
    Ballots all(ballots);
    std::vector<size_t> start = matrix_starts(all);
    Buffer<int64_t> ptr(start.size());
    Buffer<double> wins = Buffer<double>::zeros(start.back()), ties = Buffer<double>::zeros(start.back());
    {
        nb::gil_scoped_release release;
        Instances by_instance(all);
        std::copy(start.begin(), start.end(), ptr.get());
        for (size_t q = 0; q < all.instances; ++q) {
            int64_t first = by_instance.from[q];
            size_t n = static_cast<size_t>(by_instance.from[q + 1] - first);
            if (n)
                count_instance({all, static_cast<Missing>(missing), by_instance.ballot.data() + first, n, all.slot_ptr[q],
                                all.candidates(q), wins.get() + start[q], ties.get() + start[q]});
        }
    }
    return nb::make_tuple(ptr.give(), wins.give(), ties.give());
}

Out<double> transpose_matrices(In<int64_t> slot_ptr, In<double> matrix) {
    size_t instances = slot_ptr.size() - 1;
    Buffer<double> result(matrix.size());
    {
        nb::gil_scoped_release release;
        constexpr size_t side = 32;
        const double *in = matrix.data();
        double *out = result.get();
        for (size_t q = 0; q < instances; ++q) {
            size_t m = static_cast<size_t>(slot_ptr.data()[q + 1] - slot_ptr.data()[q]);
            for (size_t row = 0; row < m; row += side)
                for (size_t column = 0; column < m; column += side)
                    for (size_t i = row; i < std::min(row + side, m); ++i)
                        for (size_t j = column; j < std::min(column + side, m); ++j) out[j * m + i] = in[i * m + j];
            in += m * m;
            out += m * m;
        }
    }
    return result.give();
}

} // namespace

void bind_pairs(nb::module_ &m) {
    m.def("pair_counts", &pair_counts, "ballots"_a.noconvert(), "missing"_a);
    m.def("transpose_matrices", &transpose_matrices, "slot_ptr"_a.noconvert(), "matrix"_a.noconvert());
}

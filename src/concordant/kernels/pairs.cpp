// Pair counts: how much weight puts each candidate before each other one, for every instance.
//
// Short ballots touch only the pairs they name. Long ones are laid out as positions and compared row against row, which
// vectorises: 16 comparisons an instruction when all weights are equal.
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

constexpr size_t BLOCK = 1024;      // ballots compared at once; below 2^15 so that 16-bit counters cannot overflow
constexpr size_t WEIGHED_BLOCK = 32; // the same with weights: a tile of positions stays in the first-level cache
constexpr size_t TILE = 16;
constexpr size_t WORTH_COUNTING = 16; // ballots of one weight

// In how many ballots a row compares so with each of the following rows; positions are item-major.
template <typename Compare>
ALWAYS_INLINE void count_rows(const int16_t *row, const int16_t *others, size_t rows, size_t n, int32_t *count,
                        Compare compare) {
    for (size_t r = 0; r < rows; ++r, others += BLOCK) {
        int16_t total = 0;
        for (size_t k = 0; k < n; ++k) total = static_cast<int16_t>(total + compare(row[k], others[k]));
        count[r] = total;
    }
}

SIMD_CLONES void count_before(const int16_t *row, const int16_t *others, size_t rows, size_t n, int32_t *count) {
    count_rows(row, others, rows, n, count, std::less<int16_t>());
}

SIMD_CLONES void count_after(const int16_t *row, const int16_t *others, size_t rows, size_t n, int32_t *count) {
    count_rows(row, others, rows, n, count, std::greater<int16_t>());
}

SIMD_CLONES void count_equal(const int16_t *row, const int16_t *others, size_t rows, size_t n, int32_t *count) {
    count_rows(row, others, rows, n, count, std::equal_to<int16_t>());
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
template <typename T> void place(const Task &task, size_t b, T *position, T *level, size_t step) {
    const Ballots &all = task.all;
    int64_t from = all.indptr[task.ballot[b]], to = all.indptr[task.ballot[b] + 1];
    bool is_open = all.is_open[task.ballot[b]];
    T missing = static_cast<T>(task.m);
    for (size_t i = 0; i < task.m; ++i) {
        position[i * step] = missing;
        if (level) level[i * step] = task.missing == Missing::last ? missing : -static_cast<T>(i + 1);
    }
    int group = -1;
    for (int64_t k = from; k < to; ++k) {
        if (k == from || all.tier[k] != all.tier[k - 1]) ++group;
        size_t i = static_cast<size_t>(all.slot[k] - task.base);
        position[i * step] = static_cast<T>(group);
        if (level) {
            bool free = is_open && all.tier[k] == all.tier[to - 1];
            level[i * step] = free ? -static_cast<T>(i + 1) : static_cast<T>(group);
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

// Long ballots of one weight: item-major positions, compared row against row.
void count_dense(const Task &task, double weight) {
    size_t m = task.m;
    Ties has = find_ties(task);
    std::vector<int16_t> position(m * BLOCK), level(has.free ? m * BLOCK : 0);
    std::vector<int32_t> before(m), after(m), equal(m);
    for (size_t start = 0; start < task.n; start += BLOCK) {
        size_t n = std::min(BLOCK, task.n - start);
        for (size_t b = 0; b < n; ++b)
            place<int16_t>(task, start + b, position.data() + b, has.free ? level.data() + b : nullptr, BLOCK);
        for (size_t i = 0; i + 1 < m; ++i) {
            size_t rest = m - i - 1;
            const int16_t *row = position.data() + i * BLOCK;
            count_before(row, row + BLOCK, rest, n, before.data());
            if (has.any) count_after(row, row + BLOCK, rest, n, after.data());
            if (has.free) {
                const int16_t *levels = level.data() + i * BLOCK;
                count_equal(levels, levels + BLOCK, rest, n, equal.data());
            }
            for (size_t r = 0; r < rest; ++r) {
                size_t j = i + 1 + r;
                int32_t won = before[r], lost = has.any ? after[r] : static_cast<int32_t>(n) - won;
                int32_t tied = has.free ? equal[r] : static_cast<int32_t>(n) - won - lost;
                task.wins[i * m + j] += weight * won;
                task.wins[j * m + i] += weight * lost;
                task.ties[i * m + j] += weight * tied;
                task.ties[j * m + i] += weight * tied;
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
    for (size_t start = 0; start < task.n; start += WEIGHED_BLOCK) {
        size_t n = std::min(WEIGHED_BLOCK, task.n - start);
        for (size_t b = 0; b < n; ++b) {
            size_t row = b * padded;
            place<double>(task, start + b, position.data() + row, has.any ? level.data() + row : nullptr, 1);
            weight[b] = task.all.weight[task.ballot[start + b]];
        }
        for (int pass = 0; pass < (has.any ? 2 : 1); ++pass) {
            const std::vector<double> &table = pass ? level : position;
            double *result = pass ? task.ties : task.wins;
            for (size_t j = 0; j < m; j += TILE) {
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

// Short ballots: touch only the pairs a ballot names. Candidates it leaves out lose to all it names; that is one sum
// per row, added at the end, from which the pairs inside the ballot are taken out again.
void scatter(const Task &task) {
    const Ballots &all = task.all;
    size_t m = task.m;
    bool fills = task.missing != Missing::ignore;
    std::vector<double> named(fills ? m : 0, 0.0);
    double total = 0;
    for (size_t b = 0; b < task.n; ++b) {
        int64_t ballot = task.ballot[b], from = all.indptr[ballot], to = all.indptr[ballot + 1];
        double w = all.weight[ballot];
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
    if (!fills) return;
    for (size_t x = 0; x < m; ++x)
        for (size_t y = 0; y < m; ++y) {
            if (x == y) continue;
            task.wins[x * m + y] += named[x];
            if (task.missing == Missing::last) task.ties[x * m + y] += total - named[x] - named[y];
        }
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
    double total = 0, squares = 0;
    bool complete = true, whole = true;
    for (size_t b = 0; b < task.n; ++b) {
        int64_t ballot = task.ballot[b];
        double length = static_cast<double>(all.indptr[ballot + 1] - all.indptr[ballot]), w = all.weight[ballot];
        squares += length * length;
        total += w;
        complete = complete && length == static_cast<double>(task.m);
        whole = whole && w == std::floor(w);
    }
    // A pair costs the dense way less than a tenth of what it costs the other way.
    double pairs = static_cast<double>(task.n) * static_cast<double>(task.m * task.m);
    bool compares_all = complete || task.missing != Missing::ignore;
    if (compares_all && task.m >= TILE && task.m < 32000 && task.n >= TILE && pairs / 10 < squares) {
        count_by_weight(task);
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
    Buffer<double> wins(start.back(), 0.0), ties(start.back(), 0.0);
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

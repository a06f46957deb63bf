// How often pairs were compared, and by how much one was preferred: all a least-squares ranking needs, without the wins
// of either side.
//
// Where every ballot names every candidate, the preference is a difference of sums. Elsewhere pairs are added up row by
// row, so that a row stays in the cache, above the diagonal; below it stands the mirror image.
#include "ballots.hpp"

#include <algorithm>

namespace {

constexpr size_t SIDE = 32;

// One instance: its ballots, its candidates, the weighted level of every entry, its two blocks of the result.
struct Task {
    const Ballots &all;
    const double *level;
    const int64_t *ballot;
    size_t n;
    int64_t base;
    size_t m;
    double *compared, *net;
};

// Whether tied entries of a ballot have equal levels, and no tie is left open: then every pair counts by its levels.
bool is_plain(const Task &task, int64_t ballot) {
    const Ballots &all = task.all;
    int64_t from = all.indptr[ballot], to = all.indptr[ballot + 1];
    for (int64_t k = from + 1; k < to; ++k)
        if (all.tier[k] == all.tier[k - 1] && task.level[k] != task.level[k - 1]) return false;
    return !(all.is_open[ballot] && to - from > 1 && all.tier[to - 1] == all.tier[to - 2]);
}

void compare_complete(const Task &task) {
    std::vector<double> sum(task.m, 0.0);
    double total = 0;
    for (size_t b = 0; b < task.n; ++b) {
        int64_t ballot = task.ballot[b];
        double w = task.all.weight[ballot];
        total += w;
        for (int64_t k = task.all.indptr[ballot]; k < task.all.indptr[ballot + 1]; ++k)
            sum[static_cast<size_t>(task.all.slot[k] - task.base)] += w * task.level[k];
    }
    for (size_t i = 0; i < task.m; ++i)
        for (size_t j = 0; j < task.m; ++j) {
            task.compared[i * task.m + j] = i == j ? 0.0 : total;
            task.net[i * task.m + j] = sum[i] - sum[j];
        }
}

// The entries of ballots with their items rising, and for every item the ballots that name it.
struct Sorted {
    struct Entry {
        uint32_t item;
        int32_t tier;
        double level; // times the weight of the ballot
    };
    std::vector<size_t> start, from, next; // ballot b owns entries start[b]:start[b + 1], item i ballots from[i]:from[i + 1]
    std::vector<uint32_t> ballot;
    std::vector<Entry> entry;
    std::vector<int64_t> source;

    explicit Sorted(const Task &task) : start(task.n + 1, 0), from(task.m + 1, 0) {
        const Ballots &all = task.all;
        auto each_entry = [&](auto visit) {
            for (size_t b = 0; b < task.n; ++b)
                for (int64_t k = all.indptr[task.ballot[b]]; k < all.indptr[task.ballot[b] + 1]; ++k)
                    visit(b, static_cast<size_t>(all.slot[k] - task.base), k);
        };
        for (size_t b = 0; b < task.n; ++b)
            start[b + 1] = start[b] + static_cast<size_t>(all.indptr[task.ballot[b] + 1] - all.indptr[task.ballot[b]]);
        each_entry([&](size_t, size_t i, int64_t) { ++from[i + 1]; });
        for (size_t i = 0; i < task.m; ++i) from[i + 1] += from[i];
        next = from;
        ballot.resize(start[task.n]), source.resize(start[task.n]), entry.resize(start[task.n]);
        each_entry([&](size_t b, size_t i, int64_t k) {
            source[next[i]] = k;
            ballot[next[i]++] = static_cast<uint32_t>(b);
        });
        next = start;
        for (size_t i = 0; i < task.m; ++i)
            for (size_t k = from[i]; k < from[i + 1]; ++k) {
                double w = all.weight[task.ballot[ballot[k]]];
                entry[next[ballot[k]]++] = {static_cast<uint32_t>(i), all.tier[source[k]], w * task.level[source[k]]};
            }
    }
};

void compare_rows(const Task &task, const std::vector<uint8_t> &plain) {
    const Ballots &all = task.all;
    Sorted sorted(task);
    std::vector<size_t> &next = sorted.next = sorted.start; // where the row's own item stands in each ballot
    for (size_t x = 0; x < task.m; ++x) {
        double *compared = task.compared + x * task.m, *net = task.net + x * task.m;
        for (size_t k = sorted.from[x]; k < sorted.from[x + 1]; ++k) {
            size_t b = sorted.ballot[k];
            const Sorted::Entry *own = sorted.entry.data() + next[b]++, *end = sorted.entry.data() + sorted.start[b + 1];
            int64_t ballot = task.ballot[b];
            double w = all.weight[ballot], level = own->level;
            if (plain[b]) {
                for (const Sorted::Entry *y = own + 1; y < end; ++y) {
                    compared[y->item] += w;
                    net[y->item] += level - y->level;
                }
                continue;
            }
            bool is_free = all.is_open[ballot] && own->tier == all.tier[all.indptr[ballot + 1] - 1];
            for (const Sorted::Entry *y = own + 1; y < end; ++y) {
                bool is_tied = y->tier == own->tier;
                if (!(is_tied && is_free)) compared[y->item] += w;
                if (!is_tied) net[y->item] += level - y->level;
            }
        }
    }
    for (size_t i = 0; i < task.m; i += SIDE)
        for (size_t j = i; j < task.m; j += SIDE)
            for (size_t r = i; r < std::min(i + SIDE, task.m); ++r)
                for (size_t c = std::max(j, r + 1); c < std::min(j + SIDE, task.m); ++c) {
                    task.compared[c * task.m + r] = task.compared[r * task.m + c];
                    task.net[c * task.m + r] = -task.net[r * task.m + c];
                }
}

void compare_instance(const Task &task) {
    std::vector<uint8_t> plain(task.n);
    bool simple = true;
    for (size_t b = 0; b < task.n; ++b) {
        plain[b] = is_plain(task, task.ballot[b]);
        int64_t length = task.all.indptr[task.ballot[b] + 1] - task.all.indptr[task.ballot[b]];
        simple = simple && plain[b] && length == static_cast<int64_t>(task.m);
    }
    if (simple) compare_complete(task);
    else compare_rows(task, plain);
}

nb::tuple pair_preferences(BallotArrays ballots, In<double> level) {
    Ballots all(ballots);
    std::vector<size_t> start = matrix_starts(all);
    Buffer<double> compared = Buffer<double>::zeros(start.back()), net = Buffer<double>::zeros(start.back());
    {
        nb::gil_scoped_release release;
        Instances by_instance(all);
        for (size_t q = 0; q < all.instances; ++q) {
            int64_t first = by_instance.from[q];
            size_t n = static_cast<size_t>(by_instance.from[q + 1] - first);
            if (n)
                compare_instance({all, level.data(), by_instance.ballot.data() + first, n, all.slot_ptr[q],
                                  all.candidates(q), compared.get() + start[q], net.get() + start[q]});
        }
    }
    return nb::make_tuple(compared.give(), net.give());
}

} // namespace

void bind_comparisons(nb::module_ &m) {
    m.def("pair_preferences", &pair_preferences, "ballots"_a.noconvert(), "level"_a.noconvert());
}

// Standing: which items can be compared at all, and how sure a rank is given scores and their covariance.
#include "common.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

int64_t root_of(std::vector<int64_t> &parent, int64_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

// The group of every slot when duels connect them (whoever won); groups are numbered by their first slot.
void connected(size_t n, size_t rows, const int32_t *first, const int32_t *second, int32_t *group) {
    std::vector<int64_t> parent(n);
    for (size_t i = 0; i < n; ++i) parent[i] = static_cast<int64_t>(i);
    for (size_t r = 0; r < rows; ++r) {
        int64_t a = root_of(parent, first[r]), b = root_of(parent, second[r]);
        if (a != b) parent[std::max(a, b)] = std::min(a, b);
    }
    int32_t next = 0;
    for (size_t i = 0; i < n; ++i) {
        int64_t root = root_of(parent, static_cast<int64_t>(i));
        group[i] = root == static_cast<int64_t>(i) ? next++ : group[root];
    }
}

// The group of every slot when it must be reachable both ways along wins (Tarjan, without recursion).
void strongly_connected(size_t n, const std::vector<int64_t> &from, const std::vector<int32_t> &to, int32_t *group) {
    std::vector<int64_t> index(n, -1), low(n, 0), edge(n, 0);
    std::vector<int32_t> stack, path;
    std::vector<uint8_t> open(n, 0);
    std::vector<int32_t> found(n, -1);
    int64_t next = 0;
    int32_t groups = 0;
    for (size_t start = 0; start < n; ++start) {
        if (index[start] >= 0) continue;
        path.push_back(static_cast<int32_t>(start));
        while (!path.empty()) {
            size_t v = static_cast<size_t>(path.back());
            if (index[v] < 0) {
                index[v] = low[v] = next++;
                edge[v] = from[v];
                stack.push_back(static_cast<int32_t>(v));
                open[v] = 1;
            }
            bool descended = false;
            while (edge[v] < from[v + 1]) {
                size_t u = static_cast<size_t>(to[edge[v]++]);
                if (index[u] < 0) {
                    path.push_back(static_cast<int32_t>(u));
                    descended = true;
                    break;
                }
                if (open[u]) low[v] = std::min(low[v], index[u]);
            }
            if (descended) continue;
            path.pop_back();
            if (!path.empty()) {
                size_t up = static_cast<size_t>(path.back());
                low[up] = std::min(low[up], low[v]);
            }
            if (low[v] == index[v]) {
                size_t u;
                do {
                    u = static_cast<size_t>(stack.back());
                    stack.pop_back();
                    open[u] = 0;
                    found[u] = groups;
                } while (u != v);
                ++groups;
            }
        }
    }
    std::vector<int32_t> renumbered(static_cast<size_t>(groups), -1);
    int32_t order = 0;
    for (size_t i = 0; i < n; ++i) {
        int32_t &number = renumbered[static_cast<size_t>(found[i])];
        if (number < 0) number = order++;
        group[i] = number;
    }
}

// (group by comparisons, group by wins both ways) of every slot; a tie counts as a win both ways.
nb::tuple duel_groups(In<int32_t> first, In<int32_t> second, In<double> won, In<double> lost, In<double> tied,
                      int64_t n_slots) {
    size_t n = static_cast<size_t>(n_slots), rows = first.size();
    Buffer<int32_t> weak(n), strong(n);
    {
        nb::gil_scoped_release unlocked;
        connected(n, rows, first.data(), second.data(), weak.get());
        std::vector<int64_t> from(n + 1, 0);
        auto each = [&](auto &&visit) {
            for (size_t r = 0; r < rows; ++r) {
                if (won.data()[r] > 0 || tied.data()[r] > 0) visit(first.data()[r], second.data()[r]);
                if (lost.data()[r] > 0 || tied.data()[r] > 0) visit(second.data()[r], first.data()[r]);
            }
        };
        each([&](int32_t a, int32_t) { ++from[static_cast<size_t>(a) + 1]; });
        for (size_t i = 0; i < n; ++i) from[i + 1] += from[i];
        std::vector<int64_t> next(from.begin(), from.end() - 1);
        std::vector<int32_t> to(static_cast<size_t>(from[n]));
        each([&](int32_t a, int32_t b) { to[static_cast<size_t>(next[static_cast<size_t>(a)]++)] = b; });
        strongly_connected(n, from, to, strong.get());
    }
    return nb::make_tuple(weak.give(), strong.give());
}

// (rank_low, rank_high): an item ranks behind those that are better by more than `critical` standard errors of the
// difference, and before those that are worse by as much.
nb::tuple rank_bounds(In<int64_t> slot_ptr, In<double> score, In<double> covariance, In<double> critical) {
    size_t slots = score.size(), instances = slot_ptr.size() - 1;
    Buffer<int32_t> low(slots), high(slots);
    {
        nb::gil_scoped_release unlocked;
        const double *block = covariance.data();
        for (size_t q = 0; q < instances; ++q) {
            size_t base = static_cast<size_t>(slot_ptr.data()[q]);
            size_t m = static_cast<size_t>(slot_ptr.data()[q + 1]) - base;
            const double *s = score.data() + base;
            double c = critical.data()[q] * critical.data()[q];
            std::vector<double> variance(m);
            for (size_t i = 0; i < m; ++i) variance[i] = block[i * m + i];
            for (size_t i = 0; i < m; ++i) {
                int32_t better = 0, worse = 0;
                const double *row = block + i * m;
                for (size_t j = 0; j < m; ++j) {
                    double gap = s[j] - s[i], apart = variance[i] + variance[j] - 2 * row[j];
                    bool differs = gap * gap > c * std::max(apart, 0.0) + 1e-18;
                    better += differs && gap > 0;
                    worse += differs && gap < 0;
                }
                low[base + i] = 1 + better;
                high[base + i] = static_cast<int32_t>(m) - worse;
            }
            block += m * m;
        }
    }
    return nb::make_tuple(low.give(), high.give());
}

// How often each item is the best over draws from the normal distribution of the scores. Only items that are not worse
// than the first by more than `reach` standard errors of the difference take part. `draws` has a row per draw.
Out<double> best_chances(In<int64_t> slot_ptr, In<double> score, In<double> covariance, In2<double> draws,
                         double reach) {
    size_t instances = slot_ptr.size() - 1, n_draws = draws.shape(0), width = draws.shape(1);
    Buffer<double> chance(score.size(), 0.0);
    {
        nb::gil_scoped_release unlocked;
        const double *block = covariance.data();
        std::vector<size_t> rival;
        std::vector<double> factor, drawn;
        for (size_t q = 0; q < instances; ++q) {
            size_t base = static_cast<size_t>(slot_ptr.data()[q]);
            size_t m = static_cast<size_t>(slot_ptr.data()[q + 1]) - base;
            if (!m) continue;
            const double *s = score.data() + base;
            size_t top = 0;
            for (size_t i = 1; i < m; ++i)
                if (s[i] > s[top]) top = i;
            rival.clear();
            for (size_t i = 0; i < m; ++i) {
                double gap = s[top] - s[i];
                double apart = block[i * m + i] + block[top * m + top] - 2 * block[i * m + top];
                if (i == top || gap * gap <= reach * reach * std::max(apart, 0.0)) rival.push_back(i);
            }
            size_t k = std::min(rival.size(), width);
            factor.assign(k * k, 0.0); // Cholesky of a matrix that may lack full rank: a pivot of nothing is skipped
            for (size_t i = 0; i < k; ++i)
                for (size_t j = 0; j <= i; ++j) {
                    double sum = block[rival[i] * m + rival[j]];
                    for (size_t c = 0; c < j; ++c) sum -= factor[i * k + c] * factor[j * k + c];
                    double pivot = i == j ? 0.0 : factor[j * k + j];
                    double floor = 1e-10 * block[rival[i] * m + rival[i]];
                    if (i == j) factor[i * k + i] = sum > floor ? std::sqrt(sum) : 0.0;
                    else factor[i * k + j] = pivot > 0 ? sum / pivot : 0.0;
                }
            for (size_t d = 0; d < n_draws; ++d) {
                const double *z = draws.data() + d * width;
                size_t best = 0;
                double most = 0;
                for (size_t i = 0; i < k; ++i) {
                    double x = s[rival[i]];
                    for (size_t c = 0; c <= i; ++c) x += factor[i * k + c] * z[c];
                    if (i == 0 || x > most) best = i, most = x;
                }
                chance[base + rival[best]] += 1.0 / static_cast<double>(n_draws);
            }
            block += m * m;
        }
    }
    return chance.give();
}

} // namespace

void bind_standing(nb::module_ &m) {
    m.def("duel_groups", &duel_groups, "first"_a.noconvert(), "second"_a.noconvert(), "won"_a.noconvert(),
          "lost"_a.noconvert(), "tied"_a.noconvert(), "n_slots"_a);
    m.def("rank_bounds", &rank_bounds, "slot_ptr"_a.noconvert(), "score"_a.noconvert(), "covariance"_a.noconvert(),
          "critical"_a.noconvert());
    m.def("best_chances", &best_chances, "slot_ptr"_a.noconvert(), "score"_a.noconvert(), "covariance"_a.noconvert(),
          "draws"_a.noconvert(), "reach"_a);
}

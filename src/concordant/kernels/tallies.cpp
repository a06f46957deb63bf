// Tallies: votes between two items counted by pair, and duels (one row per pair compared) from matrices or long lists.
#include "ballots.hpp"
#include "encoding.hpp"

#include <algorithm>
#include <cmath>

namespace {

constexpr size_t AHEAD = 24; // votes between asking memory for a cell and using it

// Count votes over labels low, low + 1, …, low + span - 1: a row per pair that met, ties with the smaller label as
// winner. Empty `tie` means no ties, empty `weight` means every vote counts once.
template <typename T>
nb::object tally_votes(In<T> winner, In<T> loser, In<uint8_t> tie, In<double> weight, int64_t low, int64_t span) {
    size_t n = winner.size(), m = static_cast<size_t>(span), kept = 0;
    std::vector<double> wins(m * m, 0.0), ties(tie.size() ? m * m : 0, 0.0);
    Buffer<int64_t> first(m, -1);
    std::vector<int32_t> upper, lower;
    std::vector<uint8_t> even;
    std::vector<double> total;
    {
        nb::gil_scoped_release unlocked;
        const T *w = winner.data(), *l = loser.data();
        const T base = static_cast<T>(low);
        size_t seen = 0;
        for (size_t k = 0; k < n && seen < m; ++k) { // stops as soon as every label was met
            int64_t a = w[k] - base, b = l[k] - base;
            if (first[a] < 0) first[a] = static_cast<int64_t>(2 * k), ++seen;
            if (first[b] < 0) first[b] = static_cast<int64_t>(2 * k + 1), ++seen;
        }
        const double *by_vote = weight.size() ? weight.data() : nullptr;
        if (!tie.size()) {
            for (size_t k = 0; k < n; ++k) {
                if (k + AHEAD < n) {
                    size_t row = static_cast<size_t>(w[k + AHEAD] - base), column = static_cast<size_t>(l[k + AHEAD] - base);
                    PREFETCH(&wins[row * m + column]);
                }
                wins[static_cast<size_t>(w[k] - base) * m + static_cast<size_t>(l[k] - base)] += by_vote ? by_vote[k] : 1.0;
            }
        } else {
            for (size_t k = 0; k < n; ++k) {
                size_t a = static_cast<size_t>(w[k] - base), b = static_cast<size_t>(l[k] - base);
                double v = by_vote ? by_vote[k] : 1.0;
                if (tie.data()[k]) ties[std::min(a, b) * m + std::max(a, b)] += v;
                else wins[a * m + b] += v;
            }
        }
        for (double v : wins) kept += v != 0;
        for (double v : ties) kept += v != 0;
        upper.resize(kept), lower.resize(kept), even.resize(kept), total.resize(kept);
        size_t row = 0;
        for (int pass = 0; pass < (ties.empty() ? 1 : 2); ++pass) {
            const double *cell = pass ? ties.data() : wins.data();
            for (size_t a = 0; a < m; ++a)
                for (size_t b = 0; b < m; ++b, ++cell)
                    if (*cell != 0) {
                        upper[row] = static_cast<int32_t>(a);
                        lower[row] = static_cast<int32_t>(b);
                        even[row] = static_cast<uint8_t>(pass);
                        total[row++] = *cell;
                    }
        }
    }
    Buffer<int32_t> a(kept), b(kept);
    Buffer<uint8_t> t(kept);
    Buffer<double> v(kept);
    std::copy(upper.begin(), upper.end(), a.get());
    std::copy(lower.begin(), lower.end(), b.get());
    std::copy(even.begin(), even.end(), t.get());
    std::copy(total.begin(), total.end(), v.get());
    return named("Tally", a.give(), b.give(), t.give(), v.give(), first.give());
}

// Duels from the square matrices of all instances: (duel_ptr, rows), first < second.
nb::tuple matrix_duels(In<int64_t> slot_ptr, In<double> wins, In<double> ties) {
    size_t instances = slot_ptr.size() - 1, rows = 0;
    Buffer<int64_t> ptr(instances + 1);
    auto each = [&](auto &&visit) {
        size_t start = 0;
        for (size_t q = 0; q < instances; ++q) {
            int64_t base = slot_ptr.data()[q];
            size_t m = static_cast<size_t>(slot_ptr.data()[q + 1] - base);
            constexpr size_t side = 64; // tiles, because one of the two cells is always far away
            for (size_t row = 0; row < m; row += side)
                for (size_t column = row; column < m; column += side)
                    for (size_t i = row; i < std::min(row + side, m); ++i)
                        for (size_t j = std::max(column, i + 1); j < std::min(column + side, m); ++j)
                            visit(q, base, i, j, start + i * m + j, start + j * m + i);
            start += m * m;
        }
    };
    std::vector<int64_t> count(instances, 0);
    const double *w = wins.data(), *t = ties.data();
    {
        nb::gil_scoped_release unlocked;
        each([&](size_t q, int64_t, size_t, size_t, size_t up, size_t down) {
            count[q] += w[up] != 0 || w[down] != 0 || t[up] != 0;
        });
    }
    ptr[0] = 0;
    for (size_t q = 0; q < instances; ++q) ptr[q + 1] = ptr[q] + count[q];
    rows = static_cast<size_t>(ptr[instances]);
    Buffer<int32_t> first(rows), second(rows);
    Buffer<double> won(rows), lost(rows), tied(rows);
    {
        nb::gil_scoped_release unlocked;
        size_t next = 0;
        each([&](size_t, int64_t base, size_t i, size_t j, size_t up, size_t down) {
            if (w[up] == 0 && w[down] == 0 && t[up] == 0) return;
            first[next] = static_cast<int32_t>(base + static_cast<int64_t>(i));
            second[next] = static_cast<int32_t>(base + static_cast<int64_t>(j));
            won[next] = w[up];
            lost[next] = w[down];
            tied[next++] = t[up];
        });
    }
    return nb::make_tuple(ptr.give(), named("DuelRows", first.give(), second.give(), won.give(), lost.give(), tied.give()));
}

// Matrices of level differences: entry (i, j) adds weight x (level_i - level_j) for every ballot with i in a better
// tier than j.
Out<double> level_counts(BallotArrays ballots, In<double> level) {
    Ballots all(ballots);
    std::vector<size_t> start = matrix_starts(all);
    Buffer<double> wins(start.back(), 0.0);
    {
        nb::gil_scoped_release unlocked;
        for (size_t b = 0; b < all.n; ++b) {
            size_t q = static_cast<size_t>(all.instance[b]), m = all.candidates(q);
            int64_t base = all.slot_ptr[q], to = all.indptr[b + 1];
            for (int64_t i = all.indptr[b]; i < to; ++i) {
                double *row = wins.get() + start[q] + static_cast<size_t>(all.slot[i] - base) * m;
                for (int64_t j = i + 1; j < to; ++j)
                    if (all.tier[j] != all.tier[i])
                        row[all.slot[j] - base] += all.weight[b] * (level.data()[i] - level.data()[j]);
            }
        }
    }
    return wins.give();
}

// Duels from a long list of pairs: rows with the same (first, second) are added up, sorted by them.
// won, lost and tied are added; the caller puts the pairs the way round it wants.
nb::object group_duels(In<int64_t> first, In<int64_t> second, In<double> won, In<double> lost, In<double> tied,
                      int64_t n_slots) {
    size_t n = first.size(), m = static_cast<size_t>(n_slots);
    std::vector<int64_t> from(m + 1, 0), row(n);
    Buffer<int32_t> out_first(n), out_second(n);
    Buffer<double> out_won(n), out_lost(n), out_tied(n);
    size_t kept = 0;
    {
        nb::gil_scoped_release unlocked;
        for (size_t k = 0; k < n; ++k) ++from[static_cast<size_t>(first.data()[k]) + 1];
        for (size_t i = 0; i < m; ++i) from[i + 1] += from[i];
        std::vector<int64_t> next(from.begin(), from.end() - 1);
        for (size_t k = 0; k < n; ++k) row[static_cast<size_t>(next[first.data()[k]]++)] = static_cast<int64_t>(k);
        for (size_t i = 0; i < m; ++i) {
            auto begin = row.begin() + from[i], end = row.begin() + from[i + 1];
            std::sort(begin, end, [&](int64_t a, int64_t b) {
                int64_t x = second.data()[a], y = second.data()[b];
                return x != y ? x < y : a < b;
            });
            for (auto k = begin; k != end; ++k) {
                int32_t other = static_cast<int32_t>(second.data()[*k]);
                if (k == begin || out_second[kept - 1] != other) {
                    out_first[kept] = static_cast<int32_t>(i);
                    out_second[kept] = other;
                    out_won[kept] = out_lost[kept] = out_tied[kept] = 0;
                    ++kept;
                }
                out_won[kept - 1] += won.data()[*k];
                out_lost[kept - 1] += lost.data()[*k];
                out_tied[kept - 1] += tied.data()[*k];
            }
        }
    }
    return named("DuelRows", out_first.give_first(kept), out_second.give_first(kept), out_won.give_first(kept),
                 out_lost.give_first(kept), out_tied.give_first(kept));
}

} // namespace

void bind_tallies(nb::module_ &m) {
    m.def("tally_votes", &tally_votes<int64_t>, "winner"_a.noconvert(), "loser"_a.noconvert(), "tie"_a.noconvert(),
          "weight"_a.noconvert(), "low"_a, "span"_a);
    m.def("tally_votes", &tally_votes<int32_t>, "winner"_a.noconvert(), "loser"_a.noconvert(), "tie"_a.noconvert(),
          "weight"_a.noconvert(), "low"_a, "span"_a);
    m.def("matrix_duels", &matrix_duels, "slot_ptr"_a.noconvert(), "wins"_a.noconvert(), "ties"_a.noconvert());
    m.def("level_counts", &level_counts, "ballots"_a.noconvert(), "level"_a.noconvert());
    m.def("group_duels", &group_duels, "first"_a.noconvert(), "second"_a.noconvert(), "won"_a.noconvert(),
          "lost"_a.noconvert(), "tied"_a.noconvert(), "n_slots"_a);
}

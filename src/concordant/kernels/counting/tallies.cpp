// Tallies: votes between two items counted by pair, and duels (one row per pair compared) from matrices or long lists.
#include "ballots.hpp"
#include "encoding.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

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

// The pairs of ballots, one after the other: visit(ballot, first slot, second slot << 2 | outcome), where the outcome
// is 0 if the first won, 1 if it lost, 2 if they tied. Ties in the last tier of an open ballot are none.
struct PairsOfBallots {
    const Ballots &all;

    const double *weight() const { return all.weight; }
    size_t ballots() const { return all.n; }

    template <typename Visit> void each(Visit &&visit) const {
        for (size_t b = 0; b < all.n; ++b) {
            int64_t to = all.indptr[b + 1];
            int32_t free_tier = all.is_open[b] && to > all.indptr[b] ? all.tier[to - 1] : -1;
            for (int64_t k = all.indptr[b]; k < to; ++k) {
                if (all.is_open[b] && all.tier[k] == free_tier) break;
                uint32_t here = static_cast<uint32_t>(all.slot[k]);
                for (int64_t other = k + 1; other < to; ++other) {
                    uint32_t there = static_cast<uint32_t>(all.slot[other]);
                    uint32_t outcome = all.tier[k] == all.tier[other] ? 2 : here > there;
                    visit(b, std::min(here, there), std::max(here, there) << 2 | outcome);
                }
            }
        }
    }
};

// The same for ballots of two items each in one instance: a third of the memory to go through.
struct PairsOfVotes {
    const int32_t *item, *tier;
    const double *weights;
    size_t n;

    const double *weight() const { return weights; }
    size_t ballots() const { return n; }

    template <typename Visit> void each(Visit &&visit) const {
        for (size_t b = 0; b < n; ++b) {
            uint32_t here = static_cast<uint32_t>(item[2 * b]), there = static_cast<uint32_t>(item[2 * b + 1]);
            uint32_t turned = here > there, outcome = tier[2 * b] == tier[2 * b + 1] ? 2 : turned;
            visit(b, turned ? there : here, (turned ? here : there) << 2 | outcome);
        }
    }
};

// Duels straight from pairs. They are dealt out by their first slot, then those of a slot added up in a row that stays
// in the cache (few of them: sorted).
class DuelCounter {
  public:
    template <typename Source> DuelCounter(const Source &source, size_t slots) : from_(slots + 1, 0) {
        const double *weight = source.weight();
        for (size_t b = 0; weight && b < source.ballots() && is_unit_; ++b) is_unit_ = weight[b] == 1;
        source.each([&](size_t, uint32_t first, uint32_t) { ++from_[first + 1]; });
        for (size_t i = 0; i < slots; ++i) {
            most_ += std::min<size_t>(from_[i + 1], slots - i - 1);
            from_[i + 1] += from_[i];
        }
        pair_.resize(from_.back());
        weight_.resize(is_unit_ ? 0 : from_.back());
        std::vector<size_t> next(from_.begin(), from_.end() - 1);
        source.each([&](size_t b, uint32_t first, uint32_t pair) {
            size_t at = next[first]++;
            pair_[at] = pair;
            if (!is_unit_) weight_[at] = weight[b];
        });
    }

    // How many rows there are at most.
    size_t most() const { return most_; }

    // Call visit(instance, first, second, counts) for every pair that met, in order; counts are won, lost, tied.
    template <typename Visit> void each_row(const int64_t *slot_ptr, size_t instances, Visit &&visit) {
        std::vector<double> row;
        for (size_t q = 0; q < instances; ++q) {
            size_t end = static_cast<size_t>(slot_ptr[q + 1]);
            for (size_t i = static_cast<size_t>(slot_ptr[q]); i < end; ++i) {
                size_t n = from_[i + 1] - from_[i], width = end - i - 1;
                if (!n) continue;
                if (n * SPARSE < width) {
                    sorted_row(q, i, visit);
                    continue;
                }
                row.assign(3 * width, 0.0);
                for (size_t k = from_[i]; k < from_[i + 1]; ++k)
                    row[3 * ((pair_[k] >> 2) - i - 1) + (pair_[k] & 3)] += is_unit_ ? 1.0 : weight_[k];
                for (size_t j = 0; j < width; ++j) {
                    const double *counts = &row[3 * j];
                    if (counts[0] != 0 || counts[1] != 0 || counts[2] != 0) visit(q, i, i + 1 + j, counts);
                }
            }
        }
    }

  private:
    static constexpr size_t SPARSE = 16; // cells of a row per pair in it, above which the pairs are sorted

    template <typename Visit> void sorted_row(size_t q, size_t i, Visit &&visit) {
        order_.resize(from_[i + 1] - from_[i]);
        for (size_t k = 0; k < order_.size(); ++k) order_[k] = static_cast<uint64_t>(pair_[from_[i] + k] >> 2) << 32 | k;
        std::sort(order_.begin(), order_.end());
        double counts[3] = {0, 0, 0};
        for (size_t k = 0; k < order_.size(); ++k) {
            size_t at = from_[i] + (order_[k] & 0xffffffffu), j = order_[k] >> 32;
            counts[pair_[at] & 3] += is_unit_ ? 1.0 : weight_[at];
            if (k + 1 == order_.size() || order_[k + 1] >> 32 != j) {
                visit(q, i, j, counts);
                counts[0] = counts[1] = counts[2] = 0;
            }
        }
    }

    bool is_unit_ = true;
    std::vector<size_t> from_;
    size_t most_ = 0;
    LargeVector<uint32_t> pair_;
    LargeVector<double> weight_;
    std::vector<uint64_t> order_;
};

template <typename Source>
nb::tuple duels_of(const Source &source, const int64_t *slot_ptr, size_t instances) {
    Buffer<int64_t> ptr(instances + 1, 0);
    std::unique_ptr<DuelCounter> counter;
    {
        nb::gil_scoped_release unlocked;
        counter = std::make_unique<DuelCounter>(source, static_cast<size_t>(slot_ptr[instances]));
    }
    size_t most = counter->most(), n = 0;
    Buffer<int32_t> first(most), second(most);
    Buffer<double> won(most), lost(most), tied(most);
    {
        nb::gil_scoped_release unlocked;
        counter->each_row(slot_ptr, instances, [&](size_t q, size_t i, size_t j, const double *counts) {
            first[n] = static_cast<int32_t>(i);
            second[n] = static_cast<int32_t>(j);
            won[n] = counts[0];
            lost[n] = counts[1];
            tied[n++] = counts[2];
            ++ptr[q + 1];
        });
        for (size_t q = 0; q < instances; ++q) ptr[q + 1] += ptr[q];
    }
    return nb::make_tuple(ptr.give(), named("DuelRows", first.give_first(n), second.give_first(n), won.give_first(n),
                                            lost.give_first(n), tied.give_first(n)));
}

// (duel_ptr, rows) of ballots, first < second. There are fewer than 2^30 slots.
nb::tuple count_duels(BallotArrays ballots) {
    Ballots all(ballots);
    return duels_of(PairsOfBallots{all}, all.slot_ptr, all.instances);
}

// The same of votes in one instance: a row per ballot of two items. Empty `weight` means that every vote counts once.
nb::tuple count_votes(In2<int32_t> item, In2<int32_t> tier, In<double> weight, int64_t n_items) {
    const int64_t slot_ptr[2] = {0, n_items};
    const double *weights = weight.size() ? weight.data() : nullptr;
    return duels_of(PairsOfVotes{item.data(), tier.data(), weights, item.shape(0)}, slot_ptr, 1);
}

// What duels add up to: by row how much was counted, by slot how much was counted, and how much it won more than half
// of that.
nb::tuple duel_sums(In<int32_t> first, In<int32_t> second, In<double> won, In<double> lost, In<double> tied,
                    int64_t n_slots) {
    size_t m = static_cast<size_t>(n_slots), rows = first.size();
    Buffer<double> total(rows), met(m, 0.0), balance(m, 0.0);
    {
        nb::gil_scoped_release unlocked;
        for (size_t r = 0; r < rows;) {
            int32_t i = first.data()[r];
            double count = 0, surplus = 0;
            for (; r < rows && first.data()[r] == i; ++r) {
                int32_t j = second.data()[r];
                double more = (won.data()[r] - lost.data()[r]) / 2;
                total[r] = won.data()[r] + lost.data()[r] + tied.data()[r];
                count += total[r];
                surplus += more;
                met[j] += total[r];
                balance[j] -= more;
            }
            met[i] += count;
            balance[i] += surplus;
        }
    }
    return nb::make_tuple(total.give(), met.give(), balance.give());
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
    m.def("count_duels", &count_duels, "ballots"_a.noconvert());
    m.def("count_votes", &count_votes, "item"_a.noconvert(), "tier"_a.noconvert(), "weight"_a.noconvert(), "n_items"_a);
    m.def("duel_sums", &duel_sums, "first"_a.noconvert(), "second"_a.noconvert(), "won"_a.noconvert(),
          "lost"_a.noconvert(), "tied"_a.noconvert(), "n_slots"_a);
    m.def("level_counts", &level_counts, "ballots"_a.noconvert(), "level"_a.noconvert());
    m.def("group_duels", &group_duels, "first"_a.noconvert(), "second"_a.noconvert(), "won"_a.noconvert(),
          "lost"_a.noconvert(), "tied"_a.noconvert(), "n_slots"_a);
}

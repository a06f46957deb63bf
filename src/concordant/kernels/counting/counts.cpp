// Preferences as counts: how strongly a ballot prefers each item, without listing pairs a formula does not need.
#include "ballots.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace {

constexpr uint8_t WINS = 1, LOSES = 2;

// Entries of one ballot, best level first; ballots are nearly always sorted already.
void sort_ballot(const double *level, size_t m, std::vector<int64_t> &order) {
    order.resize(m);
    std::iota(order.begin(), order.end(), 0);
    auto is_better = [level](int64_t a, int64_t b) { return level[a] > level[b]; };
    if (!std::is_sorted(order.begin(), order.end(), is_better))
        std::stable_sort(order.begin(), order.end(), is_better);
}

nb::tuple preference_counts(In<int64_t> indptr, In<double> level, bool draws, bool binary) {
    size_t ballots = indptr.size() - 1;
    Buffer<double> net(level.size(), 0.0), total(ballots, 0.0);
    Buffer<uint8_t> role(level.size(), 0);
    {
        nb::gil_scoped_release release;
        std::vector<int64_t> order;
        for (size_t b = 0; b < ballots; ++b) {
            size_t from = static_cast<size_t>(indptr.data()[b]);
            size_t m = static_cast<size_t>(indptr.data()[b + 1]) - from;
            if (m < 2) continue;
            const double *l = level.data() + from;
            sort_ballot(l, m, order);
            double best = l[order[0]], worst = l[order[m - 1]], size = static_cast<double>(m);
            if (best == worst) {
                if (draws && m == 2) { // half a win each way
                    total[b] = 1;
                    role[from] = role[from + 1] = WINS | LOSES;
                }
                continue;
            }
            double sum = 0, spread = 0;
            for (size_t k = 0; k < m; ++k) {
                double above = l[order[k]] - worst;
                sum += above;
                spread += above * (size - 1 - 2 * static_cast<double>(k));
            }
            for (size_t start = 0, stop; start < m; start = stop) {
                for (stop = start + 1; stop < m && l[order[stop]] == l[order[start]];) ++stop;
                double below = static_cast<double>(m - stop);
                for (size_t k = start; k < stop; ++k) {
                    size_t entry = from + static_cast<size_t>(order[k]);
                    net[entry] = binary ? below - static_cast<double>(start) : size * (l[order[k]] - worst) - sum;
                    role[entry] = static_cast<uint8_t>((l[order[k]] > worst ? WINS : 0) |
                                                       (l[order[k]] < best ? LOSES : 0));
                }
                if (binary) total[b] += below * static_cast<double>(stop - start);
            }
            if (!binary) total[b] = spread;
        }
    }
    return nb::make_tuple(net.give(), total.give(), role.give());
}

nb::tuple net_pairs(BallotArrays ballots, In<double> level, bool binary) {
    Ballots all(ballots);
    Buffer<int64_t> ptr(all.instances + 1);
    ptr[0] = 0;
    for (size_t q = 0; q < all.instances; ++q) {
        int64_t m = static_cast<int64_t>(all.candidates(q));
        ptr[q + 1] = ptr[q] + m * (m - 1) / 2;
    }
    Buffer<double> net(static_cast<size_t>(ptr[all.instances]), 0.0);
    {
        nb::gil_scoped_release release;
        std::vector<int64_t> order, slot;
        std::vector<double> own;
        for (size_t b = 0; b < all.n; ++b) {
            double weight = all.weight[b];
            if (weight == 0) continue;
            int32_t q = all.instance[b];
            int64_t from = all.indptr[b], base = all.slot_ptr[q], m = all.slot_ptr[q + 1] - base;
            size_t n = static_cast<size_t>(all.indptr[b + 1] - from);
            order.resize(n);
            std::iota(order.begin(), order.end(), from);
            const int64_t *slots = all.slot;
            std::sort(order.begin(), order.end(), [slots](int64_t i, int64_t j) { return slots[i] < slots[j]; });
            slot.resize(n);
            own.resize(n);
            for (size_t k = 0; k < n; ++k) {
                slot[k] = slots[order[k]] - base;
                own[k] = level.data()[order[k]];
            }
            for (size_t i = 0; i + 1 < n; ++i) {
                // Pair (i, j) of a row stands at start + j - i - 1, so this is where a j of 0 would be.
                double *row = net.get() + ptr[static_cast<size_t>(q)] + slot[i] * (2 * m - slot[i] - 1) / 2 -
                              slot[i] - 1;
                if (binary)
                    for (size_t j = i + 1; j < n; ++j)
                        row[slot[j]] += weight * ((own[i] > own[j]) - (own[i] < own[j]));
                else
                    for (size_t j = i + 1; j < n; ++j) row[slot[j]] += weight * (own[i] - own[j]);
            }
        }
    }
    return nb::make_tuple(ptr.give(), net.give());
}

Out<int64_t> link_slots(In<int64_t> indptr, In<int64_t> entry_slot, int64_t slots) {
    Buffer<int64_t> parent(static_cast<size_t>(slots));
    {
        nb::gil_scoped_release release;
        int64_t *up = parent.get();
        std::iota(up, up + slots, 0);
        auto root = [up](int64_t k) {
            while (up[k] != k) k = up[k] = up[up[k]];
            return k;
        };
        for (size_t b = 0; b + 1 < indptr.size(); ++b)
            for (int64_t k = indptr.data()[b] + 1; k < indptr.data()[b + 1]; ++k) {
                int64_t one = root(entry_slot.data()[k - 1]), other = root(entry_slot.data()[k]);
                if (one != other) up[std::max(one, other)] = std::min(one, other);
            }
        for (int64_t k = 0; k < slots; ++k) up[k] = root(k);
    }
    return parent.give();
}

// Pairs with different labels that a ballot orders alike, the other way, or ties; NaN labels take no part.
nb::tuple label_agreement(In<int64_t> indptr, In<int32_t> tier, In<double> label) {
    size_t ballots = indptr.size() - 1;
    Buffer<int64_t> alike(ballots, 0), against(ballots, 0), tied(ballots, 0);
    {
        nb::gil_scoped_release release;
        std::vector<double> levels;
        std::vector<int64_t> seen, fresh;
        for (size_t b = 0; b < ballots; ++b) {
            int64_t from = indptr.data()[b], to = indptr.data()[b + 1];
            levels.clear();
            for (int64_t k = from; k < to; ++k)
                if (label.data()[k] == label.data()[k]) levels.push_back(label.data()[k]);
            std::sort(levels.begin(), levels.end());
            levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
            size_t n = levels.size();
            seen.assign(n + 1, 0); // a Fenwick tree: how many better-placed items have at most this label
            int64_t placed = 0;
            auto below = [&seen](size_t level) {
                int64_t count = 0;
                for (; level; level &= level - 1) count += seen[level];
                return count;
            };
            for (int64_t start = from, stop; start < to; start = stop) {
                fresh.clear();
                for (stop = start; stop < to && tier.data()[stop] == tier.data()[start]; ++stop) {
                    double own = label.data()[stop];
                    if (own != own) continue;
                    size_t level = static_cast<size_t>(std::lower_bound(levels.begin(), levels.end(), own) -
                                                       levels.begin());
                    against[b] += below(level);
                    alike[b] += placed - below(level + 1);
                    fresh.push_back(static_cast<int64_t>(level));
                }
                std::sort(fresh.begin(), fresh.end());
                int64_t size = static_cast<int64_t>(fresh.size()), equal = 0;
                for (size_t k = 0, run = 0; k < fresh.size(); ++k) {
                    run = k && fresh[k] == fresh[k - 1] ? run + 1 : 0;
                    equal += static_cast<int64_t>(run);
                    for (size_t at = static_cast<size_t>(fresh[k]) + 1; at <= n; at += at & (~at + 1)) ++seen[at];
                }
                tied[b] += size * (size - 1) / 2 - equal;
                placed += size;
            }
        }
    }
    return nb::make_tuple(alike.give(), against.give(), tied.give());
}

// What each ballot gains under a model: the sum over its preferences of count * (s_i - s_j) / (g_i + g_j).
Out<double> ballot_gains(In<int64_t> indptr, In<int64_t> entry_slot, In<double> level, In<double> score,
                         In<double> variance, bool binary) {
    size_t ballots = indptr.size() - 1;
    Buffer<double> gain(ballots, 0.0);
    {
        nb::gil_scoped_release release;
        for (size_t b = 0; b < ballots; ++b)
            for (int64_t i = indptr.data()[b]; i < indptr.data()[b + 1]; ++i) {
                double s = score.data()[entry_slot.data()[i]], g = variance.data()[entry_slot.data()[i]];
                double own = level.data()[i];
                for (int64_t j = i + 1; j < indptr.data()[b + 1]; ++j) {
                    double count = own - level.data()[j];
                    if (binary) count = (count > 0) - (count < 0);
                    int64_t other = entry_slot.data()[j];
                    gain[b] += count * (s - score.data()[other]) / (g + variance.data()[other]);
                }
            }
    }
    return gain.give();
}

} // namespace

void bind_counts(nb::module_ &m) {
    m.def("preference_counts", &preference_counts, "indptr"_a.noconvert(), "level"_a.noconvert(),
          "draws"_a, "binary"_a);
    m.def("net_pairs", &net_pairs, "ballots"_a.noconvert(), "level"_a.noconvert(), "binary"_a);
    m.def("link_slots", &link_slots, "indptr"_a.noconvert(), "entry_slot"_a.noconvert(), "slots"_a);
    m.def("ballot_gains", &ballot_gains, "indptr"_a.noconvert(), "entry_slot"_a.noconvert(), "level"_a.noconvert(),
          "score"_a.noconvert(), "variance"_a.noconvert(), "binary"_a);
    m.def("label_agreement", &label_agreement, "indptr"_a.noconvert(), "tier"_a.noconvert(), "label"_a.noconvert());
}

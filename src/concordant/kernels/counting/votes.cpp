// Elections from pairwise majorities or by rounds: strongest paths, locked pairs, majority paths, runoffs.
#include "ballots.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace {

// ---- who stands above whom -------------------------------------------------------------------------------------

// A relation closed under transitivity, as bit sets: who is below each candidate, and who is above. A link is worth
// looking at only for those above its upper end that do not stand above its lower end yet, and each gains somebody: all
// links together cost candidates^3 / 64 steps at most.
class Order {
  public:
    explicit Order(size_t m) : words_((m + 63) / 64), below_(m * words_, 0), above_(m * words_, 0), gained_(words_) {}
    bool has(size_t upper, size_t lower) const { return below_[upper * words_ + lower / 64] >> (lower % 64) & 1; }
    void add(size_t upper, size_t lower) {
        add(upper, lower, [](size_t, size_t) {});
    }
    // `tell(x, y)` is called for every new pair, x above y.
    template <typename F> void add(size_t upper, size_t lower, F tell) {
        if (has(upper, lower)) return;
        std::copy_n(&below_[lower * words_], words_, gained_.begin());
        gained_[lower / 64] |= bit(lower);
        for (size_t w = 0; w < words_; ++w) {
            uint64_t gains = above_[upper * words_ + w] & ~above_[lower * words_ + w];
            if (w == upper / 64) gains |= bit(upper);
            if (w == lower / 64) gains &= ~bit(lower);
            for (; gains; gains &= gains - 1) gain(w * 64 + lowest(gains), tell);
        }
    }

  private:
    static uint64_t bit(size_t i) { return uint64_t{1} << (i % 64); }
    static size_t lowest(uint64_t word) {
#if defined(__GNUC__)
        return static_cast<size_t>(__builtin_ctzll(word));
#else
        size_t k = 0;
        while (!(word >> k & 1)) ++k;
        return k;
#endif
    }
    template <typename F> void gain(size_t x, F tell) {
        uint64_t *own = &below_[x * words_];
        for (size_t w = 0; w < words_; ++w) {
            uint64_t fresh = gained_[w] & ~own[w];
            own[w] |= fresh;
            for (; fresh; fresh &= fresh - 1) {
                size_t y = w * 64 + lowest(fresh);
                above_[y * words_ + x / 64] |= bit(x);
                tell(x, y);
            }
        }
    }

    size_t words_;
    std::vector<uint64_t> below_, above_, gained_;
};

struct Link {
    uint64_t key; // the smaller, the earlier
    uint32_t winner, loser;
};

// Keys of positive numbers that sort as the numbers do.
uint64_t rising(double x) {
    uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
uint64_t falling(double x) { return ~rising(x); }

// Sort links by their keys, equal ones as they stand: by 16 bits at a time, without those that are the same in all.
void sort_links(LargeVector<Link> &links) {
    constexpr size_t DIGIT = 16, N_DIGITS = size_t{1} << DIGIT;
    if (links.size() < N_DIGITS / 8) {
        std::stable_sort(links.begin(), links.end(), [](const Link &a, const Link &b) { return a.key < b.key; });
        return;
    }
    uint64_t differs = 0;
    for (const Link &l : links) differs |= l.key ^ links[0].key;
    LargeVector<Link> sorted(links.size());
    for (size_t shift = 0; shift < 64; shift += DIGIT) {
        if (!(differs >> shift & (N_DIGITS - 1))) continue;
        std::vector<size_t> at(N_DIGITS + 1, 0);
        for (const Link &l : links) ++at[(l.key >> shift & (N_DIGITS - 1)) + 1];
        std::partial_sum(at.begin(), at.end(), at.begin());
        for (const Link &l : links) sorted[at[l.key >> shift & (N_DIGITS - 1)]++] = l;
        links.swap(sorted);
    }
}

// ---- strongest paths (Schulze) ---------------------------------------------------------------------------------

SIMD_CLONES void widen(double *row, const double *through, double link, size_t m) {
    for (size_t j = 0; j < m; ++j) {
        double width = link < through[j] ? link : through[j];
        row[j] = row[j] < width ? width : row[j];
    }
}

// Through every candidate in turn: candidates^3 steps, but short ones.
void widen_paths(double *path, size_t m) {
    for (size_t k = 0; k < m; ++k)
        for (size_t i = 0; i < m; ++i)
            if (i != k && path[i * m + k] > 0) widen(path + i * m, path + k * m, path[i * m + k], m);
}

// Links from the strongest to the weakest: the one that first makes a path from x to y is the weakest of that path.
void connect_paths(double *path, size_t m) {
    LargeVector<Link> links;
    links.reserve(m * (m - 1) / 2);
    for (uint32_t i = 0; i < m; ++i)
        for (uint32_t j = 0; j < m; ++j)
            if (path[i * m + j] > 0) links.push_back({falling(path[i * m + j]), i, j});
    sort_links(links);
    Order order(m);
    Interrupts interrupts;
    for (const Link &l : links) {
        interrupts.poll(m / 8);
        double strength;
        uint64_t bits = ~l.key;
        std::memcpy(&strength, &bits, sizeof bits);
        order.add(l.winner, l.loser, [&](size_t x, size_t y) { path[x * m + y] = strength; });
    }
}

constexpr size_t WORTH_SORTING = 96; // candidates

Out<double> strongest_paths(In<int64_t> slot_ptr, In<double> strength) {
    size_t instances = slot_ptr.size() - 1;
    Buffer<double> paths(strength.size());
    {
        nb::gil_scoped_release release;
        std::copy_n(strength.data(), strength.size(), paths.get());
        double *path = paths.get();
        Interrupts interrupts;
        for (size_t q = 0; q < instances; ++q) {
            size_t m = static_cast<size_t>(slot_ptr.data()[q + 1] - slot_ptr.data()[q]);
            interrupts.poll(m * m * m);
            m < WORTH_SORTING ? widen_paths(path, m) : connect_paths(path, m);
            for (size_t i = 0; i < m; ++i) path[i * m + i] = 0;
            path += m * m;
        }
    }
    return paths.give();
}

// ---- locked pairs (ranked pairs) -------------------------------------------------------------------------------

// Lock the pairs of one group, which have no order among themselves: those that contradict earlier groups are left
// out, and so are those that contradict each other. Returns how many contradict each other.
int64_t lock_group(Order &order, std::vector<Link> &links) {
    auto is_settled = [&](const Link &l) { return order.has(l.loser, l.winner) || order.has(l.winner, l.loser); };
    links.erase(std::remove_if(links.begin(), links.end(), is_settled), links.end());
    if (links.size() < 2) {
        for (const Link &l : links) order.add(l.winner, l.loser);
        return 0;
    }
    Order together = order;
    for (const Link &l : links) together.add(l.winner, l.loser);
    int64_t dropped = 0;
    for (const Link &l : links) {
        if (together.has(l.loser, l.winner)) {
            ++dropped;
        } else {
            order.add(l.winner, l.loser);
        }
    }
    return dropped;
}

// Links of positive strength, the strongest first; of equal ones the one with less opposition, then with the higher
// level of its winner, then with the lower level of its loser.
LargeVector<Link> links_in_turn(const double *strength, const double *opposition, const int32_t *level, size_t m) {
    auto place = [&](size_t i) { return static_cast<uint64_t>(int64_t{level[i]} - INT32_MIN); };
    LargeVector<Link> links;
    links.reserve(m * m / 2);
    for (uint32_t i = 0; i < m; ++i)
        for (uint32_t j = 0; j < m; ++j)
            if (strength[i * m + j] > 0) links.push_back({(UINT32_MAX - place(i)) << 32 | place(j), i, j});
    sort_links(links);
    for (Link &l : links) l.key = rising(opposition[l.winner * m + l.loser]);
    sort_links(links);
    for (Link &l : links) l.key = falling(strength[l.winner * m + l.loser]);
    sort_links(links);
    return links;
}

nb::tuple lock_pairs(In<int64_t> slot_ptr, In<double> strength, In<double> opposition, In<int32_t> fallback) {
    size_t instances = slot_ptr.size() - 1, slots = static_cast<size_t>(slot_ptr.data()[instances]);
    Buffer<uint8_t> is_above(strength.size(), 0), is_contested(slots, 0);
    Buffer<int64_t> dropped(instances, 0);
    {
        nb::gil_scoped_release release;
        const double *power = strength.data(), *against = opposition.data();
        uint8_t *cell = is_above.get();
        std::vector<Link> group, possible;
        Interrupts interrupts;
        for (size_t q = 0; q < instances; ++q) {
            int64_t base = slot_ptr.data()[q];
            size_t m = static_cast<size_t>(slot_ptr.data()[q + 1] - base);
            const int32_t *level = fallback.data() + base;
            LargeVector<Link> links = links_in_turn(power, against, level, m);
            auto are_equal = [&](const Link &a, const Link &b) {
                return against[a.winner * m + a.loser] == against[b.winner * m + b.loser] &&
                       level[a.winner] == level[b.winner] && level[a.loser] == level[b.loser];
            };
            Order order(m);
            for (size_t k = 0, stop; k < links.size();) {
                interrupts.poll(m / 8);
                // Links that no stronger one contradicts: any of these that is not locked lost to an equal one.
                possible.clear();
                for (stop = k; stop < links.size() && links[stop].key == links[k].key; ++stop)
                    if (!order.has(links[stop].loser, links[stop].winner)) possible.push_back(links[stop]);
                while (k < stop) {
                    group.clear();
                    for (size_t first = k; k < stop && are_equal(links[k], links[first]); ++k)
                        group.push_back(links[k]);
                    dropped[q] += lock_group(order, group);
                }
                for (const Link &l : possible)
                    if (!order.has(l.winner, l.loser)) is_contested[base + l.winner] = is_contested[base + l.loser] = 1;
            }
            for (size_t i = 0; i < m; ++i)
                for (size_t j = 0; j < m; ++j) *cell++ = order.has(i, j);
            power += m * m;
            against += m * m;
        }
    }
    return nb::make_tuple(is_above.give(), dropped.give(), is_contested.give());
}

// ---- tiers of a partial order ----------------------------------------------------------------------------------

SIMD_CLONES void raise(int64_t *tier, const uint8_t *is_above, int64_t least, size_t m) {
    for (size_t j = 0; j < m; ++j) {
        int64_t raised = is_above[j] ? least : 0;
        tier[j] = tier[j] < raised ? raised : tier[j];
    }
}

// Whoever stands above a candidate has fewer above itself, so candidates are settled by how many stand above them.
Out<int64_t> order_tiers(In<int64_t> slot_ptr, In<uint8_t> is_above) {
    size_t instances = slot_ptr.size() - 1;
    Buffer<int64_t> tiers(static_cast<size_t>(slot_ptr.data()[instances]), 0);
    {
        nb::gil_scoped_release release;
        const uint8_t *cell = is_above.data();
        for (size_t q = 0; q < instances; ++q) {
            size_t m = static_cast<size_t>(slot_ptr.data()[q + 1] - slot_ptr.data()[q]);
            int64_t *tier = tiers.get() + slot_ptr.data()[q];
            std::vector<int64_t> n_above(m, 0);
            for (size_t i = 0; i < m; ++i)
                for (size_t j = 0; j < m; ++j) n_above[j] += cell[i * m + j] != 0;
            std::vector<size_t> turn(m);
            std::iota(turn.begin(), turn.end(), size_t{0});
            std::stable_sort(turn.begin(), turn.end(), [&](size_t a, size_t b) { return n_above[a] < n_above[b]; });
            for (size_t i : turn) raise(tier, cell + i * m, tier[i] + 1, m);
            cell += m * m;
        }
    }
    return tiers.give();
}

// ---- majority path (Condorcet fuse) ----------------------------------------------------------------------------

// Insert the candidates in the order given, each moving up as long as the majority prefers it to the one ahead: in the
// result nobody is beaten by the candidate right behind, whether majorities are transitive or not.
Out<int64_t> majority_path(In<int64_t> slot_ptr, In<double> margin, In<int64_t> start) {
    size_t instances = slot_ptr.size() - 1;
    Buffer<int64_t> path(start.size());
    {
        nb::gil_scoped_release release;
        std::copy_n(start.data(), start.size(), path.get());
        const double *matrix = margin.data();
        for (size_t q = 0; q < instances; ++q) {
            int64_t base = slot_ptr.data()[q];
            size_t m = static_cast<size_t>(slot_ptr.data()[q + 1] - base);
            int64_t *order = path.get() + base;
            for (size_t k = 1; k < m; ++k) {
                const double *row = matrix + static_cast<size_t>(order[k] - base) * m;
                size_t place = k;
                while (place && row[order[place - 1] - base] > 0) --place;
                std::rotate(order + place, order + k, order + k + 1);
            }
            matrix += m * m;
        }
    }
    return path.give();
}

// ---- instant runoff --------------------------------------------------------------------------------------------

class Runoff {
  public:
    Runoff(const Ballots &all, const int64_t *ballot, size_t n, int64_t base, size_t m)
        : all_(all), ballot_(ballot), n_(n), base_(base), m_(m), at_(n), is_in_(m, true), votes_(m) {
        for (size_t b = 0; b < n; ++b) {
            at_[b] = all.indptr[ballot[b]];
            tolerance_ += WEIGHT_TOLERANCE * all.weight[ballot[b]];
        }
    }

    // Fill the round in which each candidate goes out, and who was among the equally last: 1 if that was settled by
    // earlier rounds or the fallback, 2 if they went out together.
    void run(const int32_t *fallback, int32_t *round, uint8_t *tie) {
        bool changed = true;
        size_t left = m_;
        for (int32_t r = 0; left; ++r) {
            if (changed) count();
            std::vector<size_t> equal = fewest_votes(), out = last_placed(equal, fallback);
            if (equal.size() > out.size())
                for (size_t i : equal) tie[i] = std::max(tie[i], uint8_t{1});
            if (out.size() > 1)
                for (size_t i : out) tie[i] = 2;
            changed = false;
            for (size_t i : out) {
                round[i] = r;
                is_in_[i] = false;
                changed = changed || votes_[i] > 0;
            }
            left -= out.size();
        }
    }

  private:
    void count() {
        std::fill(votes_.begin(), votes_.end(), 0.0);
        for (size_t b = 0; b < n_; ++b) {
            int64_t ballot = ballot_[b], to = all_.indptr[ballot + 1];
            while (at_[b] < to) {
                int64_t stop = at_[b], in = 0;
                for (; stop < to && all_.tier[stop] == all_.tier[at_[b]]; ++stop) in += is_in_[item(stop)];
                if (stop == to && all_.is_open[ballot]) in = 0; // "the rest, order unsaid" is no vote
                if (in) {
                    double share = all_.weight[ballot] / static_cast<double>(in);
                    for (int64_t k = at_[b]; k < stop; ++k)
                        if (is_in_[item(k)]) votes_[item(k)] += share;
                    break;
                }
                at_[b] = stop;
            }
        }
        history_.push_back(votes_);
    }

    size_t item(int64_t entry) const { return static_cast<size_t>(all_.slot[entry] - base_); }

    std::vector<size_t> fewest_votes() const {
        std::vector<size_t> out;
        for (size_t i = 0; i < m_; ++i)
            if (is_in_[i]) out.push_back(i);
        keep_lowest(out, [&](size_t i) { return history_.back()[i]; }, tolerance_);
        return out;
    }

    // Of the candidates with the fewest votes: the fewest in earlier rounds, the latest first; the lowest fallback.
    std::vector<size_t> last_placed(std::vector<size_t> out, const int32_t *fallback) const {
        for (size_t h = history_.size() - 1; h-- && out.size() > 1;)
            keep_lowest(out, [&](size_t i) { return history_[h][i]; }, tolerance_);
        if (out.size() > 1) keep_lowest(out, [&](size_t i) { return static_cast<double>(fallback[i]); }, 0.0);
        return out;
    }

    template <typename F> static void keep_lowest(std::vector<size_t> &out, F value, double tolerance) {
        double lowest = value(out[0]);
        for (size_t i : out) lowest = std::min(lowest, value(i));
        out.erase(std::remove_if(out.begin(), out.end(), [&](size_t i) { return value(i) - lowest > tolerance; }),
                  out.end());
    }

    const Ballots &all_;
    const int64_t *ballot_;
    size_t n_;
    int64_t base_;
    size_t m_;
    std::vector<int64_t> at_;
    std::vector<char> is_in_;
    std::vector<double> votes_;
    std::vector<std::vector<double>> history_;
    double tolerance_ = 0;
};

nb::tuple runoff_rounds(BallotArrays ballots, In<int32_t> fallback) {
    Ballots all(ballots);
    Buffer<int32_t> round(all.slots, 0);
    Buffer<uint8_t> tie(all.slots, 0);
    {
        nb::gil_scoped_release release;
        Instances by_instance(all);
        for (size_t q = 0; q < all.instances; ++q) {
            int64_t base = all.slot_ptr[q], first = by_instance.from[q];
            Runoff runoff(all, by_instance.ballot.data() + first,
                          static_cast<size_t>(by_instance.from[q + 1] - first), base, all.candidates(q));
            runoff.run(fallback.data() + base, round.get() + base, tie.get() + base);
        }
    }
    return nb::make_tuple(round.give(), tie.give());
}

} // namespace

void bind_votes(nb::module_ &m) {
    m.def("strongest_paths", &strongest_paths, "slot_ptr"_a.noconvert(), "strength"_a.noconvert());
    m.def("lock_pairs", &lock_pairs, "slot_ptr"_a.noconvert(), "strength"_a.noconvert(), "opposition"_a.noconvert(),
          "fallback"_a.noconvert());
    m.def("order_tiers", &order_tiers, "slot_ptr"_a.noconvert(), "is_above"_a.noconvert());
    m.def("majority_path", &majority_path, "slot_ptr"_a.noconvert(), "margin"_a.noconvert(), "start"_a.noconvert());
    m.def("runoff_rounds", &runoff_rounds, "ballots"_a.noconvert(), "fallback"_a.noconvert());
}

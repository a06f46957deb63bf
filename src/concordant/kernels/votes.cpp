// Elections from pairwise majorities or by rounds: strongest paths, locked pairs, majority paths, runoffs.
#include "ballots.hpp"

#include <algorithm>

namespace {

// ---- strongest paths (Schulze) ---------------------------------------------------------------------------------

SIMD_CLONES void widen(double *row, const double *through, double link, size_t m) {
    for (size_t j = 0; j < m; ++j) {
        double width = link < through[j] ? link : through[j];
        row[j] = row[j] < width ? width : row[j];
    }
}

Out<double> strongest_paths(In<int64_t> slot_ptr, In<double> strength) {
    size_t instances = slot_ptr.size() - 1;
    Buffer<double> paths(strength.size());
    {
        nb::gil_scoped_release release;
        std::copy_n(strength.data(), strength.size(), paths.get());
        double *path = paths.get();
        for (size_t q = 0; q < instances; ++q) {
            size_t m = static_cast<size_t>(slot_ptr.data()[q + 1] - slot_ptr.data()[q]);
            for (size_t k = 0; k < m; ++k)
                for (size_t i = 0; i < m; ++i)
                    if (i != k && path[i * m + k] > 0) widen(path + i * m, path + k * m, path[i * m + k], m);
            for (size_t i = 0; i < m; ++i) path[i * m + i] = 0;
            path += m * m;
        }
    }
    return paths.give();
}

// ---- locked pairs (ranked pairs) -------------------------------------------------------------------------------

// Who stands above whom, closed under transitivity, as one bit set of lower candidates per candidate.
class Order {
  public:
    explicit Order(size_t m) : m_(m), words_((m + 63) / 64), below_(m * words_, 0) {}
    bool has(size_t upper, size_t lower) const { return below_[upper * words_ + lower / 64] >> (lower % 64) & 1; }
    void add(size_t upper, size_t lower) {
        if (has(upper, lower)) return;
        std::vector<uint64_t> gained(below_.begin() + static_cast<std::ptrdiff_t>(lower * words_),
                                     below_.begin() + static_cast<std::ptrdiff_t>((lower + 1) * words_));
        gained[lower / 64] |= uint64_t{1} << (lower % 64);
        for (size_t x = 0; x < m_; ++x)
            if (x == upper || has(x, upper))
                for (size_t w = 0; w < words_; ++w) below_[x * words_ + w] |= gained[w];
    }

  private:
    size_t m_, words_;
    std::vector<uint64_t> below_;
};

struct Link {
    double strength, opposition;
    int32_t winner_level, loser_level;
    uint32_t winner, loser;

    bool same_place(const Link &other) const {
        return strength == other.strength && opposition == other.opposition && winner_level == other.winner_level &&
               loser_level == other.loser_level;
    }
    bool operator<(const Link &other) const {
        if (strength != other.strength) return strength > other.strength;
        if (opposition != other.opposition) return opposition < other.opposition;
        if (winner_level != other.winner_level) return winner_level > other.winner_level;
        return loser_level < other.loser_level;
    }
};

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

nb::tuple lock_pairs(In<int64_t> slot_ptr, In<double> strength, In<double> opposition, In<int32_t> fallback) {
    size_t instances = slot_ptr.size() - 1, slots = static_cast<size_t>(slot_ptr.data()[instances]);
    Buffer<uint8_t> is_above(strength.size(), 0), is_contested(slots, 0);
    Buffer<int64_t> dropped(instances, 0);
    {
        nb::gil_scoped_release release;
        const double *power = strength.data(), *against = opposition.data();
        uint8_t *cell = is_above.get();
        std::vector<Link> links, group;
        for (size_t q = 0; q < instances; ++q) {
            int64_t base = slot_ptr.data()[q];
            size_t m = static_cast<size_t>(slot_ptr.data()[q + 1] - base);
            const int32_t *level = fallback.data() + base;
            links.clear();
            for (size_t i = 0; i < m; ++i)
                for (size_t j = 0; j < m; ++j, ++power, ++against)
                    if (*power > 0)
                        links.push_back({*power, *against, level[i], level[j], static_cast<uint32_t>(i),
                                         static_cast<uint32_t>(j)});
            std::sort(links.begin(), links.end());
            Order order(m);
            for (size_t k = 0, stop; k < links.size();) {
                // Links that no stronger one contradicts: any of these that is not locked lost to an equal one.
                std::vector<Link> possible;
                for (stop = k; stop < links.size() && links[stop].strength == links[k].strength; ++stop)
                    if (!order.has(links[stop].loser, links[stop].winner)) possible.push_back(links[stop]);
                while (k < stop) {
                    group.clear();
                    for (size_t first = k; k < stop && links[k].same_place(links[first]); ++k)
                        group.push_back(links[k]);
                    dropped[q] += lock_group(order, group);
                }
                for (const Link &l : possible)
                    if (!order.has(l.winner, l.loser)) is_contested[base + l.winner] = is_contested[base + l.loser] = 1;
            }
            for (size_t i = 0; i < m; ++i)
                for (size_t j = 0; j < m; ++j) *cell++ = order.has(i, j);
        }
    }
    return nb::make_tuple(is_above.give(), dropped.give(), is_contested.give());
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

nb::tuple runoff_rounds(In<int64_t> slot_ptr, In<int32_t> instance_of_ballot, In<int64_t> indptr,
                        In<int64_t> entry_slot, In<int32_t> tier, In<double> weight, In<uint8_t> is_open,
                        In<int32_t> fallback) {
    size_t instances = slot_ptr.size() - 1;
    size_t slots = static_cast<size_t>(slot_ptr.data()[instances]);
    Buffer<int32_t> round(slots, 0);
    Buffer<uint8_t> tie(slots, 0);
    {
        nb::gil_scoped_release release;
        Instances by_instance(instance_of_ballot.data(), instance_of_ballot.size(), instances);
        Ballots all{indptr.data(), entry_slot.data(), tier.data(), weight.data(), is_open.data()};
        for (size_t q = 0; q < instances; ++q) {
            int64_t base = slot_ptr.data()[q], first = by_instance.from[q];
            Runoff runoff(all, by_instance.ballot.data() + first,
                          static_cast<size_t>(by_instance.from[q + 1] - first), base,
                          static_cast<size_t>(slot_ptr.data()[q + 1] - base));
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
    m.def("majority_path", &majority_path, "slot_ptr"_a.noconvert(), "margin"_a.noconvert(), "start"_a.noconvert());
    m.def("runoff_rounds", &runoff_rounds, "slot_ptr"_a.noconvert(), "instance_of_ballot"_a.noconvert(),
          "indptr"_a.noconvert(), "entry_slot"_a.noconvert(), "tier"_a.noconvert(), "weight"_a.noconvert(),
          "is_open"_a.noconvert(), "fallback"_a.noconvert());
}

// Local search for consensus rankings: move one item at a time to the place where it costs least, until no move helps;
// then shake the ranking by a few random moves and try again, keeping the best.
//
// Problems and costs are laid out as in search.cpp. The random numbers come from the caller, the same for every problem,
// so a problem is solved alike alone and among others.
#include "search.hpp"

#include <limits>

namespace {

size_t pick(double uniform, size_t n) { return std::min(static_cast<size_t>(uniform * static_cast<double>(n)), n - 1); }

// ---- without ties ----------------------------------------------------------------------------------------------

// A margin is what it costs more to put row before column than after it.
template <typename Cost> std::vector<Cost> margins(size_t m, const double *before) {
    constexpr size_t side = 32;
    std::vector<Cost> margin(m * m);
    for (size_t row = 0; row < m; row += side)
        for (size_t column = 0; column < m; column += side)
            for (size_t i = row; i < std::min(row + side, m); ++i)
                for (size_t j = column; j < std::min(column + side, m); ++j)
                    margin[i * m + j] = static_cast<Cost>(before[i * m + j] - before[j * m + i]);
    return margin;
}

// A short order, as an array: the best place of an item is found by passing all others.
class ShortSearch {
  public:
    ShortSearch(size_t size, const double *before, const int64_t *order)
        : m_(size), margin_(margins<double>(size, before)), order_(order, order + size) {}

    std::vector<int64_t> order() const { return {order_.begin(), order_.end()}; }
    const std::vector<uint32_t> &state() const { return order_; }
    void restore(const std::vector<uint32_t> &old) { order_ = old; }
    void even_out() {}

    // Move the item at one place to another; return by how much the cost rises.
    double displace(size_t from, size_t to) {
        uint32_t item = order_[from];
        const double *row = margin_.data() + item * m_;
        double change = 0;
        for (; from > to; --from) {
            order_[from] = order_[from - 1];
            change += row[order_[from]];
        }
        for (; from < to; ++from) {
            order_[from] = order_[from + 1];
            change -= row[order_[from]];
        }
        order_[to] = item;
        return change;
    }
    double improve() {
        double change = 0;
        for (size_t quiet = 0, place = 0; quiet < m_; place = place + 1 < m_ ? place + 1 : 0) {
            size_t to = best_place(place);
            if (to == place) {
                ++quiet;
            } else {
                change += displace(place, to);
                quiet = 0;
            }
        }
        return change;
    }

  private:
    size_t m_;
    std::vector<double> margin_;
    std::vector<uint32_t> order_;

    // The best place of the item at a place.
    size_t best_place(size_t from) const {
        const uint32_t *order = order_.data();
        const double *row = margin_.data() + order[from] * m_;
        double change = 0, best = 0;
        size_t place = from;
        for (size_t k = from; k--;) {
            change += row[order[k]];
            if (change < best) best = change, place = k;
        }
        change = 0;
        for (size_t k = from + 1; k < m_; ++k) {
            change -= row[order[k]];
            if (change < best) best = change, place = k;
        }
        return place;
    }
};

// A long order, held as a chain of short buckets. For every item and bucket there is a summary: what passing the whole bucket
// costs the item, and the least it costs on the way. So the best place of an item is found from the summaries, of which
// only those of buckets that changed since the item was last looked at are made anew.
template <typename Cost, typename Sum> class LongSearch {
    using Bucket = std::vector<uint32_t>;

  public:
    LongSearch(size_t size, const double *before, const int64_t *order)
        : m_(size), margin_(margins<Cost>(size, before)), bucket_((size + LENGTH - 1) / LENGTH), home_(size), seen_(size, 0),
          changed_(bucket_.size(), 0), passing_(size * bucket_.size()) {
        lay_out({order, order + m_});
    }

    std::vector<int64_t> order() const {
        std::vector<int64_t> all;
        for (const Bucket &bucket : bucket_) all.insert(all.end(), bucket.begin(), bucket.end());
        return all;
    }
    const std::vector<Bucket> &state() const { return bucket_; }
    void restore(const std::vector<Bucket> &old) {
        ++clock_;
        for (size_t b = 0; b < bucket_.size(); ++b) {
            if (bucket_[b] == old[b]) continue;
            bucket_[b] = old[b];
            changed_[b] = clock_;
            for (uint32_t item : bucket_[b]) home_[item] = static_cast<uint32_t>(b);
        }
    }
    void even_out() {
        for (const Bucket &bucket : bucket_)
            if (bucket.size() > 2 * LENGTH) return lay_out(order());
    }
    // Move the item at one place to another; return by how much the cost rises.
    Sum displace(size_t from, size_t to) {
        if (from == to) return 0;
        Place start = at(from), end = at(to);
        uint32_t item = bucket_[start.bucket][start.index];
        const Cost *margin = row(item);
        bool up = to < from;
        Place low = up ? end : start, high = up ? start : end; // the item itself, at one end, costs nothing
        Sum passed = 0;
        for (size_t b = low.bucket; b <= high.bucket; ++b) {
            size_t first = b == low.bucket ? low.index : 0, last = b == high.bucket ? high.index + 1 : bucket_[b].size();
            for (size_t k = first; k < last; ++k) passed += margin[bucket_[b][k]];
        }
        Sum change = up ? passed : -passed;
        take_out(start);
        if (to > from && start.bucket != end.bucket) ++end.index;
        put_in(item, end);
        return change;
    }
    double improve() {
        double total = 0;
        Place here = {0, 0};
        for (size_t quiet = 0, place = 0; quiet < m_;) {
            while (here.index >= bucket_[here.bucket].size()) here = {here.bucket + 1, 0};
            Sum change = settle(here);
            total += static_cast<double>(change);
            quiet = change == 0 ? quiet + 1 : 0;
            place = place + 1 < m_ ? place + 1 : 0;
            if (change == 0 && place) ++here.index;
            else here = at(place);
        }
        return total;
    }

  private:
    struct Passing {
        Sum whole, up, down; // the cost of passing all upwards (downwards: minus that); the least on the way up, and down
    };
    struct Place {
        size_t bucket, index;
    };
    static constexpr size_t LENGTH = 32;
    static constexpr Sum NEVER = std::numeric_limits<Sum>::max() / 2;

    size_t m_;
    std::vector<Cost> margin_;
    std::vector<Bucket> bucket_;
    std::vector<uint32_t> home_;           // the bucket of every item
    std::vector<uint64_t> seen_, changed_; // when an item was last looked at, when a bucket last changed
    std::vector<Passing> passing_;
    uint64_t clock_ = 0;

    const Cost *row(size_t item) const { return margin_.data() + item * m_; }

    void lay_out(const std::vector<int64_t> &order) {
        for (Bucket &bucket : bucket_) bucket.clear();
        for (size_t k = 0; k < m_; ++k) {
            home_[static_cast<size_t>(order[k])] = static_cast<uint32_t>(k / LENGTH);
            bucket_[k / LENGTH].push_back(static_cast<uint32_t>(order[k]));
        }
        std::fill(changed_.begin(), changed_.end(), ++clock_);
    }

    Place at(size_t place) const {
        size_t b = 0;
        for (; place >= bucket_[b].size(); ++b) place -= bucket_[b].size();
        return {b, place};
    }
    void take_out(Place from) {
        Bucket &bucket = bucket_[from.bucket];
        bucket.erase(bucket.begin() + static_cast<std::ptrdiff_t>(from.index));
        changed_[from.bucket] = ++clock_;
    }
    void put_in(uint32_t item, Place to) {
        Bucket &bucket = bucket_[to.bucket];
        bucket.insert(bucket.begin() + static_cast<std::ptrdiff_t>(to.index), item);
        home_[item] = static_cast<uint32_t>(to.bucket);
        changed_[to.bucket] = ++clock_;
    }

    // With P the sums of margins from the first of a bucket on: down the cost falls by P, up it is the whole less P.
    void refresh(size_t item) {
        const Cost *margin = row(item);
        Passing *passing = passing_.data() + item * bucket_.size();
        for (size_t b = 0; b < bucket_.size(); ++b) {
            if (changed_[b] <= seen_[item]) continue;
            Sum sum = 0, most = -NEVER;
            const Bucket &bucket = bucket_[b];
            if (bucket.empty()) {
                passing[b] = {0, NEVER, NEVER};
                continue;
            }
            for (size_t k = 0; k + 1 < bucket.size(); ++k) {
                sum += margin[bucket[k]];
                most = std::max(most, sum);
            }
            sum += margin[bucket.back()];
            passing[b] = {sum, sum - std::max(most, Sum{0}), -std::max(most, sum)};
        }
        seen_[item] = clock_;
    }

    // Move the item at a place where it costs least; return by how much the cost rises, 0 where it stays.
    Sum settle(Place from) {
        const Bucket &own = bucket_[from.bucket];
        uint32_t item = own[from.index];
        const Cost *margin = row(item);
        refresh(item);
        bool is_far = false;
        const Passing *passing = passing_.data() + item * bucket_.size();
        Sum best = 0, change = 0, before = 0; // before: the cost of reaching the bucket of the best place
        Place to = from;
        for (size_t k = from.index; k--;) {
            change += margin[own[k]];
            if (change < best) best = change, to.index = k;
        }
        for (size_t b = from.bucket; b--;) {
            if (change + passing[b].up < best) best = change + passing[b].up, to.bucket = b, before = change, is_far = true;
            change += passing[b].whole;
        }
        change = 0;
        for (size_t k = from.index + 1; k < own.size(); ++k) {
            change -= margin[own[k]];
            if (change < best) best = change, to = {from.bucket, k}, is_far = false;
        }
        for (size_t b = from.bucket + 1; b < bucket_.size(); ++b) {
            if (change + passing[b].down < best)
                best = change + passing[b].down, to.bucket = b, before = change, is_far = true;
            change -= passing[b].whole;
        }
        if (best == 0) return 0;
        if (is_far) {
            const Bucket &there = bucket_[to.bucket];
            bool up = to.bucket < from.bucket;
            size_t k = up ? there.size() - 1 : 0;
            for (;; up ? --k : ++k) {
                before += up ? margin[there[k]] : -margin[there[k]];
                if (before == best) break;
            }
            to.index = up ? k : k + 1; // downwards: behind the last one passed
        }
        take_out(from);
        put_in(item, to);
        return best;
    }
};

constexpr size_t SHORT = 64; // items up to which passing all is faster

// Shake and improve as often as there are rows of draws; an equal ranking replaces the old one, to keep moving.
template <typename Search>
void search_one(size_t m, const double *before, const int64_t *order, const In2<double> &draw, int64_t *result) {
    Search search(m, before, order);
    search.improve();
    auto best = search.state();
    Interrupts interrupts;
    for (size_t r = 0; r < draw.shape(0) && m > 2; ++r) {
        double change = 0;
        const double *row = draw.data() + r * draw.shape(1);
        interrupts.poll(m * m);
        for (size_t k = 0; k + 1 < draw.shape(1); k += 2) change += search.displace(pick(row[k], m), pick(row[k + 1], m));
        change += search.improve();
        if (change > 0) {
            search.restore(best);
        } else {
            search.even_out();
            best = search.state();
        }
    }
    std::vector<int64_t> found = search.order();
    std::copy(found.begin(), found.end(), result);
}

Out<int64_t> search_orders(In<int64_t> ptr, In<double> before, In<int64_t> order, In2<double> draw) {
    Buffer<int64_t> result(order.size());
    {
        nb::gil_scoped_release release;
        for_each_problem(ptr.data(), ptr.size() - 1, 4 * (draw.shape(0) + 1), [&](size_t, size_t base, size_t m, size_t at) {
            bool small = m > SHORT && m < 30000 && are_whole(before.data() + at, m * m, std::numeric_limits<int16_t>::max() / 2);
            auto search = small ? search_one<LongSearch<int16_t, int32_t>> : search_one<LongSearch<double, double>>;
            if (m <= SHORT) search = search_one<ShortSearch>;
            search(m, before.data() + at, order.data() + base, draw, result.get() + base);
        });
    }
    return result.give();
}

// ---- with ties -------------------------------------------------------------------------------------------------

class WeakSearch {
  public:
    WeakSearch(size_t size, const double *before, const double *tied, const int64_t *tier)
        : m_(size), before_(before), tied_(tied), tier_(tier, tier + size), ahead_(size + 1), behind_(size + 1),
          level_(size + 1), after_(size * size) {
        for (size_t i = 0; i < m_; ++i)
            for (size_t j = 0; j < m_; ++j) after_[i * m_ + j] = before[j * m_ + i];
        count_ = 0;
        for (int64_t t : tier_) count_ = std::max(count_, static_cast<size_t>(t) + 1);
    }

    void run(const double *draw, size_t rounds, size_t width) {
        improve();
        std::vector<int64_t> best = tier_;
        size_t best_count = count_;
        Interrupts interrupts;
        for (size_t r = 0; r < rounds && m_ > 2; ++r) {
            double change = 0;
            interrupts.poll(m_ * m_);
            for (size_t k = 0; k + 1 < width; k += 2) {
                size_t item = pick(draw[r * width + k], m_);
                weigh(item);
                size_t place = pick(draw[r * width + k + 1], 2 * count_ + 1);
                change += cost(place) - cost(current(item));
                put(item, place);
            }
            change += improve();
            if (change <= 0) {
                best = tier_, best_count = count_;
            } else {
                tier_ = best, count_ = best_count;
            }
        }
        tier_ = best;
    }
    const std::vector<int64_t> &tier() const { return tier_; }

  private:
    size_t m_, count_;
    const double *before_, *tied_;
    std::vector<int64_t> tier_;
    std::vector<double> ahead_, behind_, level_, after_;

    // Places of an item: 2t is a tier of its own in front of tier t, 2t + 1 is tier t itself.
    size_t current(size_t item) const { return 2 * static_cast<size_t>(tier_[item]) + 1; }

    // ahead_[t]: cost of the item with the tiers from t on if it is in front of them; behind_[t]: with those before t.
    void weigh(size_t item) {
        std::fill_n(ahead_.begin(), count_ + 1, 0.0);
        std::fill_n(behind_.begin(), count_ + 1, 0.0);
        std::fill_n(level_.begin(), count_ + 1, 0.0);
        const double *before = before_ + item * m_, *after = after_.data() + item * m_, *tied = tied_ + item * m_;
        for (size_t other = 0; other < m_; ++other) {
            if (other == item) continue;
            size_t t = static_cast<size_t>(tier_[other]);
            ahead_[t] += before[other];
            behind_[t + 1] += after[other];
            level_[t] += tied[other];
        }
        for (size_t t = count_; t--;) ahead_[t] += ahead_[t + 1];
        for (size_t t = 1; t <= count_; ++t) behind_[t] += behind_[t - 1];
    }
    double cost(size_t place) const {
        size_t t = place / 2;
        return behind_[t] + (place % 2 ? level_[t] + ahead_[t + 1] : ahead_[t]);
    }

    void put(size_t item, size_t place) {
        int64_t old = tier_[item], target = static_cast<int64_t>(place / 2);
        bool was_alone = true;
        for (size_t other = 0; other < m_; ++other) was_alone = was_alone && (other == item || tier_[other] != old);
        if (place % 2 == 0) {
            for (int64_t &t : tier_) t += t >= target;
            if (old >= target) ++old;
            ++count_;
        }
        tier_[item] = target;
        if (was_alone && old != target) {
            for (int64_t &t : tier_) t -= t > old;
            --count_;
        }
    }

    double improve() {
        double change = 0;
        for (size_t quiet = 0, item = 0; quiet < m_; item = item + 1 < m_ ? item + 1 : 0) {
            weigh(item);
            size_t here = current(item), place = here;
            double least = cost(here);
            for (size_t p = 0; p <= 2 * count_; ++p)
                if (cost(p) < least) least = cost(p), place = p;
            if (place == here) {
                ++quiet;
            } else {
                change += least - cost(here);
                put(item, place);
                quiet = 0;
            }
        }
        return change;
    }
};

Out<int64_t> search_weak_orders(In<int64_t> ptr, In<double> before, In<double> tied, In<int64_t> tier,
                                In2<double> draw) {
    size_t problems = ptr.size() - 1, rounds = draw.shape(0), width = draw.shape(1);
    Buffer<int64_t> result(tier.size());
    {
        nb::gil_scoped_release release;
        for_each_problem(ptr.data(), problems, 8 * (rounds + 1), [&](size_t, size_t base, size_t m, size_t at) {
            WeakSearch search(m, before.data() + at, tied.data() + at, tier.data() + base);
            search.run(draw.data(), rounds, width);
            std::copy(search.tier().begin(), search.tier().end(), result.get() + base);
        });
    }
    return result.give();
}

} // namespace

void bind_local(nb::module_ &m) {
    m.def("search_orders", &search_orders, "ptr"_a.noconvert(), "before"_a.noconvert(), "order"_a.noconvert(),
          "draw"_a.noconvert());
    m.def("search_weak_orders", &search_weak_orders, "ptr"_a.noconvert(), "before"_a.noconvert(),
          "tied"_a.noconvert(), "tier"_a.noconvert(), "draw"_a.noconvert());
}

// Local search for consensus rankings: move one item at a time to the place where it costs least, until no move helps;
// then shake the ranking by a few random moves and try again, keeping the best.
//
// Problems and costs are laid out as in search.cpp. The random numbers come from the caller, the same for every problem,
// so a problem is solved alike alone and among others.
#include "search.hpp"

#include <numeric>

namespace {

size_t pick(double uniform, size_t n) { return std::min(static_cast<size_t>(uniform * static_cast<double>(n)), n - 1); }

// ---- without ties ----------------------------------------------------------------------------------------------

class OrderSearch {
  public:
    OrderSearch(size_t size, const double *before, const int64_t *order) : m_(size), margin_(size * size), order_(order, order + size) {
        for (size_t i = 0; i < m_; ++i)
            for (size_t j = 0; j < m_; ++j) margin_[i * m_ + j] = before[i * m_ + j] - before[j * m_ + i];
    }

    // Shake and improve as often as there are rows of draws; an equal ranking replaces the old one, to keep moving.
    void run(const double *draw, size_t rounds, size_t width) {
        improve();
        std::vector<int64_t> best = order_;
        for (size_t r = 0; r < rounds && m_ > 2; ++r) {
            double change = 0;
            for (size_t k = 0; k + 1 < width; k += 2)
                change += move(pick(draw[r * width + k], m_), pick(draw[r * width + k + 1], m_));
            change += improve();
            if (change <= 0) best = order_;
            else order_ = best;
        }
        order_ = best;
    }
    const std::vector<int64_t> &order() const { return order_; }

  private:
    size_t m_;
    std::vector<double> margin_; // what it costs more to put row before column than after it
    std::vector<int64_t> order_;

    // Move the item at one place to another; return by how much the cost rises.
    double move(size_t from, size_t to) {
        int64_t item = order_[from];
        const double *row = margin_.data() + static_cast<size_t>(item) * m_;
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

    // The best place of the item at a place.
    size_t best_place(size_t from) const {
        const double *row = margin_.data() + static_cast<size_t>(order_[from]) * m_;
        const int64_t *order = order_.data();
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

    double improve() {
        double change = 0;
        for (size_t quiet = 0, place = 0; quiet < m_; place = place + 1 < m_ ? place + 1 : 0) {
            size_t to = best_place(place);
            if (to == place) {
                ++quiet;
            } else {
                change += move(place, to);
                quiet = 0;
            }
        }
        return change;
    }
};

Out<int64_t> search_orders(In<int64_t> ptr, In<double> before, In<int64_t> order, In2<double> draw) {
    size_t problems = ptr.size() - 1, rounds = draw.shape(0), width = draw.shape(1);
    Buffer<int64_t> result(order.size());
    {
        nb::gil_scoped_release release;
        for_each_problem(ptr.data(), problems, 4 * (rounds + 1), [&](size_t, size_t base, size_t m, size_t at) {
            OrderSearch search(m, before.data() + at, order.data() + base);
            search.run(draw.data(), rounds, width);
            std::copy(search.order().begin(), search.order().end(), result.get() + base);
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
        for (size_t r = 0; r < rounds && m_ > 2; ++r) {
            double change = 0;
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

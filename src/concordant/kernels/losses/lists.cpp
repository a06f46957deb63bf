// List losses: stagewise choice from what remains (ListMLE, ordered partitions by arithmetic mean) and ListNet.
//
// At every stage of a query a tier X is chosen from all objects R not yet chosen. With worth = exp(score) its loss is
//     a (log sum of worths in R - log sum of worths in X),    a = weight of the query times factor of the stage.
// One pass from the last tier to the first gives the sums over R, one pass forwards the gradient: linear time.
// Worths are relative to the best of the query; where scores lie too far apart for that, sums are kept as logarithms.
#include "tiered.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace {

constexpr double WIDE = 300;                    // scores further apart than this are worked on as logarithms
constexpr double LARGE = 1e140, SMALL = 1e-140; // one more factor of at least e^-300 keeps a product in range

// The objects of one query, by decreasing label. Without tiers every object is a tier of its own.
struct List {
    const double *score;
    const int32_t *tier;
    size_t n;
    double weight;
    const double *factor = nullptr; // by stage, beside the weight; null: all 1

    size_t end_of_tier(size_t k) const {
        size_t end = k + 1;
        if (tier)
            while (end < n && tier[end] == tier[k]) ++end;
        return end;
    }
    size_t stages() const {
        size_t count = 0;
        for (size_t k = 0; k < n; k = end_of_tier(k)) ++count;
        return count;
    }
    double stage_weight(size_t stage) const { return factor ? weight * factor[stage] : weight; }
};

bool is_wide(Span span) { return !(span.width() < WIDE); }

// worth = exp(score - best score); returns their sum.
double fill_worths(const double *score, size_t n, Span span, double *worth) {
    for (size_t k = 0; k < n; ++k) worth[k] = score[k] - span.high;
    exponentials(worth, n, span.low - span.high);
    double total = 0;
    for (size_t k = 0; k < n; ++k) total += worth[k];
    return total;
}

double log_sum(const double *score, size_t n) {
    double high = *std::max_element(score, score + n), total = 0;
    for (size_t k = 0; k < n; ++k) total += std::exp(score[k] - high);
    return high + std::log(total);
}

double log_add(double a, double b) {
    double high = std::max(a, b);
    return high + std::log1p(std::exp(std::min(a, b) - high));
}

// One stage: the tier [from, to), its weight, the sum of the worths of the tier and of all that remain. `chosen_mean`
// and `remaining_mean` are means of a direction under those worths, for second derivatives.
struct Stage {
    size_t from, to;
    double weight, chosen, remaining, chosen_mean, remaining_mean;
};

class Stages {
  public:
    explicit Stages(size_t longest) : worth(longest), tail(longest) {}

    // Value and gradient of one query.
    double evaluate(const List &list, double *gradient) {
        if (list.n < 2) {
            std::fill(gradient, gradient + list.n, 0.0);
            return 0;
        }
        Span span = span_of(list.score, list.n);
        if (is_wide(span)) return evaluate_wide(list, gradient);
        fill_worths(list.score, list.n, span, worth.data());
        return list.tier ? evaluate_tiers(list, gradient) : evaluate_strict(list, span.high, gradient);
    }

    // The second derivative of one query times a direction.
    void hessian_product(const List &list, const double *direction, double *product) {
        std::fill(product, product + list.n, 0.0);
        if (list.n < 2) return;
        Span span = span_of(list.score, list.n);
        if (is_wide(span)) return hessian_product_wide(list, direction, product);
        fill_worths(list.score, list.n, span, worth.data());
        sum_stages(list, direction);
        double first = 0, second = 0; // sums over the stages so far of a / R and of a mean / R
        for (const Stage &stage : stages) {
            first += stage.weight / stage.remaining;
            second += stage.weight * stage.remaining_mean / stage.remaining;
            double own = stage.weight / stage.chosen;
            for (size_t k = stage.from; k < stage.to; ++k)
                product[k] = worth[k] * (first * direction[k] - second - own * (direction[k] - stage.chosen_mean));
        }
    }

  private:
    // Every object a tier of its own: its own term is its score, so one logarithm serves many stages.
    double evaluate_strict(const List &list, double high, double *gradient) {
        size_t last = list.n - 1;
        double total = 0, value = 0, product = 1, so_far = 0;
        for (size_t k = list.n; k-- > 0;) tail[k] = total += worth[k];
        for (size_t k = 0; k < last; ++k) {
            value -= list.score[k] - high;
            product *= tail[k];
            if (product > LARGE || product < SMALL) {
                value += std::log(product);
                product = 1;
            }
        }
        for (size_t k = 0; k < last; ++k) tail[k] = list.weight / tail[k];
        for (size_t k = 0; k < last; ++k) gradient[k] = worth[k] * (so_far += tail[k]) - list.weight;
        gradient[last] = worth[last] * so_far;
        return list.weight * (value + std::log(product));
    }

    double evaluate_tiers(const List &list, double *gradient) {
        sum_stages(list, nullptr);
        double value = 0, rate = 0;
        for (const Stage &stage : stages) {
            rate += stage.weight / stage.remaining;
            if (stage.to < list.n) value += stage.weight * std::log(stage.remaining / stage.chosen);
            double slope = rate - stage.weight / stage.chosen;
            for (size_t k = stage.from; k < stage.to; ++k) gradient[k] = worth[k] * slope;
        }
        return value;
    }

    // Sums of worths per stage, and means of a direction if there is one.
    void sum_stages(const List &list, const double *direction) {
        stages.clear();
        for (size_t k = 0; k < list.n;) {
            size_t end = list.end_of_tier(k);
            double total = 0, moment = 0;
            for (size_t i = k; i < end; ++i) total += worth[i];
            if (direction)
                for (size_t i = k; i < end; ++i) moment += worth[i] * direction[i];
            stages.push_back({k, end, list.stage_weight(stages.size()), total, 0, moment / total, 0});
            k = end;
        }
        double total = 0, moment = 0;
        for (size_t s = stages.size(); s-- > 0;) {
            Stage &stage = stages[s];
            stage.remaining = total += stage.chosen;
            stage.remaining_mean = (moment += stage.chosen * stage.chosen_mean) / total;
        }
    }

    // The same with logarithms of sums. What remains shrinks from stage to stage, so factors stay below one.
    double evaluate_wide(const List &list, double *gradient) {
        sum_stages_wide(list, nullptr);
        double value = 0, rate = 0, before = stages[0].remaining;
        for (const Stage &stage : stages) {
            rate = rate * std::exp(stage.remaining - before) + stage.weight;
            before = stage.remaining;
            if (stage.to < list.n) value += stage.weight * (stage.remaining - stage.chosen);
            for (size_t k = stage.from; k < stage.to; ++k)
                gradient[k] = rate * std::exp(list.score[k] - stage.remaining) -
                              stage.weight * std::exp(list.score[k] - stage.chosen);
        }
        return value;
    }

    void hessian_product_wide(const List &list, const double *direction, double *product) {
        sum_stages_wide(list, direction);
        double first = 0, second = 0, before = stages[0].remaining;
        for (const Stage &stage : stages) {
            double shrunk = std::exp(stage.remaining - before);
            first = first * shrunk + stage.weight;
            second = second * shrunk + stage.weight * stage.remaining_mean;
            before = stage.remaining;
            for (size_t k = stage.from; k < stage.to; ++k)
                product[k] = std::exp(list.score[k] - stage.remaining) * (first * direction[k] - second) -
                             stage.weight * std::exp(list.score[k] - stage.chosen) * (direction[k] - stage.chosen_mean);
        }
    }

    void sum_stages_wide(const List &list, const double *direction) {
        stages.clear();
        for (size_t k = 0; k < list.n;) {
            size_t end = list.end_of_tier(k);
            double total = log_sum(list.score + k, end - k), mean = 0;
            if (direction)
                for (size_t i = k; i < end; ++i) mean += std::exp(list.score[i] - total) * direction[i];
            stages.push_back({k, end, list.stage_weight(stages.size()), total, total, mean, mean});
            k = end;
        }
        for (size_t s = stages.size() - 1; s-- > 0;) {
            const Stage &next = stages[s + 1];
            Stage &stage = stages[s];
            stage.remaining = log_add(stage.chosen, next.remaining);
            stage.remaining_mean = std::exp(stage.chosen - stage.remaining) * stage.chosen_mean +
                                   std::exp(next.remaining - stage.remaining) * next.remaining_mean;
        }
    }

    std::vector<double> worth, tail;
    std::vector<Stage> stages;
};

// The objects of every tier by decreasing score: the likeliest of the orders that agree with the labels.
class BestOrder {
  public:
    explicit BestOrder(size_t longest) : order(longest), score(longest), direction(longest), result(longest) {}

    List sorted(const List &list) {
        std::iota(order.begin(), order.begin() + static_cast<long>(list.n), size_t{0});
        for (size_t k = 0; k < list.n;) {
            size_t end = list.end_of_tier(k);
            std::stable_sort(order.begin() + static_cast<long>(k), order.begin() + static_cast<long>(end),
                             [&](size_t a, size_t b) { return list.score[a] > list.score[b]; });
            k = end;
        }
        for (size_t k = 0; k < list.n; ++k) score[k] = list.score[order[k]];
        return {score.data(), nullptr, list.n, list.weight};
    }
    const double *sorted(const double *x, size_t n) {
        for (size_t k = 0; k < n; ++k) direction[k] = x[order[k]];
        return direction.data();
    }
    void give_back(double *out, size_t n) {
        for (size_t k = 0; k < n; ++k) out[order[k]] = result[k];
    }

  private:
    std::vector<size_t> order;
    std::vector<double> score, direction;

  public:
    std::vector<double> result;
};

// Every query in turn: where its positions begin, and its objects.
template <typename Each>
void for_each_list(const In<double> &scores, const In<int64_t> &ptr, const int32_t *tier, const In<double> &weight,
                   Each each) {
    for (size_t q = 0; q < weight.size(); ++q) {
        size_t from = static_cast<size_t>(ptr.data()[q]), n = static_cast<size_t>(ptr.data()[q + 1]) - from;
        each(q, from, List{scores.data() + from, tier ? tier + from : nullptr, n, weight.data()[q]});
    }
}

// The same with tied objects by decreasing score where `is_best`: each(list, given, out), `given` being numbers by
// position in that order, or nothing.
template <typename Each>
void for_each_order(const In<double> &scores, const In<int64_t> &ptr, const In<int32_t> &tier, const In<double> &weight,
                    bool is_best, const double *given, double *out, Each each) {
    BestOrder best(is_best ? largest_query(ptr) : 0);
    for_each_list(scores, ptr, is_best ? tier.data() : nullptr, weight, [&](size_t, size_t from, List list) {
        const double *own = given ? given + from : nullptr;
        if (!is_best) return each(list, own, out + from);
        List sorted = best.sorted(list);
        each(sorted, own ? best.sorted(own, list.n) : nullptr, best.result.data());
        best.give_back(out + from, list.n);
    });
}

nb::tuple list_mle(In<double> scores, In<int64_t> ptr, In<int32_t> tier, In<double> weight, bool is_best) {
    Buffer<double> gradient(scores.size());
    double value = 0;
    {
        nb::gil_scoped_release release;
        Stages stages(largest_query(ptr));
        for_each_order(scores, ptr, tier, weight, is_best, nullptr, gradient.get(),
                       [&](const List &list, const double *, double *out) { value += stages.evaluate(list, out); });
    }
    return nb::make_tuple(value, gradient.give());
}

Out<double> list_mle_hessian_product(In<double> scores, In<int64_t> ptr, In<int32_t> tier, In<double> weight,
                                     bool is_best, In<double> direction) {
    Buffer<double> product(scores.size());
    {
        nb::gil_scoped_release release;
        Stages stages(largest_query(ptr));
        for_each_order(scores, ptr, tier, weight, is_best, direction.data(), product.get(),
                       [&](const List &list, const double *along, double *out) {
                           stages.hessian_product(list, along, out);
                       });
    }
    return product.give();
}

nb::tuple mean_partitions(In<double> scores, In<int64_t> ptr, In<int32_t> tier, In<double> factor, In<double> weight) {
    Buffer<double> gradient(scores.size()), loss(weight.size());
    {
        nb::gil_scoped_release release;
        Stages stages(largest_query(ptr));
        const double *next = factor.size() ? factor.data() : nullptr;
        for_each_list(scores, ptr, tier.data(), weight, [&](size_t q, size_t from, List list) {
            list.factor = next;
            loss[q] = stages.evaluate(list, gradient.get() + from);
            if (next) next += list.stages();
        });
    }
    return nb::make_tuple(loss.give(), gradient.give());
}

Out<double> mean_partitions_hessian_product(In<double> scores, In<int64_t> ptr, In<int32_t> tier, In<double> factor,
                                            In<double> weight, In<double> direction) {
    Buffer<double> product(scores.size());
    {
        nb::gil_scoped_release release;
        Stages stages(largest_query(ptr));
        const double *next = factor.size() ? factor.data() : nullptr;
        for_each_list(scores, ptr, tier.data(), weight, [&](size_t, size_t from, List list) {
            list.factor = next;
            stages.hessian_product(list, direction.data() + from, product.get() + from);
            if (next) next += list.stages();
        });
    }
    return product.give();
}

// The loss and gradient, and a bound of the second derivatives by their diagonal: log-sums over what remains bend by at
// most the shares of their members (the sets chosen bend the other way), which is the gradient without its last term. The
// last tier is no choice.
nb::tuple mean_partitions_bound(In<double> scores, In<int64_t> ptr, In<int32_t> tier, In<double> weight) {
    Buffer<double> gradient(scores.size()), loss(weight.size()), bound(scores.size());
    {
        nb::gil_scoped_release release;
        Stages stages(largest_query(ptr));
        for_each_list(scores, ptr, tier.data(), weight, [&](size_t q, size_t from, const List &list) {
            double *slope = gradient.get() + from, *own = bound.get() + from;
            loss[q] = stages.evaluate(list, slope);
            for (size_t k = 0; k < list.n;) {
                const size_t end = list.end_of_tier(k);
                double total = fill_worths(list.score + k, end - k, span_of(list.score + k, end - k), own + k);
                const double share = end < list.n ? list.weight / total : 0.0;
                for (; k < end; ++k) own[k] = std::max(0.0, slope[k] + share * own[k]);
            }
        });
    }
    return nb::make_tuple(loss.give(), gradient.give(), bound.give());
}

// Cross entropy between the softmax of the labels and the softmax of the scores, both over one query. Equal labels
// stand together, the best first: one exponential per tier.
double list_net_of(const List &list, const double *label, double *gradient, double *target) {
    if (!list.n) return 0;
    double target_total = 0, mean = 0;
    for (size_t k = 0; k < list.n;) {
        size_t end = list.end_of_tier(k);
        double worth = std::exp(label[k] - label[0]);
        std::fill(target + k, target + end, worth);
        target_total += worth * static_cast<double>(end - k);
        k = end;
    }
    Span span = span_of(list.score, list.n);
    double total = fill_worths(list.score, list.n, span, gradient);
    for (size_t k = 0; k < list.n; ++k) mean += target[k] * (list.score[k] - span.high);
    double own = list.weight / total, theirs = list.weight / target_total;
    for (size_t k = 0; k < list.n; ++k) gradient[k] = own * gradient[k] - theirs * target[k];
    return list.weight * (std::log(total) - mean / target_total);
}

nb::tuple list_net(In<double> scores, In<int64_t> ptr, In<int32_t> tier, In<double> label, In<double> weight) {
    Buffer<double> gradient(scores.size());
    double value = 0;
    {
        nb::gil_scoped_release release;
        std::vector<double> target(largest_query(ptr));
        for_each_list(scores, ptr, tier.data(), weight, [&](size_t, size_t from, List list) {
            value += list_net_of(list, label.data() + from, gradient.get() + from, target.data());
        });
    }
    return nb::make_tuple(value, gradient.give());
}

Out<double> list_net_hessian_product(In<double> scores, In<int64_t> ptr, In<double> weight, In<double> direction) {
    Buffer<double> product(scores.size());
    {
        nb::gil_scoped_release release;
        for_each_list(scores, ptr, nullptr, weight, [&](size_t, size_t from, List list) {
            if (!list.n) return;
            double *out = product.get() + from, mean = 0;
            const double *along = direction.data() + from;
            double total = fill_worths(list.score, list.n, span_of(list.score, list.n), out);
            for (size_t k = 0; k < list.n; ++k) mean += out[k] * along[k];
            mean /= total;
            for (size_t k = 0; k < list.n; ++k) out[k] *= list.weight / total * (along[k] - mean);
        });
    }
    return product.give();
}

} // namespace

void bind_lists(nb::module_ &m) {
    m.def("list_mle", &list_mle, "scores"_a.noconvert(), "ptr"_a.noconvert(), "tier"_a.noconvert(),
          "weight"_a.noconvert(), "is_best"_a);
    m.def("list_mle_hessian_product", &list_mle_hessian_product, "scores"_a.noconvert(), "ptr"_a.noconvert(),
          "tier"_a.noconvert(), "weight"_a.noconvert(), "is_best"_a, "direction"_a.noconvert());
    m.def("mean_partitions", &mean_partitions, "scores"_a.noconvert(), "ptr"_a.noconvert(), "tier"_a.noconvert(),
          "factor"_a.noconvert(), "weight"_a.noconvert());
    m.def("mean_partitions_bound", &mean_partitions_bound, "scores"_a.noconvert(), "ptr"_a.noconvert(),
          "tier"_a.noconvert(), "weight"_a.noconvert());
    m.def("mean_partitions_hessian_product", &mean_partitions_hessian_product, "scores"_a.noconvert(),
          "ptr"_a.noconvert(), "tier"_a.noconvert(), "factor"_a.noconvert(), "weight"_a.noconvert(),
          "direction"_a.noconvert());
    m.def("list_net", &list_net, "scores"_a.noconvert(), "ptr"_a.noconvert(), "tier"_a.noconvert(),
          "label"_a.noconvert(), "weight"_a.noconvert());
    m.def("list_net_hessian_product", &list_net_hessian_product, "scores"_a.noconvert(), "ptr"_a.noconvert(),
          "weight"_a.noconvert(), "direction"_a.noconvert());
}

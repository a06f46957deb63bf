// Annotations: expectation steps of models of annotators, one pass over the answers of every item.
//
// An item's joint log-probabilities of its answers and each class are summed, normalised, and the posterior is added to
// the expected counts while the item's answers are still in the cache.
#include "common.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

namespace {

// The answers by item: item s owns ptr[s]:ptr[s + 1]; known[s] is its class, or -1.
using AnswerArrays = std::tuple<In<int64_t>, In<int64_t>, In<int64_t>, In<double>, In<int64_t>>;

// Turn joint log-probabilities into probabilities; return the logarithm of their sum. A known class is certain.
double normalised(double *joint, size_t classes, int64_t known) {
    if (known >= 0) {
        double value = joint[known];
        std::fill_n(joint, classes, 0.0);
        joint[known] = 1.0;
        return value;
    }
    double largest = *std::max_element(joint, joint + classes), total = 0;
    for (size_t k = 0; k < classes; ++k) total += joint[k] = std::exp(joint[k] - largest);
    for (size_t k = 0; k < classes; ++k) joint[k] /= total;
    return largest + std::log(total);
}

template <size_t FIXED>
SIMD_CLONES double pass(const AnswerArrays &answers, const double *table, const double *log_share, size_t choices,
                        size_t any, double *posterior, double *counts) {
    const auto &[ptr, agent, answer, weight, known] = answers;
    const size_t items = ptr.size() - 1, classes = FIXED ? FIXED : any;
    const int64_t *who = agent.data(), *said = answer.data();
    double total = 0;
    for (size_t s = 0; s < items; ++s) {
        double *own = posterior + s * classes;
        const int64_t begin = ptr.data()[s], end = ptr.data()[s + 1];
        for (size_t k = 0; k < classes; ++k) own[k] = log_share[k];
        for (int64_t e = begin; e < end; ++e) {
            const double *row = table + (static_cast<size_t>(who[e]) * choices + static_cast<size_t>(said[e])) * classes;
            const double w = weight.data()[e];
            for (size_t k = 0; k < classes; ++k) own[k] += w * row[k];
        }
        total += normalised(own, classes, known.data()[s]);
        for (int64_t e = begin; e < end; ++e) {
            double *row = counts + (static_cast<size_t>(who[e]) * choices + static_cast<size_t>(said[e])) * classes;
            const double w = weight.data()[e];
            for (size_t k = 0; k < classes; ++k) row[k] += w * own[k];
        }
    }
    return total;
}

// (posterior by item, expected counts by agent and answer, log-likelihood) given log P(answer | class) by agent and
// answer; an item's answers are independent given its class.
nb::tuple annotation_posterior(AnswerArrays answers, In2<double> table, In<double> log_share) {
    const size_t classes = log_share.size(), items = std::get<0>(answers).size() - 1, rows = table.shape(0);
    const size_t choices = classes;
    Buffer<double> posterior(items * classes), counts(rows * classes, 0.0);
    double total = 0;
    {
        nb::gil_scoped_release release;
        auto run = classes == 2 ? pass<2> : classes == 3 ? pass<3> : classes == 4 ? pass<4> : classes == 5 ? pass<5> : pass<0>;
        total = run(answers, table.data(), log_share.data(), choices, classes, posterior.get(), counts.get());
    }
    return nb::make_tuple(posterior.give2(items, classes), counts.give2(rows, classes), total);
}

// (posterior by item, gradient by agent's ability, gradient by item's log-ease, log-likelihood) of GLAD: an answer is
// right with probability logistic(ability · e^log_ease), and all wrong answers are equally likely.
nb::tuple ability_posterior(AnswerArrays answers, In<double> ability, In<double> log_ease, In<double> log_share) {
    const auto &[ptr, agent, answer, weight, known] = answers;
    const size_t classes = log_share.size(), items = ptr.size() - 1, agents = ability.size();
    Buffer<double> posterior(items * classes), by_agent(agents, 0.0), by_item(items);
    double total = 0;
    {
        nb::gil_scoped_release release;
        const double spread = std::log(static_cast<double>(std::max<size_t>(classes, 2) - 1));
        std::vector<double> right;
        for (size_t s = 0; s < items; ++s) {
            double *own = posterior.get() + s * classes, base = 0, slope = 0;
            const double ease = std::exp(log_ease.data()[s]);
            const int64_t begin = ptr.data()[s], end = ptr.data()[s + 1];
            std::copy_n(log_share.data(), classes, own);
            right.resize(static_cast<size_t>(end - begin));
            for (int64_t e = begin; e < end; ++e) {
                const double x = ability.data()[agent.data()[e]] * ease, small = std::exp(-std::fabs(x));
                const double log_wrong = -(x > 0 ? x : 0.0) - std::log1p(small) - spread, w = weight.data()[e];
                right[static_cast<size_t>(e - begin)] = x >= 0 ? 1 / (1 + small) : small / (1 + small);
                base += w * log_wrong;
                own[answer.data()[e]] += w * (x + spread);
            }
            total += base + normalised(own, classes, known.data()[s]);
            for (int64_t e = begin; e < end; ++e) {
                const double w = weight.data()[e];
                const double rest = w * (own[answer.data()[e]] - right[static_cast<size_t>(e - begin)]);
                by_agent[static_cast<size_t>(agent.data()[e])] += rest * ease;
                slope += rest * ability.data()[agent.data()[e]] * ease;
            }
            by_item[s] = slope;
        }
    }
    return nb::make_tuple(posterior.give2(items, classes), by_agent.give(), by_item.give(), total);
}

} // namespace

void bind_annotations(nb::module_ &m) {
    m.def("annotation_posterior", &annotation_posterior, "answers"_a.noconvert(), "table"_a.noconvert(),
          "log_share"_a.noconvert());
    m.def("ability_posterior", &ability_posterior, "answers"_a.noconvert(), "ability"_a.noconvert(),
          "log_ease"_a.noconvert(), "log_share"_a.noconvert());
}

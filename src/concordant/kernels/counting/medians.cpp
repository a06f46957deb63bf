// Weighted medians by group: values are laid out group by group, and selected from where all weigh the same.
#include "ballots.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace {

// The mean of the lower and the upper median of values that weigh the same.
double plain_median(double *value, size_t n) {
    double *upper = value + n / 2;
    std::nth_element(value, upper, value + n);
    return n % 2 ? *upper : (*std::max_element(value, upper) + *upper) / 2;
}

struct Weighed {
    double value, weight;
};

double median_of(Weighed *begin, Weighed *end) {
    double total = 0, size = 0;
    bool whole = true;
    for (Weighed *one = begin; one < end; ++one) {
        total += one->weight;
        size += std::fabs(one->weight);
        whole = whole && one->weight == std::floor(one->weight);
    }
    double slack = whole ? 0.0 : WEIGHT_TOLERANCE * size;
    if (total <= slack) return std::numeric_limits<double>::quiet_NaN();
    std::sort(begin, end, [](const Weighed &one, const Weighed &other) { return one.value < other.value; });
    // Weights may be negative: values are passed by, whole runs of equal ones, as long as too little is reached.
    double reached = 0;
    size_t below_lower = 0, below_upper = 0;
    std::vector<double> distinct;
    for (Weighed *one = begin; one < end;) {
        double value = one->value;
        for (; one < end && one->value == value; ++one) reached += one->weight;
        distinct.push_back(value);
        below_lower += reached < total / 2 - slack;
        below_upper += reached <= total / 2 + slack;
    }
    size_t last = distinct.size() - 1;
    return (distinct[std::min(below_lower, last)] + distinct[std::min(below_upper, last)]) / 2;
}

// Where the entries of every group start; one more for the end.
std::vector<size_t> group_starts(const In<int64_t> &group, size_t groups) {
    std::vector<size_t> start(groups + 1, 0);
    for (size_t k = 0; k < group.size(); ++k) ++start[static_cast<size_t>(group.data()[k]) + 1];
    for (size_t g = 0; g < groups; ++g) start[g + 1] += start[g];
    return start;
}

Out<double> weighted_medians(In<int64_t> group, In<double> value, In<double> weight, int64_t n_groups) {
    size_t groups = static_cast<size_t>(n_groups), n = group.size();
    Buffer<double> median(groups, std::numeric_limits<double>::quiet_NaN());
    {
        nb::gil_scoped_release release;
        std::vector<size_t> start = group_starts(group, groups), next(start);
        const double *w = weight.data();
        if (n && w[0] > 0 && std::all_of(w, w + n, [&](double other) { return other == w[0]; })) {
            LargeVector<double> sorted(n);
            for (size_t k = 0; k < n; ++k) sorted[next[static_cast<size_t>(group.data()[k])]++] = value.data()[k];
            for (size_t g = 0; g < groups; ++g)
                if (start[g] < start[g + 1]) median[g] = plain_median(sorted.data() + start[g], start[g + 1] - start[g]);
        } else {
            LargeVector<Weighed> sorted(n);
            for (size_t k = 0; k < n; ++k)
                sorted[next[static_cast<size_t>(group.data()[k])]++] = {value.data()[k], w[k]};
            for (size_t g = 0; g < groups; ++g)
                median[g] = median_of(sorted.data() + start[g], sorted.data() + start[g + 1]);
        }
    }
    return median.give();
}

} // namespace

void bind_medians(nb::module_ &m) {
    m.def("weighted_medians", &weighted_medians, "group"_a.noconvert(), "value"_a.noconvert(), "weight"_a.noconvert(),
          "n_groups"_a);
}

// What trees and ranks need of rows of features: sums over the leaves rows fall into, and places within queries.
#include "common.hpp"

#include <algorithm>
#include <vector>

namespace {

// A tree is a run of nodes from its root on; feature -1 marks a leaf, children are numbered through all trees.
Out<double> forest_means(In2<float> X, In<int64_t> root, In<int32_t> feature, In<double> threshold, In<int32_t> left,
                         In<int32_t> right, In<double> value) {
    size_t rows = X.shape(0), columns = X.shape(1), trees = root.size();
    Buffer<double> mean(rows);
    {
        nb::gil_scoped_release release;
        Interrupts interrupts;
        for (size_t i = 0; i < rows; ++i) {
            interrupts.poll(32 * trees);
            const float *x = X.data() + i * columns;
            double sum = 0;
            for (size_t t = 0; t < trees; ++t) {
                size_t node = static_cast<size_t>(root.data()[t]);
                while (feature.data()[node] >= 0) {
                    bool goes_left = static_cast<double>(x[feature.data()[node]]) <= threshold.data()[node];
                    node = static_cast<size_t>(goes_left ? left.data()[node] : right.data()[node]);
                }
                sum += value.data()[node];
            }
            mean[i] = sum / static_cast<double>(trees);
        }
    }
    return mean.give();
}

// The mid-rank of every value among the rows of its query, from 1, over the number of these rows.
template <typename T> Out2<T> query_ranks(In2<T> X, In<int64_t> ptr, In<int64_t> row) {
    size_t rows = X.shape(0), columns = X.shape(1), queries = ptr.size() - 1;
    Buffer<T> rank(rows * columns);
    {
        nb::gil_scoped_release release;
        std::vector<std::pair<T, size_t>> sorted;
        for (size_t q = 0; q < queries; ++q) {
            size_t first = static_cast<size_t>(ptr.data()[q]), size = static_cast<size_t>(ptr.data()[q + 1]) - first;
            sorted.resize(size);
            for (size_t c = 0; c < columns; ++c) {
                for (size_t k = 0; k < size; ++k) {
                    size_t at = static_cast<size_t>(row.data()[first + k]);
                    sorted[k] = {X.data()[at * columns + c], at};
                }
                std::sort(sorted.begin(), sorted.end());
                for (size_t low = 0, high; low < size; low = high) {
                    for (high = low + 1; high < size && sorted[high].first == sorted[low].first;) ++high;
                    double middle = static_cast<double>(low + high + 1) / 2 / static_cast<double>(size);
                    for (size_t k = low; k < high; ++k) rank[sorted[k].second * columns + c] = static_cast<T>(middle);
                }
            }
        }
    }
    return rank.give2(rows, columns);
}

} // namespace

void bind_forest(nb::module_ &m) {
    m.def("forest_means", &forest_means, "X"_a.noconvert(), "root"_a.noconvert(), "feature"_a.noconvert(),
          "threshold"_a.noconvert(), "left"_a.noconvert(), "right"_a.noconvert(), "value"_a.noconvert());
    m.def("query_ranks", &query_ranks<double>, "X"_a.noconvert(), "ptr"_a.noconvert(), "row"_a.noconvert());
    m.def("query_ranks", &query_ranks<float>, "X"_a.noconvert(), "ptr"_a.noconvert(), "row"_a.noconvert());
}

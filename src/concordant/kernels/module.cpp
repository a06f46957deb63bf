// The extension module: every family binds its functions here.
#include "common.hpp"

void bind_arrow(nb::module_ &m);
void bind_strings(nb::module_ &m);
void bind_rows(nb::module_ &m);
void bind_costs(nb::module_ &m);
void bind_counts(nb::module_ &m);
void bind_multinomial(nb::module_ &m);
void bind_orders(nb::module_ &m);
void bind_retrieval(nb::module_ &m);
void bind_stages(nb::module_ &m);
void bind_distance(nb::module_ &m);
void bind_pairs(nb::module_ &m);
void bind_votes(nb::module_ &m);
void bind_search(nb::module_ &m);
void bind_local(nb::module_ &m);
void bind_lehmer(nb::module_ &m);
void bind_totals(nb::module_ &m);
void bind_fields(nb::module_ &m);
void bind_duels(nb::module_ &m);
void bind_standing(nb::module_ &m);
void bind_streams(nb::module_ &m);
void bind_tallies(nb::module_ &m);
void bind_lists(nb::module_ &m);
void bind_subsets(nb::module_ &m);
void bind_boosting(nb::module_ &m);
void bind_forest(nb::module_ &m);
void bind_ordering(nb::module_ &m);
void bind_margins(nb::module_ &m);
void bind_logistic(nb::module_ &m);
void bind_lambdas(nb::module_ &m);
void bind_coordinate(nb::module_ &m);
void bind_factors(nb::module_ &m);

NB_MODULE(_compiled, m) {
    m.doc() = "Compiled kernels; every function has a NumPy twin of the same name in concordant.kernels.twins.";
    bind_arrow(m);
    bind_strings(m);
    bind_rows(m);
    bind_costs(m);
    bind_counts(m);
    bind_multinomial(m);
    bind_orders(m);
    bind_retrieval(m);
    bind_stages(m);
    bind_distance(m);
    bind_pairs(m);
    bind_votes(m);
    bind_search(m);
    bind_local(m);
    bind_lehmer(m);
    bind_totals(m);
    bind_fields(m);
    bind_duels(m);
    bind_standing(m);
    bind_streams(m);
    bind_tallies(m);
    bind_lists(m);
    bind_subsets(m);
    bind_boosting(m);
    bind_forest(m);
    bind_ordering(m);
    bind_margins(m);
    bind_logistic(m);
    bind_lambdas(m);
    bind_coordinate(m);
    bind_factors(m);
}

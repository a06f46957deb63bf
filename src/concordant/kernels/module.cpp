// The extension module: every family binds its functions here.
#include "common.hpp"

void bind_strings(nb::module_ &m);
void bind_rows(nb::module_ &m);

NB_MODULE(_compiled, m) {
    m.doc() = "Compiled kernels; every function has a NumPy twin of the same name in concordant.kernels.twins.";
    bind_strings(m);
    bind_rows(m);
}

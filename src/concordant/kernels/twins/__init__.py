"""NumPy twins of the compiled kernels: the test oracle, and the fall-back without a compiler."""

from concordant.kernels.twins.arrow import *  # noqa: F403
from concordant.kernels.twins.counts import *  # noqa: F403
from concordant.kernels.twins.distance import *  # noqa: F403
from concordant.kernels.twins.duels import *  # noqa: F403
from concordant.kernels.twins.fields import *  # noqa: F403
from concordant.kernels.twins.lehmer import *  # noqa: F403
from concordant.kernels.twins.local import *  # noqa: F403
from concordant.kernels.twins.multinomial import *  # noqa: F403
from concordant.kernels.twins.orders import *  # noqa: F403
from concordant.kernels.twins.pairs import *  # noqa: F403
from concordant.kernels.twins.retrieval import *  # noqa: F403
from concordant.kernels.twins.rows import *  # noqa: F403
from concordant.kernels.twins.search import *  # noqa: F403
from concordant.kernels.twins.stages import *  # noqa: F403
from concordant.kernels.twins.standing import *  # noqa: F403
from concordant.kernels.twins.streams import *  # noqa: F403
from concordant.kernels.twins.strings import *  # noqa: F403
from concordant.kernels.twins.tallies import *  # noqa: F403
from concordant.kernels.twins.totals import *  # noqa: F403
from concordant.kernels.twins.votes import *  # noqa: F403

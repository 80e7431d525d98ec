"""The IR: expressions, statements, nests, programs; passes name them all by this package.

Nodes are values: passes take and give them, and nothing is changed in place. Every statement knows
its formula's span.
"""

from cvmgen.ir.nodes.execution import *  # noqa: F403
from cvmgen.ir.nodes.expressions import *  # noqa: F403
from cvmgen.ir.nodes.moves import *  # noqa: F403
from cvmgen.ir.nodes.prepare import *  # noqa: F403
from cvmgen.ir.nodes.programs import *  # noqa: F403
from cvmgen.ir.nodes.statements import *  # noqa: F403

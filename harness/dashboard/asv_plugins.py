"""What asv loads beside itself: named in ``asv.conf.json`` as ``"plugins": [".harness.dashboard.asv_plugins"]``.

asv finds page makers and kinds of environments among the subclasses that have been imported; the leading dot
makes it import a module that is not part of asv.
"""

from __future__ import annotations

from harness.dashboard.comparison import Comparison, Known
from harness.dashboard.environment import Overlay
from harness.dashboard.offline import Offline

__all__ = ["Comparison", "Known", "Offline", "Overlay"]

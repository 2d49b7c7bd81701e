"""What a formula of another package may import: these names keep their meaning until the next major release.

Everything else in hipscope may move between releases. The guide is docs/formulas/write-your-own.md.
"""

from hipscope.analysis.metrics.roofline import roofline as roofline
from hipscope.analysis.metrics.stalls import add_stalls as add_stalls
from hipscope.analysis.metrics.stalls import blamed_stalls as blamed_stalls
from hipscope.analysis.profile import Device as Device
from hipscope.analysis.profile import Instruction as Instruction
from hipscope.analysis.profile import Kernel as Kernel
from hipscope.analysis.profile import Profile as Profile
from hipscope.analysis.profile import StallReason as StallReason
from hipscope.analysis.source.texts import SourceTexts as SourceTexts
from hipscope.formulas.base import Evidence as Evidence
from hipscope.formulas.base import Finding as Finding
from hipscope.formulas.base import Formula as Formula
from hipscope.formulas.base import Need as Need
from hipscope.formulas.base import Objective as Objective
from hipscope.formulas.base import Related as Related
from hipscope.formulas.detect.sites import Site as Site
from hipscope.formulas.detect.sites import finding_at as finding_at
from hipscope.formulas.detect.sites import kernel_site as kernel_site
from hipscope.formulas.detect.sites import sites as sites
from hipscope.formulas.detect.time_at_stake import cost_share as cost_share
from hipscope.formulas.detect.time_at_stake import wait_share as wait_share

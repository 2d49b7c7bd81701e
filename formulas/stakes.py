"""The old name of `detect.time_at_stake`, for formulas of other packages; goes away in 0.3. Use `plugin_api`."""

from hipscope.analysis.metrics.stalls import add_stalls as add_stalls
from hipscope.formulas.detect.time_at_stake import cost_share as cost_share
from hipscope.formulas.detect.time_at_stake import wait_share as wait_share

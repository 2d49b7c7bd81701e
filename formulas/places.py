"""The old name of `detect.sites`, for formulas of other packages; goes away in 0.3. Use `plugin_api`."""

from hipscope.formulas.detect.sites import Site as Site
from hipscope.formulas.detect.sites import costliest_site as costliest_site
from hipscope.formulas.detect.sites import finding_at as finding_at
from hipscope.formulas.detect.sites import kernel_site as kernel_site
from hipscope.formulas.detect.sites import sites as sites

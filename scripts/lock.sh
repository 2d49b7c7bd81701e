#!/bin/sh
# Writes scripts/constraints.txt: the version of each package that is installed in .venv, as pip's constraints. The set-up
# installs these, so that a checkout behaves the same next month.
set -eu
cd "$(dirname "$0")/.."
{
    echo "# The packages that hipscope is developed and tested with; written by 'make lock'. The set-up and CI use these versions,"
    echo "# a user's pip does not."
    .venv/bin/python -m pip freeze --disable-pip-version-check --exclude-editable --exclude hipscope | grep '=='
} >scripts/constraints.txt

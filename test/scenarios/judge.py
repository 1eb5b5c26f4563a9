# SPDX-License-Identifier: BSD-2-Clause
"""All scenarios: the variants of their files, and what they are judged by.

Rates and times are those of the emulated fabric. C is the format ceiling: what the planes carry of
payload when every packet is full. T is the unloaded round trip across a spine.
"""
import calibration
import clean
import congestion
import failures
import links
import losses
import repair
import sensitivity
import soak
from marks import Scenario

SCENARIOS = sorted([
    Scenario("cal", "Calibration against the published NSCC reference runs", "htsim",
             calibration.variants(), calibration.judge, gated=True),
    Scenario("repair", "Repair of single losses", "-", repair.variants(), repair.judge,
             gated=True)]
    + clean.SCENARIOS + failures.SCENARIOS + losses.SCENARIOS + congestion.SCENARIOS
    + links.SCENARIOS + sensitivity.SCENARIOS + soak.SCENARIOS, key=lambda s: s.name)

# SPDX-License-Identifier: BSD-2-Clause
"""The judgement of pairs, on made-up windows. Run by `meson test`."""
import unittest

import pairs


def window(mode, value, cpu=1.0, stall=0.0, canary=(60, 60)):
    return {"mode": mode, "seconds": 1.0, "cpu_seconds": cpu, "stalled_seconds": stall,
            "canary_before_ns": canary[0], "canary_after_ns": canary[1],
            "rx_bytes": value / 8, "rx_packets": value, "messages": value}


def run_of(*windows):
    return {"lanes": [{"side": "sender", "windows": list(windows)},
                      {"side": "receiver", "windows": list(windows)}]}


def summary(*windows):
    return pairs.Pairs(run_of(*windows), pairs.goodput).summary()


class PairsTest(unittest.TestCase):
    def test_ratio_of_neighbours(self):
        out = summary(window("raw", 100), window("mrc", 50), window("raw", 100),
                      window("mrc", 60), window("raw", 110))
        self.assertEqual(out["near"]["pairs"], 2)
        self.assertAlmostEqual(out["near"]["ratio"][1], (0.5 + 60 / 105) / 2)
        self.assertAlmostEqual(out["near"]["reference"], 102.5)
        self.assertEqual(out["dropped"], {})

    def test_far(self):
        far = (330, 330)
        out = summary(window("raw", 100, canary=far), window("mrc", 80, canary=far),
                      window("raw", 100, canary=far))
        self.assertEqual(out["far"]["ratio"], [0.8, 0.8, 0.8])
        self.assertNotIn("near", out)

    def drops(self, why, first, middle, last):
        out = summary(first, middle, last)
        self.assertEqual(out["dropped"], {why: 1})
        self.assertNotIn("near", out)
        self.assertNotIn("far", out)

    def test_dropped(self):
        raw, mrc = window("raw", 100), window("mrc", 50)
        self.drops("busy", raw, window("mrc", 50, cpu=0.85), raw)
        self.drops("busy", raw, mrc, window("raw", 100, cpu=0.5))
        self.drops("stalled", window("raw", 100, stall=0.11), mrc, raw)
        self.drops("drift", raw, mrc, window("raw", 120))
        self.drops("flip", raw, window("mrc", 50, canary=(60, 330)), raw)
        self.drops("flip", *(window(mode, 50, canary=(0, 0)) for mode in ("raw", "mrc", "raw")))
        self.drops("idle", raw, window("mrc", 0), raw)

    def test_dropped_still_in_all(self):
        out = summary(window("raw", 100), window("mrc", 50, cpu=0.1), window("raw", 100))
        self.assertEqual(out["all"]["ratio"], [0.5, 0.5, 0.5])
        self.assertEqual(out["pairs"], 1)

    def test_three_modes(self):
        out = summary(window("raw", 100), window("mrc", 50), window("mrc", 50), window("raw", 100))
        self.assertEqual(out["all"]["pairs"], 1)


if __name__ == "__main__":
    unittest.main()

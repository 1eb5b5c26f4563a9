# SPDX-License-Identifier: BSD-2-Clause
"""Starts what is measured: mrc-dp in windows, testpmd, iperf3, and the benchmarks on one core."""
import json
import os
import re
import shutil
import subprocess
import time


class Failed(Exception):
    """A run that gave no figures; the text says why."""


class Bench:
    """How and where to run: binaries, two CPUs, a scratch folder, lengths."""

    def __init__(self, build, scratch, quick):
        self.mrc_dp = os.path.join(build, "app/mrc-dp/mrc-dp")
        self.build = build
        self.scratch = scratch
        self.windows = 7 if quick else 21
        self.run_ms = 200 if quick else 500
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            raise Failed("two CPUs are needed; taskset -p shows what this shell may use")
        self.cpus = cpus[:2]

    # ---- configurations

    @staticmethod
    def _common(pmtu, icrc, message, qps, depth):
        return {
            "pmtu": pmtu, "icrc": icrc,
            "congestion": {"rate": "10T", "base_rtt": "20us"},
            "workload": {"qps": qps, "message": message, "depth": depth, "verify": "none",
                         "seconds": 3600},
        }

    @staticmethod
    def _endpoint(index, device):
        return {"name": "ab"[index], "address": f"10.0.0.{index + 1}",
                "planes": [{"device": device, "mac": f"02:00:00:00:00:0{index + 1}"}]}

    def _write(self, name, config):
        path = os.path.join(self.scratch, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file, indent=1)
        return path

    def _ring(self, common):
        config = dict(common, lcores=f"{self.cpus[0]},{self.cpus[1]}")
        config["endpoints"] = [self._endpoint(i, "direct") for i in (0, 1)]
        return self._write("ring.json", config)

    def _memif(self, common):
        paths = []
        for index, role in ((0, "client"), (1, "server")):
            device = (f"net_memif0,role={role},id=0,socket={self.scratch}/memif.sock,"
                      "socket-abstract=no,bsize=8192,rsize=9")
            config = dict(common, lcores=str(self.cpus[index]))
            config["endpoints"] = [self._endpoint(index, device)]
            config["endpoints"][0]["neighbours"] = [
                {"address": f"10.0.0.{2 - index}", "plane": 0,
                 "mac": f"02:00:00:00:00:0{2 - index}"}]
            config["workload"] = dict(common["workload"],
                                      role=("requester", "responder")[index])
            config["oob"] = {("connect", "listen")[index]: f"unix:{self.scratch}/oob.sock",
                             "wait": "20s"}
            paths.append(self._write(f"memif{index}.json", config))
        return paths

    # ---- runs

    def windows_of(self, link, modes, *, pmtu=4096, icrc=True, message=1 << 20, qps=1, depth=4,
                   payload=None, io_len=64, windows=None):
        """One start of mrc-dp (two for memif) with alternating windows; its JSON, both sides."""
        args = ["perf", "--modes", ",".join(modes), "--windows", str(windows or self.windows),
                "--run", f"{self.run_ms}ms", "--payload", str(payload or pmtu),
                "--io-len", str(io_len), "--json"]
        common = self._common(pmtu, icrc, message, qps, depth)
        limit = 60 + (windows or self.windows) * (self.run_ms + 60) / 1000
        if link == "ring":
            return self._collect([self._start(args + ["-c", self._ring(common)])], limit)[0]
        sync = os.path.join(self.scratch, "sync")
        for stale in (sync, f"{self.scratch}/memif.sock", f"{self.scratch}/oob.sock"):
            if os.path.exists(stale):
                os.unlink(stale)
        client, server = self._memif(common)
        procs = [self._start(args + ["-c", server, "--sync", sync])]
        while not os.path.exists(f"{self.scratch}/memif.sock") and procs[0].poll() is None:
            time.sleep(0.05)
        procs.append(self._start(args + ["-c", client, "--sync", sync]))
        server_out, client_out = self._collect(procs, limit)
        client_out["lanes"] += server_out["lanes"]
        return client_out

    def _start(self, args):
        return subprocess.Popen([self.mrc_dp, *args], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    @staticmethod
    def _collect(procs, limit):
        outs = []
        deadline = time.monotonic() + limit
        try:
            for proc in procs:
                out, err = proc.communicate(timeout=max(1, deadline - time.monotonic()))
                if proc.returncode < 0:
                    raise Failed(f"mrc-dp was ended by signal {-proc.returncode}")
                if proc.returncode != 0:
                    raise Failed((err.strip().splitlines() or ["no message"])[-1])
                outs.append(json.loads(out))
        except subprocess.TimeoutExpired as expired:
            raise Failed(f"not finished after {limit:.0f} s") from expired
        finally:
            for proc in procs:
                if proc.poll() is None:
                    proc.kill()
                proc.communicate()
        return outs

    def bench(self, name, *args):
        """A benchmark of one core, bound to the first CPU."""
        path = os.path.join(self.build, "perf", name)
        if not os.path.exists(path):
            raise Failed(f"{path} is not built")
        out = subprocess.run(["taskset", "-c", str(self.cpus[0]), path, "--json", *args],
                             capture_output=True, text=True, timeout=600, check=False)
        if out.returncode != 0:
            raise Failed((out.stderr.strip().splitlines() or ["no message"])[-1])
        return json.loads(out.stdout)

    def iperf3(self, seconds):
        """Bits per second of one TCP stream over the loopback, each end on a CPU of its own."""
        if shutil.which("iperf3") is None:
            raise Failed("iperf3 is not installed")
        port = "55201"
        server = subprocess.Popen(["taskset", "-c", str(self.cpus[1]), "iperf3", "-s", "-1", "-p",
                                   port], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(0.3)
            out = subprocess.run(["taskset", "-c", str(self.cpus[0]), "iperf3", "-c", "127.0.0.1",
                                  "-p", port, "-t", str(seconds), "-J"], capture_output=True,
                                 text=True, timeout=seconds + 20, check=False)
            return json.loads(out.stdout)["end"]["sum_received"]["bits_per_second"]
        except (KeyError, ValueError) as wrong:
            raise Failed("iperf3 gave no figures") from wrong
        finally:
            server.kill()
            server.wait()

    def testpmd(self, seconds):
        """Packets per second of 64 bytes, dpdk-testpmd txonly to rxonly over memif."""
        if shutil.which("dpdk-testpmd") is None:
            raise Failed("dpdk-testpmd is not installed")
        sock = os.path.join(self.scratch, "testpmd.sock")
        if os.path.exists(sock):
            os.unlink(sock)
        rx = self._testpmd_start("server", "rxonly", self.cpus[0], sock)
        try:
            while not os.path.exists(sock) and rx.poll() is None:
                time.sleep(0.05)
            tx = self._testpmd_start("client", "txonly", self.cpus[1], sock)
            time.sleep(2 + seconds)
            for proc in (rx, tx):
                proc.terminate()
            tx.communicate(timeout=20)
            out, _ = rx.communicate(timeout=20)
        finally:
            for proc in (rx, tx):
                if proc.poll() is None:
                    proc.kill()
                    proc.wait()
        rates = [int(rate) for rate in re.findall(r"Rx-pps:\s+(\d+)", out)]
        rates = sorted(rate for rate in rates if rate > 0)
        if not rates:
            raise Failed("dpdk-testpmd moved nothing")
        return rates[len(rates) // 2]

    def _testpmd_start(self, role, mode, cpu, sock):
        device = f"net_memif0,role={role},id=0,socket={sock},socket-abstract=no,bsize=2048,rsize=10"
        return subprocess.Popen(
            ["stdbuf", "-oL", "dpdk-testpmd", "--no-pci", "--no-huge", "-m", "256",
             "--file-prefix", f"perf-{role}-{os.getpid()}", "--lcores", f"0@{cpu},1@{cpu}",
             "--vdev", device, "--", "--nb-cores=1", f"--forward-mode={mode}", "--burst=32",
             "--txd=1024", "--rxd=1024", "--total-num-mbufs=16384", "--mbuf-size=2176",
             "--stats-period=1"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

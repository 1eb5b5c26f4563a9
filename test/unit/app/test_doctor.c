/* SPDX-License-Identifier: BSD-2-Clause */
/* The doctor on made-up machines: a directory with the files of /proc and /sys that it reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "doctor_private.h"

static char root[64];

/* Writes a file below the root, with its directories. */
static void put(const char *path, const char *text)
{
	char full[512];
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *p = full + strlen(root) + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		mkdir(full, 0777);
		*p = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int setup(void **state)
{
	strcpy(root, "/tmp/test_doctor_XXXXXX");
	return mkdtemp(root) == NULL;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static struct mrc_doctor_host host(const char *cpus)
{
	struct mrc_doctor_host h = {
		.root = root, .is_root = true, .caps = UINT64_MAX, .memlock_len = UINT64_MAX};

	assert_true(mrc_cpuset_parse(&h.cpus, cpus));
	return h;
}

/* The first line about a topic. */
static const struct mrc_doctor_line *line_of(
	const struct mrc_doctor_report *report, const char *topic)
{
	for (uint32_t i = 0; i < report->nb; i++)
		if (strcmp(report->lines[i].topic, topic) == 0)
			return &report->lines[i];
	return NULL;
}

static void says(const struct mrc_doctor_host *h, const struct mrc_doctor_want *want,
	const char *topic, enum mrc_doctor_verdict verdict, const char *text, const char *mend)
{
	struct mrc_doctor_report report;
	const struct mrc_doctor_line *line;

	mrc_doctor_run(h, want, &report);
	line = line_of(&report, topic);
	assert_non_null(line);
	if (line->verdict != verdict || strstr(line->text, text) == NULL ||
		strstr(line->mend, mend) == NULL)
		fail_msg("%s %s: %s (mend: %s)", mrc_doctor_verdict_name(line->verdict), topic,
			line->text, line->mend);
	if (verdict != MRC_DOCTOR_OK)
		assert_true(mrc_doctor_worst(&report) >= verdict);
}

static void test_cpu_lists(void **state)
{
	struct mrc_cpuset set;
	char text[64];

	assert_true(mrc_cpuset_parse(&set, "0-2,7,9-10"));
	assert_int_equal(mrc_cpuset_count(&set), 6);
	assert_true(mrc_cpuset_has(&set, 9) && !mrc_cpuset_has(&set, 8));
	mrc_cpuset_show(&set, text, sizeof(text));
	assert_string_equal(text, "0-2,7,9-10");
	assert_true(mrc_cpuset_parse(&set, ""));
	assert_int_equal(mrc_cpuset_count(&set), 0);
	assert_false(mrc_cpuset_parse(&set, "2-1"));
	assert_false(mrc_cpuset_parse(&set, "1,"));
	assert_false(mrc_cpuset_parse(&set, "x"));
	assert_false(mrc_cpuset_parse(&set, "1024"));
	assert_true(mrc_cpuset_parse(&set, "1023"));
	mrc_cpuset_show(&set, text, sizeof(text));
	assert_string_equal(text, "1023");
}

static void test_lcore_maps(void **state)
{
	static struct mrc_lcore_map map;

	assert_true(mrc_lcore_map_parse(&map, "0-2"));
	assert_int_equal(map.nb, 3);
	assert_int_equal(mrc_cpuset_count(&map.lcores[1].cpus), 1);
	assert_true(mrc_cpuset_has(&map.lcores[1].cpus, 1));
	assert_true(mrc_lcore_map_parse(&map, "2@0,1@1"));
	assert_int_equal(map.lcores[0].id, 2);
	assert_true(mrc_cpuset_has(&map.lcores[0].cpus, 0));
	assert_true(mrc_lcore_map_parse(&map, "(0,3)@(4-5,7),9"));
	assert_int_equal(map.nb, 3);
	assert_int_equal(mrc_cpuset_count(&map.lcores[1].cpus), 3);
	assert_int_equal(map.lcores[2].id, 9);
	assert_false(mrc_lcore_map_parse(&map, ""));
	assert_false(mrc_lcore_map_parse(&map, "0@"));
	assert_false(mrc_lcore_map_parse(&map, "(0"));
	assert_false(mrc_lcore_map_parse(&map, "0,,1"));
	assert_false(mrc_lcore_map_parse(&map, "0-200"));
}

static void test_cpus(void **state)
{
	struct mrc_doctor_host h = host("0-1");
	struct mrc_doctor_want want = {.nb_busy = 2};

	put("/sys/devices/system/cpu/online", "0-3\n");
	says(&h, &want, "cpus", MRC_DOCTOR_OK, "2 usable: 0-1 (online 0-3)", "");
	want.nb_busy = 3;
	says(&h, &want, "cpus", MRC_DOCTOR_WARN, "3 polling roles on 2 CPUs", "");
	h = host("");
	says(&h, &want, "cpus", MRC_DOCTOR_FAIL, "may use no CPU", "taskset");
	h = host("0-1");
	put("/sys/fs/cgroup/cpu.max", "max 100000\n");
	put("/sys/fs/cgroup/cpu.max", "150000 100000\n");
	says(&h, &want, "quota", MRC_DOCTOR_WARN, "grants 1.50 CPUs", "cpu.max");
}

static void test_pinning(void **state)
{
	struct mrc_doctor_host h = host("0-1");
	struct mrc_doctor_want want = {.lcores = "0@0,1@1"};

	says(&h, &want, "pinning", MRC_DOCTOR_OK, "2 lcores", "");
	want.lcores = "2@1,0@0,1@1";
	says(&h, &want, "pinning", MRC_DOCTOR_FAIL, "lcores 2 and 1 share CPU 1", "");
	want.lcores = "(0-1)@1";
	says(&h, &want, "pinning", MRC_DOCTOR_FAIL, "lcores 0 and 1 share CPU 1", "");
	want.lcores = "0-2";
	says(&h, &want, "pinning", MRC_DOCTOR_FAIL, "lcore 2 wants CPU 2", "");
	want.lcores = "zero";
	says(&h, &want, "pinning", MRC_DOCTOR_FAIL, "\"zero\" is no list", "");
}

static void test_noise(void **state)
{
	struct mrc_doctor_host h = host("0-1");
	struct mrc_doctor_want want = {.nb_busy = 2};

	put("/sys/devices/system/cpu/isolated", "1-3\n");
	says(&h, &want, "isolation", MRC_DOCTOR_WARN, "CPUs 0-1", "isolcpus=0-1");
	put("/sys/devices/system/cpu/isolated", "0-3\n");
	says(&h, &want, "isolation", MRC_DOCTOR_OK, "are isolated", "");
	put("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n");
	says(&h, &want, "siblings", MRC_DOCTOR_WARN, "CPUs 0-1 are threads of one core", "lscpu");
	put("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
	says(&h, &want, "frequency", MRC_DOCTOR_WARN, "\"powersave\" governor", "cpupower");
	put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
	says(&h, &want, "clock", MRC_DOCTOR_WARN, "\"hpet\"", "clocksource");
	put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
	says(&h, &want, "clock", MRC_DOCTOR_OK, "tsc", "");
	put("/proc/stat", "cpu  1 1 1 1\ncpu0 10 0 10 100 0 0 0 0\ncpu1 1 0 1 100 0 0 0 0\n");
	h.sample_ms = 1;
	says(&h, &want, "load", MRC_DOCTOR_OK, "at most 0 %", "");
}

static void hugepages(const char *nb, const char *nb_free)
{
	put("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", nb);
	put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", nb_free);
}

static void test_hugepages(void **state)
{
	struct mrc_doctor_host h = host("0");
	struct mrc_doctor_want want = {.huge = MRC_DOCTOR_HUGE_AUTO, .memory_mib = 256};

	hugepages("0\n", "0\n");
	says(&h, &want, "hugepages", MRC_DOCTOR_WARN, "none reserved", "vm.nr_hugepages=128");
	want.huge = MRC_DOCTOR_HUGE_YES;
	says(&h, &want, "hugepages", MRC_DOCTOR_FAIL, "none reserved", "vm.nr_hugepages=128");
	hugepages("512\n", "0\n");
	says(&h, &want, "hugepages", MRC_DOCTOR_FAIL, "1024 MiB reserved, none free", "rtemap_");
	says(&h, &want, "hugetlbfs", MRC_DOCTOR_FAIL, "not mounted", "mount -t hugetlbfs");
	hugepages("512\n", "100\n");
	says(&h, &want, "hugepages", MRC_DOCTOR_FAIL, "200 of 1024 MiB free", "sysctl");
	hugepages("512\n", "128\n");
	put("/dev/hugepages/x", "");
	put("/proc/mounts", "proc /proc proc rw 0 0\nnodev /dev/hugepages hugetlbfs rw 0 0\n");
	says(&h, &want, "hugepages", MRC_DOCTOR_OK, "256 of 1024 MiB free", "");
	says(&h, &want, "hugetlbfs", MRC_DOCTOR_OK, "mounted at /dev/hugepages", "");
}

static void test_memory(void **state)
{
	struct mrc_doctor_host h = host("0");
	struct mrc_doctor_want want = {.memory_mib = 2048};

	put("/proc/meminfo", "MemTotal: 4194304 kB\nMemAvailable:    1048576 kB\n");
	says(&h, &want, "memory", MRC_DOCTOR_FAIL, "1024 MiB available, 2048 wanted", "ps ");
	want.memory_mib = 1024;
	says(&h, &want, "memory", MRC_DOCTOR_OK, "1024 MiB available", "");
	put("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
	says(&h, &want, "thp", MRC_DOCTOR_WARN, "are off", "echo madvise");
}

static void test_rights(void **state)
{
	struct mrc_doctor_host h = host("0");
	struct mrc_doctor_want want = {
		.memory_mib = 64, .nb_devices = 1, .devices = {"net_af_packet0,iface=lo"}};

	says(&h, &want, "rights", MRC_DOCTOR_OK, "root", "");
	h.is_root = false;
	h.caps = 0;
	says(&h, &want, "rights", MRC_DOCTOR_FAIL, "CAP_NET_RAW", "setcap");
	h.caps = 1 << 13;
	says(&h, &want, "rights", MRC_DOCTOR_FAIL, "CAP_NET_ADMIN", "setcap");
	h.caps |= 1 << 12;
	says(&h, &want, "rights", MRC_DOCTOR_OK, "not root", "");
	h.memlock_len = 8 << 20;
	says(&h, &want, "memlock", MRC_DOCTOR_WARN, "8 MiB may be locked, 64 are used", "ulimit");
	h.memlock_len = 64 << 20;
	says(&h, &want, "memlock", MRC_DOCTOR_OK, "64 MiB", "");
}

static void one_port(const char *device, uint32_t mtu, const char *topic,
	enum mrc_doctor_verdict verdict, const char *text, const char *mend)
{
	struct mrc_doctor_host h = host("0");
	struct mrc_doctor_want want = {.mtu = mtu, .nb_devices = 1, .devices = {device}};

	says(&h, &want, topic, verdict, text, mend);
}

static void test_interfaces(void **state)
{
	put("/sys/class/net/v0/flags", "0x1002\n");
	put("/sys/class/net/v0/mtu", "1500\n");
	one_port("net_af_packet0,iface=v1", 4200, "port", MRC_DOCTOR_FAIL, "v1 does not exist",
		"ip link add v1");
	one_port("net_af_packet0", 4200, "port", MRC_DOCTOR_FAIL, "add iface=NAME", "");
	one_port("net_af_packet0,iface=v0", 4200, "port", MRC_DOCTOR_WARN, "v0 is down",
		"ip link set v0 up");
	one_port("net_af_packet0,iface=v0,qpairs=1", 4200, "mtu", MRC_DOCTOR_FAIL,
		"v0 has MTU 1500, the PMTU of the file needs 4200", "ip link set v0 mtu 4200");
	put("/sys/class/net/v0/flags", "0x1003\n");
	put("/sys/class/net/v0/mtu", "9000\n");
	one_port("net_af_packet0,iface=v0", 4200, "port", MRC_DOCTOR_OK, "v0 is up", "");
	one_port("net_af_packet0,iface=v0", 4200, "mtu", MRC_DOCTOR_OK, "MTU 9000", "");
	one_port("net_af_xdp0,iface=v0", 4200, "mtu", MRC_DOCTOR_FAIL, "at most 3498", "");
}

static void test_pci(void **state)
{
	char path[256];

	one_port("0000:03:00.0", 0, "port", MRC_DOCTOR_FAIL, "no PCI device 0000:03:00.0", "lspci");
	put("/sys/bus/pci/devices/0000:03:00.0/vendor", "0x15b3\n");
	one_port("03:00.0", 0, "port", MRC_DOCTOR_FAIL, "driver \"none\"",
		"--bind=vfio-pci 0000:03:00.0");
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/0000:03:00.0/driver", root);
	assert_int_equal(symlink("../../../bus/pci/drivers/ixgbe", path), 0);
	one_port("0000:03:00.0", 0, "port", MRC_DOCTOR_FAIL, "driver \"ixgbe\"", "dpdk-devbind");
	unlink(path);
	assert_int_equal(symlink("../../../bus/pci/drivers/mlx5_core", path), 0);
	one_port("0000:03:00.0,dv_flow_en=1", 0, "port", MRC_DOCTOR_OK, "bound to mlx5_core", "");
	unlink(path);
	assert_int_equal(symlink("../../../bus/pci/drivers/vfio-pci", path), 0);
	one_port("0000:03:00.0", 0, "port", MRC_DOCTOR_WARN, "no IOMMU group", "noiommu");
	put("/sys/bus/pci/devices/0000:03:00.0/iommu_group/x", "");
	one_port("0000:03:00.0", 0, "port", MRC_DOCTOR_OK, "bound to vfio-pci", "");
}

static void test_other_devices(void **state)
{
	one_port("net_tap0", 0, "port", MRC_DOCTOR_FAIL, "/dev/net/tun", "modprobe tun");
	one_port("net_null0", 0, "port", MRC_DOCTOR_OK, "nothing to examine", "");
	one_port("nonsense", 0, "port", MRC_DOCTOR_WARN, "neither a PCI name", "dpdk-devbind");
	one_port("net_memif0,role=server", 0, "port", MRC_DOCTOR_OK, "abstract", "");
	one_port("net_memif0,role=client,socket=/nowhere/x,socket-abstract=no", 0, "port",
		MRC_DOCTOR_WARN, "start the side with role=server", "");
	one_port("net_memif0,role=server,socket=/nowhere/x,socket-abstract=no", 0, "port",
		MRC_DOCTOR_FAIL, "directory /nowhere", "mkdir -p /nowhere");
}

static int listen_at(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_true(strlen(path) < sizeof(addr.sun_path));
	strcpy(addr.sun_path, path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void test_sockets(void **state)
{
	struct mrc_doctor_host h = host("0");
	char path[128], longer[200];
	struct mrc_doctor_want want = {.nb_sockets = 1, .sockets = {path}};
	int fd;

	snprintf(path, sizeof(path), "%s/s", root);
	says(&h, &want, "socket", MRC_DOCTOR_OK, "is free", "");
	fd = listen_at(path);
	says(&h, &want, "socket", MRC_DOCTOR_FAIL, "running process", "ss -xlp");
	close(fd);
	says(&h, &want, "socket", MRC_DOCTOR_WARN, "left behind", "rm /tmp/test_doctor");
	unlink(path);
	put("/s", "text");
	says(&h, &want, "socket", MRC_DOCTOR_FAIL, "is no socket", "rm ");
	unlink(path);
	memset(longer, 'x', sizeof(longer));
	longer[0] = '/';
	longer[108] = '\0';
	want.sockets[0] = longer;
	says(&h, &want, "socket", MRC_DOCTOR_FAIL, "108 bytes, at most 107 fit", "");
}

/* The real machine: whatever it is, the doctor gets through and says something of each topic. */
static void test_this_machine(void **state)
{
	struct mrc_doctor_host h;
	struct mrc_doctor_want want = {.huge = MRC_DOCTOR_HUGE_AUTO};
	struct mrc_doctor_report report;

	mrc_doctor_host_read(&h);
	h.sample_ms = 1;
	mrc_doctor_run(&h, &want, &report);
	assert_non_null(line_of(&report, "cpus"));
	assert_non_null(line_of(&report, "isolation"));
	assert_non_null(line_of(&report, "memory"));
	assert_non_null(line_of(&report, "rights"));
	assert_true(mrc_cpuset_count(&h.cpus) > 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu_lists),
		cmocka_unit_test(test_lcore_maps),
		TEST(test_cpus),
		TEST(test_pinning),
		TEST(test_noise),
		TEST(test_hugepages),
		TEST(test_memory),
		TEST(test_rights),
		TEST(test_interfaces),
		TEST(test_pci),
		TEST(test_other_devices),
		TEST(test_sockets),
		cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

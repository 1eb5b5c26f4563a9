/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports of the file: is the device there, bound to the right driver, up, and wide enough. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "doctor_private.h"

enum {
	NAME_LEN = 64,
	PATH_LEN = 256,
	XDP_MTU_MAX = 3498, /* one page less the kernel's headroom */
};

/* Value of key= in a vdev string; false when absent or too long. */
static bool devarg(const char *device, const char *key, char *out, uint32_t room)
{
	size_t key_len = strlen(key);

	for (const char *p = strchr(device, ','); p != NULL; p = strchr(p, ',')) {
		size_t len;

		p++;
		if (strncmp(p, key, key_len) != 0 || p[key_len] != '=')
			continue;
		p += key_len + 1;
		len = strcspn(p, ",");
		if (len >= room)
			return false;
		memcpy(out, p, len);
		out[len] = '\0';
		return true;
	}
	return false;
}

static bool starts(const char *text, const char *head)
{
	return strncmp(text, head, strlen(head)) == 0;
}

/* ---- sockets */

/*
 * 0: a live process owns it; else errno of connect. Asked with a type that no server uses: the
 * kernel answers (EPROTOTYPE), the owner notices nothing.
 */
static int socket_probe(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc = 0;

	if (fd < 0)
		return errno;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0 && errno != EPROTOTYPE)
		rc = errno;
	close(fd);
	return rc;
}

static void socket_node_check(struct doctor *doc, const char *topic, const char *path)
{
	char mend[MRC_DOCTOR_TEXT];
	struct stat st;
	int rc;

	if (lstat(path, &st) != 0) {
		mrc_doctor_add(doc, MRC_DOCTOR_OK, topic, "", "%s is free", path);
		return;
	}
	snprintf(mend, sizeof(mend), "rm %s", path);
	if (!S_ISSOCK(st.st_mode)) {
		mrc_doctor_add(doc, MRC_DOCTOR_FAIL, topic, mend,
			"%s exists and is no socket: choose another path", path);
		return;
	}
	rc = socket_probe(path);
	if (rc == ECONNREFUSED)
		mrc_doctor_add(doc, MRC_DOCTOR_WARN, topic, mend,
			"%s was left behind by a process that died", path);
	else if (rc == 0 || rc == EAGAIN)
		mrc_doctor_add(doc, MRC_DOCTOR_FAIL, topic, "ss -xlp",
			"%s belongs to a running process: stop it or choose another path", path);
	else
		mrc_doctor_add(doc, MRC_DOCTOR_WARN, topic, "ss -xlp", "%s cannot be examined: %s",
			path, strerror(rc));
}

void mrc_doctor_socket(struct doctor *doc, const char *topic, const char *path)
{
	const size_t room = sizeof(((struct sockaddr_un *)NULL)->sun_path);
	char dir[PATH_LEN], mend[MRC_DOCTOR_TEXT], *slash;

	if (strlen(path) >= room) {
		mrc_doctor_add(doc, MRC_DOCTOR_FAIL, topic, "",
			"socket path of %zu bytes, at most %zu fit: %.64s...; choose a shorter one",
			strlen(path), room - 1, path);
		return;
	}
	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash == NULL)
		snprintf(dir, sizeof(dir), ".");
	else if (slash == dir)
		dir[1] = '\0';
	else
		*slash = '\0';
	if (access(dir, W_OK | X_OK) != 0) {
		snprintf(mend, sizeof(mend), "mkdir -p %s", dir);
		mrc_doctor_add(doc, MRC_DOCTOR_FAIL, topic, mend, "directory %s: %s", dir,
			strerror(errno));
		return;
	}
	socket_node_check(doc, topic, path);
}

/* ---- kernel interfaces behind vdevs */

static bool flag_is_up(const struct doctor *doc, const char *iface)
{
	char text[32];

	return !mrc_doctor_file(doc, text, sizeof(text), "/sys/class/net/%s/flags", iface) ||
	       (strtoul(text, NULL, 0) & 1) != 0;
}

static void iface_mtu_check(struct doctor *doc, const char *device, const char *iface)
{
	uint32_t need = doc->want->mtu;
	char mend[MRC_DOCTOR_TEXT];
	uint64_t mtu;

	if (!mrc_doctor_number(doc, &mtu, "/sys/class/net/%s/mtu", iface))
		return;
	snprintf(mend, sizeof(mend), "ip link set %s mtu %u", iface, need);
	if (starts(device, "net_af_xdp") && need > XDP_MTU_MAX)
		mrc_doctor_add(doc, MRC_DOCTOR_FAIL, "mtu", "",
			"%s: af_xdp carries at most %u bytes, %u are needed; lower \"pmtu\"",
			device, XDP_MTU_MAX, need);
	else if (mtu < need)
		mrc_doctor_add(doc, MRC_DOCTOR_FAIL, "mtu", mend,
			"%s has MTU %llu, the PMTU of the file needs %u", iface,
			(unsigned long long)mtu, need);
	else
		mrc_doctor_add(doc, MRC_DOCTOR_OK, "mtu", "", "%s has MTU %llu", iface,
			(unsigned long long)mtu);
}

static void iface_check(struct doctor *doc, const char *device)
{
	char iface[NAME_LEN], mend[MRC_DOCTOR_TEXT];

	if (!devarg(device, "iface", iface, sizeof(iface))) {
		mrc_doctor_add(doc, MRC_DOCTOR_FAIL, "port", "",
			"%s names no interface; add iface=NAME", device);
		return;
	}
	if (!mrc_doctor_exists(doc, "/sys/class/net/%s", iface)) {
		snprintf(mend, sizeof(mend), "ip link add %s type veth peer name %s-peer", iface,
			iface);
		mrc_doctor_add(doc, MRC_DOCTOR_FAIL, "port", mend,
			"%s: interface %s does not exist in this network namespace", device, iface);
		return;
	}
	snprintf(mend, sizeof(mend), "ip link set %s up", iface);
	if (!flag_is_up(doc, iface))
		mrc_doctor_add(doc, MRC_DOCTOR_WARN, "port", mend, "%s: %s is down", device, iface);
	else
		mrc_doctor_add(doc, MRC_DOCTOR_OK, "port", "", "%s: %s is up", device, iface);
	iface_mtu_check(doc, device, iface);
}

static void memif_check(struct doctor *doc, const char *device)
{
	char path[PATH_LEN], text[NAME_LEN];
	bool server = !devarg(device, "role", text, sizeof(text)) || strcmp(text, "server") == 0 ||
		      strcmp(text, "master") == 0;
	bool abstract =
		!devarg(device, "socket-abstract", text, sizeof(text)) || strcmp(text, "yes") == 0;

	if (!devarg(device, "socket", path, sizeof(path)))
		snprintf(path, sizeof(path), "/run/memif.sock");
	if (abstract)
		mrc_doctor_add(
			doc, MRC_DOCTOR_OK, "port", "", "%s: abstract socket %s", device, path);
	else if (server)
		mrc_doctor_socket(doc, "port", path);
	else if (access(path, F_OK) != 0)
		mrc_doctor_add(doc, MRC_DOCTOR_WARN, "port", "",
			"%s: no socket %s yet; start the side with role=server", device, path);
	else
		mrc_doctor_add(
			doc, MRC_DOCTOR_OK, "port", "", "%s: socket %s is there", device, path);
}

/* ---- PCI */

static bool is_pci(const char *device)
{
	unsigned domain, bus, dev, fn;
	int end = 0;

	return sscanf(device, "%x:%x:%x.%x%n", &domain, &bus, &dev, &fn, &end) == 4 ||
	       sscanf(device, "%x:%x.%x%n", &bus, &dev, &fn, &end) == 3;
}

/* Drivers that DPDK can work with: those that hand over the device, and those it shares it with. */
static bool driver_is_good(const char *driver)
{
	static const char *const good[] = {"vfio-pci", "uio_pci_generic", "igb_uio", "mlx4_core",
		"mlx5_core", "mana", "netvsc", NULL};

	for (uint32_t i = 0; good[i] != NULL; i++)
		if (strcmp(driver, good[i]) == 0)
			return true;
	return false;
}

static void pci_check(struct doctor *doc, const char *device)
{
	char name[NAME_LEN], driver[NAME_LEN] = "none", mend[MRC_DOCTOR_TEXT];
	size_t len = strcspn(device, ",");

	/* The domain may be left out: 03:00.0. */
	snprintf(name, sizeof(name), "%s%.*s", len <= 7 ? "0000:" : "", (int)(len < 20 ? len : 20),
		device);
	if (!mrc_doctor_exists(doc, "/sys/bus/pci/devices/%s", name)) {
		mrc_doctor_add(doc, MRC_DOCTOR_FAIL, "port", "lspci -D | grep -i ethernet",
			"there is no PCI device %s", name);
		return;
	}
	mrc_doctor_link(doc, driver, sizeof(driver), "/sys/bus/pci/devices/%s/driver", name);
	snprintf(mend, sizeof(mend), "modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci %s",
		name);
	if (!driver_is_good(driver))
		mrc_doctor_add(doc, MRC_DOCTOR_FAIL, "port", mend,
			"%s is bound to driver \"%s\", which DPDK cannot use", name, driver);
	else if (strcmp(driver, "vfio-pci") == 0 &&
		 !mrc_doctor_exists(doc, "/sys/bus/pci/devices/%s/iommu_group", name))
		mrc_doctor_add(doc, MRC_DOCTOR_WARN, "port",
			"echo 1 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode",
			"%s has no IOMMU group: vfio works without protection only", name);
	else
		mrc_doctor_add(doc, MRC_DOCTOR_OK, "port", "", "%s is bound to %s", name, driver);
}

static void device_check(struct doctor *doc, const char *device)
{
	if (starts(device, "net_memif"))
		memif_check(doc, device);
	else if (starts(device, "net_af_packet") || starts(device, "net_af_xdp"))
		iface_check(doc, device);
	else if (starts(device, "net_pcap") && strstr(device, ",iface=") != NULL)
		iface_check(doc, device);
	else if (is_pci(device))
		pci_check(doc, device);
	else if (starts(device, "net_tap") && !mrc_doctor_exists(doc, "/dev/net/tun"))
		mrc_doctor_add(doc, MRC_DOCTOR_FAIL, "port", "modprobe tun",
			"%s needs /dev/net/tun, which does not exist", device);
	else if (starts(device, "net_virtio_user") || starts(device, "net_vhost") ||
		 starts(device, "net_ring") || starts(device, "net_null") ||
		 starts(device, "net_tap") || starts(device, "net_pcap") ||
		 starts(device, "net_bonding") || starts(device, "eth_"))
		mrc_doctor_add(doc, MRC_DOCTOR_OK, "port", "", "%s: nothing to examine", device);
	else
		mrc_doctor_add(doc, MRC_DOCTOR_WARN, "port", "dpdk-devbind.py --status-dev net",
			"%s is neither a PCI name nor a virtual device known here", device);
}

void mrc_doctor_ports(struct doctor *doc)
{
	for (uint32_t i = 0; i < doc->want->nb_devices; i++)
		device_check(doc, doc->want->devices[i]);
	for (uint32_t i = 0; i < doc->want->nb_sockets; i++)
		mrc_doctor_socket(doc, "socket", doc->want->sockets[i]);
}

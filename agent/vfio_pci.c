/* SPDX-License-Identifier: MIT */
/* See vfio_pci.h. sysfs only: /sys/bus/pci/devices/ADDRESS and the driver links in it. */
#include "vfio_pci.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "vgpu_device.h"

#define DEVICES "/sys/bus/pci/devices"
#define DRIVER  "/sys/bus/pci/drivers/vfio-pci"
#define NOIOMMU_MODE "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode"

enum spec_kind { SPEC_NONE, SPEC_ADDRESS, SPEC_IDENTITY };

/* Fills the normal form of an address, or the identity asked for. */
static enum spec_kind parse(const char *s, char address[PCI_ADDRESS_BYTES], unsigned *vendor, unsigned *device)
{
	unsigned domain = 0, bus, slot, fn;
	char end;

	if (!strcmp(s, "auto")) {
		*vendor = VGPU_PCI_VENDOR;
		*device = VGPU_PCI_DEVICE;
		return SPEC_IDENTITY;
	}
	if (sscanf(s, "%4x:%2x:%2x.%1u%c", &domain, &bus, &slot, &fn, &end) == 4 ||
	    (domain = 0, sscanf(s, "%2x:%2x.%1u%c", &bus, &slot, &fn, &end) == 3)) {
		if (slot > 31 || fn > 7)
			return SPEC_NONE;
		snprintf(address, PCI_ADDRESS_BYTES, "%04x:%02x:%02x.%u", domain & 0xffff, bus & 0xff, slot, fn);
		return SPEC_ADDRESS;
	}
	if (strlen(s) == 9 && sscanf(s, "%4x:%4x%c", vendor, device, &end) == 2)
		return SPEC_IDENTITY;
	return SPEC_NONE;
}

int pci_is_spec(const char *spec)
{
	char address[PCI_ADDRESS_BYTES];
	unsigned vendor, device;

	return parse(spec, address, &vendor, &device) != SPEC_NONE;
}

/* One file of the function's folder as text, without the newline. */
static int attribute(const char *address, const char *name, char *text, size_t bytes)
{
	char path[128];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), DEVICES "/%s/%s", address, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, bytes - 1);
	close(fd);
	if (n < 0)
		return -EIO;
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	return 0;
}

/* Last part of a link in the function's folder: the name of its driver, the number of its group. */
static int link_name(const char *address, const char *name, char *text, size_t bytes)
{
	char path[128], target[256];
	const char *slash;
	ssize_t n;

	snprintf(path, sizeof(path), DEVICES "/%s/%s", address, name);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = 0;
	slash = strrchr(target, '/');
	snprintf(text, bytes, "%.63s", slash ? slash + 1 : target);
	return 0;
}

static void driver_of(const char *address, char *text, size_t bytes)
{
	if (link_name(address, "driver", text, bytes) < 0)
		text[0] = 0;
}

static unsigned hex_attribute(const char *address, const char *name)
{
	char text[32];

	return attribute(address, name, text, sizeof(text)) < 0 ? 0 : (unsigned)strtoul(text, NULL, 16);
}

int pci_find(const char *spec, struct pci_place *p, char *why, size_t why_bytes)
{
	unsigned vendor = 0, device = 0;
	char text[32];
	struct dirent *e;
	DIR *dir;

	p->address[0] = 0;
	p->group = 0;
	p->noiommu = 0;
	switch (parse(spec, p->address, &vendor, &device)) {
	case SPEC_ADDRESS:
		if (attribute(p->address, "vendor", text, sizeof(text)) == 0)
			return 0;
		snprintf(why, why_bytes, "%s: this machine has no PCI device at %s", spec, p->address);
		return -ENODEV;
	case SPEC_IDENTITY:
		break;
	default:
		snprintf(why, why_bytes, "%s: neither a PCI address nor vendor:device nor auto", spec);
		return -EINVAL;
	}
	dir = opendir(DEVICES);
	if (!dir) {
		snprintf(why, why_bytes, "%s: no " DEVICES ": is /sys mounted, has this machine a PCI bus?", spec);
		return -ENODEV;
	}
	/* The lowest address: the same one after every boot. */
	while ((e = readdir(dir)))
		if (e->d_name[0] != '.' && strlen(e->d_name) < PCI_ADDRESS_BYTES &&
		    hex_attribute(e->d_name, "vendor") == vendor && hex_attribute(e->d_name, "device") == device &&
		    (!p->address[0] || strcmp(e->d_name, p->address) < 0))
			strcpy(p->address, e->d_name);
	closedir(dir);
	if (p->address[0])
		return 0;
	snprintf(why, why_bytes, "%s: this machine has no PCI device %04x:%04x", spec, vendor, device);
	return -ENODEV;
}

/* Without consent of both the administrator (a parameter of the kernel's module) and the user (a flag): no. */
static int consent(const struct pci_place *p, char *why, size_t why_bytes)
{
	char text[8] = "";
	int fd = open(NOIOMMU_MODE, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (read(fd, text, sizeof(text) - 1) < 0)
			text[0] = 0;
		close(fd);
	}
	if (text[0] == 'Y')
		return 0;
	snprintf(why, why_bytes, "%s has no IOMMU group, and this kernel does not use it without: %s; fix, as root and knowing that the device can then reach all memory: echo Y >" NOIOMMU_MODE, p->address,
		 fd < 0 ? "it has no no-IOMMU mode (CONFIG_VFIO_NOIOMMU)" : "its no-IOMMU mode is off");
	return -EPERM;
}

static int find_group(struct pci_place *p, char *why, size_t why_bytes)
{
	char text[64];

	if (link_name(p->address, "iommu_group", text, sizeof(text)) < 0) {
		if (agent.opt.unsafe_noiommu) {
			p->noiommu = 1;
			return consent(p, why, why_bytes);
		}
		snprintf(why, why_bytes, "%s has no IOMMU group, so it could reach all memory: enable the IOMMU in the firmware and the kernel (intel_iommu=on), in a VM give it one (-device intel-iommu)", p->address);
		return -ENODEV;
	}
	p->group = (unsigned)strtoul(text, NULL, 10);
	p->noiommu = attribute(p->address, "iommu_group/name", text, sizeof(text)) == 0 && !strcmp(text, "vfio-noiommu");
	if (!p->noiommu || agent.opt.unsafe_noiommu)
		return 0;
	snprintf(why, why_bytes, "%s is in VFIO's no-IOMMU mode, in which the device can reach all memory: enable an IOMMU, or say --unsafe-noiommu", p->address);
	return -EPERM;
}

int pci_check_bound(struct pci_place *p, char *why, size_t why_bytes)
{
	char driver[64];
	int rc = find_group(p, why, why_bytes);

	if (rc < 0)
		return rc;
	driver_of(p->address, driver, sizeof(driver));
	if (!strcmp(driver, "vfio-pci"))
		return 0;
	snprintf(why, why_bytes, "%s is not bound to vfio-pci but to %s; fix, as root: vgpu-agent --bind %s", p->address,
		 driver[0] ? driver : "no driver", p->address);
	return -ENODEV;
}

unsigned pci_group_others(const struct pci_place *p, char *text, size_t bytes)
{
	char path[128];
	unsigned others = 0;
	struct dirent *e;
	size_t n = 0;
	DIR *dir;

	snprintf(text, bytes, "nobody that sysfs shows");
	snprintf(path, sizeof(path), "/sys/kernel/iommu_groups/%u/devices", p->group);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		char driver[64];

		if (e->d_name[0] == '.' || !strcmp(e->d_name, p->address))
			continue;
		driver_of(e->d_name, driver, sizeof(driver));
		/* those that the kernel minds: bridges and functions without a driver do no DMA of their own */
		if (!driver[0] || !strcmp(driver, "vfio-pci") || !strcmp(driver, "pcieport") || n >= bytes)
			continue;
		others++;
		n += (size_t)snprintf(text + n, bytes - n, "%s%s (%s)", n ? ", " : "", e->d_name, driver);
	}
	if (dir)
		closedir(dir);
	return others;
}

int pci_vfio_name(const struct pci_place *p, char *name, size_t bytes)
{
	char path[128];
	struct dirent *e;
	int rc = -ENOENT;
	DIR *dir;

	snprintf(path, sizeof(path), DEVICES "/%s/vfio-dev", p->address);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (!strncmp(e->d_name, "vfio", 4) && strlen(e->d_name) < bytes) {
			strcpy(name, e->d_name);
			rc = 0;
		}
	if (dir)
		closedir(dir);
	return rc;
}

static int put(const char *path, const char *text)
{
	int rc = 0, fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	log_info("  %s > %s%s%s", *text == '\n' ? "(empty)" : text, path, rc ? ": " : "", rc ? strerror(-rc) : "");
	if (rc == -EACCES || rc == -EPERM || rc == -EROFS)
		log_error("%s may not be written: this needs root and a writable /sys", path);
	return rc;
}

static int put_attribute(const char *address, const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), DEVICES "/%s/%s", address, name);
	return put(path, text);
}

/* The driver_override decides what the probe finds. */
static int rebind(const char *address, const char *old, const char *override)
{
	int rc = put_attribute(address, "driver_override", override);

	if (rc == 0 && *old)
		rc = put_attribute(address, "driver/unbind", address);
	if (rc == 0)
		rc = put("/sys/bus/pci/drivers_probe", address);
	return rc;
}

/* Bound is not yet usable: said now, not at the start of the agent. Binding the others is what comes next, so no error. */
static void warn_of_others(const struct pci_place *p)
{
	char others[160];

	if (!p->noiommu && pci_group_others(p, others, sizeof(others)))
		log_warn(PCI_NOT_VIABLE, p->address, p->group, others);
}

int pci_bind(const char *spec)
{
	struct pci_place p;
	char why[300], driver[64];
	int rc = pci_find(spec, &p, why, sizeof(why));

	if (rc == 0)
		rc = find_group(&p, why, sizeof(why));
	if (rc < 0) {
		log_error("%s", why);
		return rc;
	}
	driver_of(p.address, driver, sizeof(driver));
	snprintf(why, sizeof(why), p.noiommu ? "no IOMMU group" : "IOMMU group %u", p.group);
	log_info("%s (%04x:%04x), %s, driver: %s", p.address, hex_attribute(p.address, "vendor"),
		 hex_attribute(p.address, "device"), why, driver[0] ? driver : "none");
	if (!strcmp(driver, "vfio-pci")) {
		log_info("%s is bound to vfio-pci already", p.address);
		warn_of_others(&p);
		return 0;
	}
	if (access(DRIVER, F_OK) < 0) {
		log_error("the kernel's vfio-pci driver is not there; fix: modprobe vfio-pci");
		return -ENODEV;
	}
	rc = rebind(p.address, driver, "vfio-pci");
	driver_of(p.address, driver, sizeof(driver));
	if (strcmp(driver, "vfio-pci")) {
		log_error("%s could not be bound to vfio-pci: %s; the kernel log (dmesg) says more", p.address,
			  rc < 0 ? strerror(-rc) : "the driver did not take it");
		return rc < 0 ? rc : -ENODEV;
	}
	if (find_group(&p, why, sizeof(why)) < 0) {
		log_error("%s", why);
		return -EPERM;
	}
	log_info("%s is bound to vfio-pci: /dev/vfio/%s%u", p.address, p.noiommu ? "noiommu-" : "", p.group);
	warn_of_others(&p);
	return 0;
}

int pci_unbind(const char *spec)
{
	struct pci_place p;
	char why[300], driver[64];
	int rc = pci_find(spec, &p, why, sizeof(why));

	if (rc < 0) {
		log_error("%s", why);
		return rc;
	}
	driver_of(p.address, driver, sizeof(driver));
	if (strcmp(driver, "vfio-pci")) {
		log_error("%s is not bound to vfio-pci (driver: %s): nothing to undo", p.address, driver[0] ? driver : "none");
		return -ENODEV;
	}
	rc = rebind(p.address, driver, "\n");
	driver_of(p.address, driver, sizeof(driver));
	if (rc == 0)
		log_info("%s is free; driver now: %s", p.address, driver[0] ? driver : "none");
	return rc;
}

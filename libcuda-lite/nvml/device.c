/* SPDX-License-Identifier: MIT */
/*
 * Devices: found by index, UUID and bus id; what they are, what of their memory is used, and by whom.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "ml.h"

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
	if (!ml_ready())
		return NVML_ERROR_UNINITIALIZED;
	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = ml_devices();
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int *count) { return nvmlDeviceGetCount_v2(count); }

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	if (!ml_ready())
		return NVML_ERROR_UNINITIALIZED;
	if (!device || index >= ml_devices())
		return NVML_ERROR_INVALID_ARGUMENT;
	*device = ml_device(index);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
	return nvmlDeviceGetHandleByIndex_v2(index, device);
}

static void uuid_text(char out[64], const uint8_t u[16])
{
	char *p = out + sprintf(out, "GPU-");

	for (int i = 0; i < 16; i++)
		p += sprintf(p, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	char text[64];

	if (!ml_ready())
		return NVML_ERROR_UNINITIALIZED;
	if (!uuid || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned int i = 0; i < ml_devices(); i++) {
		uuid_text(text, ml_device(i)->info.uuid);
		if (!strcasecmp(text, uuid)) {
			*device = ml_device(i);
			return NVML_SUCCESS;
		}
	}
	return NVML_ERROR_NOT_FOUND;
}

struct place { unsigned int domain, bus, device, function; };

/* "domain:bus:device.function"; domain and function may be left out. */
static bool place_of(const char *text, struct place *p)
{
	char end;

	memset(p, 0, sizeof(*p));
	return sscanf(text, "%x:%x:%x.%x%c", &p->domain, &p->bus, &p->device, &p->function, &end) == 4 ||
	       (p->function = 0, sscanf(text, "%x:%x:%x%c", &p->domain, &p->bus, &p->device, &end) == 3) ||
	       (p->domain = 0, sscanf(text, "%x:%x.%x%c", &p->bus, &p->device, &p->function, &end) == 3) ||
	       (p->function = 0, sscanf(text, "%x:%x%c", &p->bus, &p->device, &end) == 2);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device)
{
	struct place want, have;

	if (!ml_ready())
		return NVML_ERROR_UNINITIALIZED;
	if (!bus_id || !device || !place_of(bus_id, &want))
		return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned int i = 0; i < ml_devices(); i++)
		if (place_of(ml_device(i)->info.bus_id, &have) && !memcmp(&want, &have, sizeof(want))) {
			*device = ml_device(i);
			return NVML_SUCCESS;
		}
	return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *bus_id, nvmlDevice_t *device)
{
	return nvmlDeviceGetHandleByPciBusId_v2(bus_id, device);
}

/* ---- what a device is ---- */

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	ML_DEVICE(device, name);
	return ml_text(name, length, device->info.name);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	char text[64];

	ML_DEVICE(device, uuid);
	uuid_text(text, device->info.uuid);
	return ml_text(uuid, length, text);
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
	ML_DEVICE(device, index);
	*index = (unsigned int)(device - ml_device(0));
	return NVML_SUCCESS;
}

/* There is no /dev/nvidiaN; the agent's own number is what identifies the device to its administrator. */
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor)
{
	ML_DEVICE(device, minor);
	*minor = device->index;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, nvmlBrandType_t *brand)
{
	ML_DEVICE(device, brand);
	*brand = NVML_BRAND_UNKNOWN;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
	ML_DEVICE(device, major && minor);
	*major = (int)device->info.cc_major;
	*minor = (int)device->info.cc_minor;
	return NVML_SUCCESS;
}

/* The family that a compute capability stands for (NVML API reference, nvmlDeviceArchitecture_t). */
nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t *arch)
{
	static const struct { unsigned int cc, arch; } first[] = {
		{ 100, 10 }, { 90, 9 }, { 89, 8 }, { 80, 7 }, { 75, 6 }, { 70, 5 }, { 60, 4 }, { 50, 3 }, { 30, 2 },
	};
	unsigned int cc;

	ML_DEVICE(device, arch);
	cc = device->info.cc_major * 10 + device->info.cc_minor;
	*arch = NVML_DEVICE_ARCH_UNKNOWN;
	for (unsigned int i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		if (cc >= first[i].cc) {
			*arch = first[i].arch;
			break;
		}
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	struct place p;

	ML_DEVICE(device, pci);
	if (!place_of(device->info.bus_id, &p))
		return NVML_ERROR_NOT_SUPPORTED;
	memset(pci, 0, sizeof(*pci));
	pci->domain = p.domain;
	pci->bus = p.bus;
	pci->device = p.device;
	pci->pciDeviceId = device->info.pci_device << 16 | (device->info.pci_vendor & 0xffff);
	snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "%04X:%02X:%02X.%X", p.domain & 0xffff, p.bus & 0xff,
		 p.device & 0xff, p.function & 7);
	snprintf(pci->busId, sizeof(pci->busId), "%08X:%02X:%02X.%X", p.domain, p.bus & 0xff, p.device & 0xff, p.function & 7);
	return NVML_SUCCESS;
}

/* ---- what happens on it now ---- */

static nvmlReturn_t memory(nvmlDevice_t device, unsigned long long *total, unsigned long long *used)
{
	struct vgpu_msg_hello_r hello;
	struct vgpu_agent_page page;
	int fd = ml_agent_open(&hello, &page);

	if (fd < 0)
		return ml_error(fd);
	close(fd);
	if (page.device[device->index].state != 1)
		return NVML_ERROR_GPU_IS_LOST;
	*total = device->info.memory_bytes;
	*used = page.device[device->index].memory_used;
	if (*used > *total)
		*used = *total;
	return NVML_SUCCESS;
}

#define SAMPLE_MS 100

static nvmlReturn_t work(nvmlDevice_t device, struct vgpu_agent_device *d, unsigned long long *ns)
{
	struct vgpu_msg_hello_r hello;
	struct vgpu_agent_page page;
	struct timespec t;
	int fd = ml_agent_open(&hello, &page);

	if (fd < 0)
		return ml_error(fd);
	close(fd);
	clock_gettime(CLOCK_MONOTONIC, &t);
	*ns = (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
	*d = page.device[device->index];
	return d->state == 1 ? NVML_SUCCESS : NVML_ERROR_GPU_IS_LOST;
}

/*
 * Of a sample of SAMPLE_MS, which the call waits for: how much of it the device worked on kernels and copies. Its
 * counter moves at the latest when it has nothing more to do: one that stands still beside work in flight means
 * 100 %. Memory is said to be busy as long: kernels and copies are what reads and writes it.
 */
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *u)
{
	struct vgpu_agent_device a, b;
	unsigned long long t0, t1, percent;
	nvmlReturn_t r;

	ML_DEVICE(device, u);
	if ((r = work(device, &a, &t0)) != NVML_SUCCESS)
		return r;
	nanosleep(&(struct timespec){ 0, SAMPLE_MS * 1000000 }, NULL);
	if ((r = work(device, &b, &t1)) != NVML_SUCCESS)
		return r;
	percent = t1 > t0 && b.busy_ns > a.busy_ns ? (b.busy_ns - a.busy_ns) * 100 / (t1 - t0) : 0;
	if (percent > 100 || (a.in_flight && b.in_flight && a.busy_ns == b.busy_ns))
		percent = 100;
	u->gpu = u->memory = (unsigned int)percent;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *m)
{
	nvmlReturn_t r;

	ML_DEVICE(device, m);
	r = memory(device, &m->total, &m->used);
	if (r == NVML_SUCCESS)
		m->free = m->total - m->used;
	return r;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *m)
{
	nvmlReturn_t r;

	ML_DEVICE(device, m);
	if (m->version != nvmlMemory_v2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	r = memory(device, &m->total, &m->used);
	if (r != NVML_SUCCESS)
		return r;
	m->reserved = 0;
	m->free = m->total - m->used;
	return NVML_SUCCESS;
}

/*
 * Clients that have a context, with what they use; the agent's list says it per client, not per device. `put` stores
 * entry i. *count: room in, number out; too little room is INSUFFICIENT_SIZE with the number needed.
 */
static nvmlReturn_t processes(unsigned int *count, void *infos, void (*put)(void *infos, unsigned int i,
			      const struct vgpu_msg_client *c))
{
	struct vgpu_msg_hello_r hello;
	struct vgpu_msg_status_r r;
	unsigned int first = 0, n = 0;
	int fd = ml_agent_open(&hello, NULL), err;

	if (fd < 0)
		return ml_error(fd);
	do {
		err = ml_agent_status(fd, first, &r);
		for (unsigned int i = 0; !err && i < r.count; i++)
			if (r.client[i].contexts) {
				if (n < *count && infos)
					put(infos, n, &r.client[i]);
				n++;
			}
		first += err ? 0 : r.count;
	} while (!err && r.count && first < r.clients);
	close(fd);
	if (err)
		return ml_error(err);
	err = n > *count || (n && !infos);
	*count = n;
	return err ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

static void put_v1(void *infos, unsigned int i, const struct vgpu_msg_client *c)
{
	((nvmlProcessInfo_v1_t *)infos)[i] = (nvmlProcessInfo_v1_t){ c->pid, c->memory_bytes };
}

/* No GPU instances: their ids are what NVML says where there are none. */
static void put_v2(void *infos, unsigned int i, const struct vgpu_msg_client *c)
{
	((nvmlProcessInfo_t *)infos)[i] = (nvmlProcessInfo_t){ c->pid, c->memory_bytes, 0xffffffffu, 0xffffffffu };
}

#define PROCESSES(name, type, put) \
	nvmlReturn_t name(nvmlDevice_t device, unsigned int *count, type *infos) \
	{ \
		static atomic_uint said; \
		ML_DEVICE(device, count); \
		if (ml_devices() > 1) \
			return ml_unsupported(&said, #name, ": the agent does not say which of several devices a client uses"); \
		return processes(count, infos, put); \
	}
PROCESSES(nvmlDeviceGetComputeRunningProcesses, nvmlProcessInfo_v1_t, put_v1)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, nvmlProcessInfo_v2_t, put_v2)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, nvmlProcessInfo_t, put_v2)

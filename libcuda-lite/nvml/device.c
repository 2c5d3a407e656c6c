/* SPDX-License-Identifier: MIT */
/*
 * Devices: found by index, UUID and bus id; what they are. A device that is lost stays in the list, and is still what it was.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

nvmlReturn_t nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t *uuid, nvmlDevice_t *device)
{
	char text[64];

	if (!ml_ready())
		return NVML_ERROR_UNINITIALIZED;
	if (!uuid || !device || uuid->type < 1 || uuid->type > 2)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (uuid->version != NVML_VERSION_OF(nvmlUUID_t, 1))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	if (uuid->type == 2)
		uuid_text(text, uuid->value.bytes);
	else
		snprintf(text, sizeof(text), "%.40s", uuid->value.str);
	return nvmlDeviceGetHandleByUUID(text, device);
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

/* Before version 3 the bus id was the short one alone. */
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_v2_t *pci)
{
	nvmlPciInfo_t p;
	nvmlReturn_t r;

	ML_DEVICE(device, pci);
	r = nvmlDeviceGetPciInfo_v3(device, &p);
	if (r != NVML_SUCCESS)
		return r;
	*pci = (nvmlPciInfo_v2_t){ .domain = p.domain, .bus = p.bus, .device = p.device, .pciDeviceId = p.pciDeviceId };
	memcpy(pci->busId, p.busIdLegacy, sizeof(pci->busId));
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_v2_t *pci) { return nvmlDeviceGetPciInfo_v2(device, pci); }

/* Base class 12h: processing accelerators (PCI Code and ID Assignment). */
nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t *pci)
{
	nvmlPciInfo_t p;
	nvmlReturn_t r;

	ML_DEVICE(device, pci);
	if (pci->version != NVML_VERSION_OF(nvmlPciInfoExt_t, 1))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	r = nvmlDeviceGetPciInfo_v3(device, &p);
	if (r != NVML_SUCCESS)
		return r;
	pci->domain = p.domain;
	pci->bus = p.bus;
	pci->device = p.device;
	pci->pciDeviceId = p.pciDeviceId;
	pci->pciSubSystemId = 0;
	pci->baseClass = 0x12;
	pci->subClass = 0;
	memcpy(pci->busId, p.busId, sizeof(pci->busId));
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

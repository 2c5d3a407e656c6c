/* SPDX-License-Identifier: MIT */
/*
 * Event sets: the agent counts contexts that died of an error, and losses of the device; a set remembers both as they were when a
 * device was registered, and a wait looks every so often. Told as NVIDIA's numbers: Xid 13, an exception of somebody's
 * program; Xid 79, the device has fallen off the bus.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "ml.h"

#define LOOK_MS 100u
#define XID_PROGRAM 13u
#define XID_LOST 79u
#define NONE 0xffffffffu

struct nvmlEventSet_st {
	atomic_flag busy;
	struct {
		bool watched, gone;
		uint64_t faults, losses;
	} device[VGPU_MAX_DEVICES];
};

static int look(struct vgpu_msg_load_r *r)
{
	struct vgpu_msg_hello_r hello;
	int fd = ml_agent_open(&hello), err = fd < 0 ? fd : ml_agent_load(fd, r);

	if (fd >= 0)
		close(fd);
	return err;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
	if (!ml_ready())
		return NVML_ERROR_UNINITIALIZED;
	if (!set)
		return NVML_ERROR_INVALID_ARGUMENT;
	*set = calloc(1, sizeof(**set));
	if (!*set)
		return NVML_ERROR_MEMORY;
	atomic_flag_clear(&(*set)->busy);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
	if (!set)
		return NVML_ERROR_INVALID_ARGUMENT;
	free(set);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *types)
{
	ML_DEVICE(device, types);
	*types = nvmlEventTypeXidCriticalError;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set)
{
	struct vgpu_msg_load_r r;
	unsigned int i;
	int err;

	ML_DEVICE(device, set);
	if (types & ~nvmlEventTypeXidCriticalError)
		return NVML_ERROR_NOT_SUPPORTED;
	if (!types)
		return NVML_SUCCESS;
	err = look(&r);
	if (err)
		return ml_error(err);
	i = device->index;
	if (!r.device[i].state)
		return NVML_ERROR_GPU_IS_LOST;
	set->device[i].faults = r.device[i].faults;
	set->device[i].losses = r.device[i].losses;
	set->device[i].watched = true;
	return NVML_SUCCESS;
}

static nvmlDevice_t handle_of(unsigned int index)
{
	for (unsigned int i = 0; i < ml_devices(); i++)
		if (ml_device(i)->index == index)
			return ml_device(i);
	return NULL;
}

/* One event that has not been told yet; 0: there is none. */
static unsigned int next_event(nvmlEventSet_t set, unsigned int *index)
{
	struct vgpu_msg_load_r r;
	int err = look(&r);

	for (unsigned int i = 0; i < VGPU_MAX_DEVICES; i++) {
		if (!set->device[i].watched)
			continue;
		*index = i;
		if (err) {              /* no agent: what it had is gone with it */
			if (set->device[i].gone)
				continue;
			set->device[i].gone = true;
			return XID_LOST;
		}
		/* another agent counts from the beginning */
		if (r.device[i].losses < set->device[i].losses || r.device[i].faults < set->device[i].faults) {
			set->device[i].losses = r.device[i].losses;
			set->device[i].faults = r.device[i].faults;
		}
		set->device[i].gone = false;
		if (r.device[i].losses > set->device[i].losses) {
			set->device[i].losses = r.device[i].losses;
			set->device[i].faults = r.device[i].faults;     /* of those that went with it */
			return XID_LOST;
		}
		if (r.device[i].faults > set->device[i].faults) {
			set->device[i].faults++;
			return XID_PROGRAM;
		}
	}
	return 0;
}

static unsigned long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000 + (unsigned long long)t.tv_nsec / 1000000;
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms)
{
	unsigned long long until = now_ms() + timeout_ms, now;
	unsigned int index = 0, xid;

	if (!ml_ready())
		return NVML_ERROR_UNINITIALIZED;
	if (!set || !data)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (atomic_flag_test_and_set(&set->busy))
		return NVML_ERROR_IN_USE;
	for (;;) {
		xid = next_event(set, &index);
		now = now_ms();
		if (xid || now >= until)
			break;
		now = until - now < LOOK_MS ? until - now : LOOK_MS;
		nanosleep(&(struct timespec){ 0, (long)now * 1000000 }, NULL);
	}
	atomic_flag_clear(&set->busy);
	if (!xid)
		return NVML_ERROR_TIMEOUT;
	*data = (nvmlEventData_t){ handle_of(index), nvmlEventTypeXidCriticalError, xid, NONE, NONE };
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_v1_t *data, unsigned int timeout_ms)
{
	nvmlEventData_t d;
	nvmlReturn_t r = data ? nvmlEventSetWait_v2(set, &d, timeout_ms) : NVML_ERROR_INVALID_ARGUMENT;

	if (r == NVML_SUCCESS)
		*data = (nvmlEventData_v1_t){ d.device, d.eventType, d.eventData };
	return r;
}

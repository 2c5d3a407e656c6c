/* SPDX-License-Identifier: MIT */
/*
 * Why can the agent behind a socket not be used? One answer for the library, NVML, smi, run and doctor: what is seen, and what mends it.
 * Nothing is advised on a guess. Only functions that old C libraries have.
 */
#ifndef VGPU_REACH_H
#define VGPU_REACH_H

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "vgpu_dial.h"

enum vgpu_reach {
	VGPU_REACH_OK,
	VGPU_REACH_NO_SOCKET,           /* there is no such file */
	VGPU_REACH_NOBODY,              /* there is, and nobody listens */
	VGPU_REACH_PERMISSION,
	VGPU_REACH_LIMIT,               /* it answers, and one of its limits is reached */
	VGPU_REACH_VERSION,             /* it answers, in another version of the protocol */
	VGPU_REACH_REFUSED,             /* it answers, and refuses for another reason */
	VGPU_REACH_CLOSED,              /* it takes the connection and closes it */
	VGPU_REACH_HUNG,                /* it takes the connection and does not answer */
	VGPU_REACH_STRANGER,            /* what answers is no vgpu-agent */
	VGPU_REACH_ERROR,
};

/* err: 0 or -errno of dialling or asking; r: the answer to HELLO, where there is one. */
static inline enum vgpu_reach vgpu_reach_of(int err, const struct vgpu_msg_hello_r *r)
{
	switch (-err) {
	case 0:
		return !r || r->status == VGPU_ST_OK ? VGPU_REACH_OK : r->status == VGPU_ST_LIMIT ? VGPU_REACH_LIMIT :
		       !VGPU_PROTOCOL_SPEAKS(r->version) ? VGPU_REACH_VERSION : VGPU_REACH_REFUSED;
	case ENOENT:
	case ENOTDIR:
		return VGPU_REACH_NO_SOCKET;
	case ECONNREFUSED:
		return VGPU_REACH_NOBODY;
	case EACCES:
	case EPERM:
		return VGPU_REACH_PERMISSION;
	case ECONNRESET:
	case EPIPE:
		return VGPU_REACH_CLOSED;
	case EAGAIN:
	case ETIMEDOUT:
		return VGPU_REACH_HUNG;
	case EPROTO:
	case EPROTOTYPE:
		return VGPU_REACH_STRANGER;
	}
	return VGPU_REACH_ERROR;
}

/* Of "/etc/group" alone: no name service is asked, which would load libraries into the caller. */
static inline void vgpu_group_name(gid_t gid, char *name, size_t n)
{
	char line[1024], *id;
	unsigned long g;
	FILE *f = fopen("/etc/group", "re");

	snprintf(name, n, "%u", (unsigned)gid);
	while (f && fgets(line, sizeof(line), f)) {
		id = strchr(line, ':');
		id = id ? strchr(id + 1, ':') : NULL;
		if (!id)
			continue;
		g = strtoul(id + 1, NULL, 10);
		if (g != gid)
			continue;
		*strchr(line, ':') = 0;
		snprintf(name, n, "%.60s", line);
		break;
	}
	if (f)
		fclose(f);
}

/* Not all users and groups of the machine have a number here. */
static inline int vgpu_in_user_namespace(void)
{
	unsigned long inside = 1, outside = 1, count = 0;
	FILE *f = fopen("/proc/self/uid_map", "re");
	int n = f ? fscanf(f, "%lu %lu %lu", &inside, &outside, &count) : 0;

	if (f)
		fclose(f);
	return n == 3 && !(inside == 0 && outside == 0 && count == 4294967295ul);
}

static inline void vgpu_why_not_permitted(const char *path, char *why, size_t n, char *fix, size_t m)
{
	char folder[sizeof(((struct sockaddr_un *)0)->sun_path) + 1], group[64];
	struct stat st;

	for (size_t i = 1; path[i] && i < sizeof(folder) - 1; i++) {
		if (path[i] != '/')
			continue;
		memcpy(folder, path, i);
		folder[i] = 0;
		if (access(folder, X_OK) == 0)
			continue;
		snprintf(why, n, "%s: permission denied: user %u may not search the folder %s", path, (unsigned)geteuid(), folder);
		snprintf(fix, m, "chmod o+x %s, or run as a user who may", folder);
		return;
	}
	if (syscall(SYS_stat, path, &st)) {     /* the C library's stat() is a newer symbol than our libraries may need */
		snprintf(why, n, "%s: permission denied", path);
		snprintf(fix, m, "run as a user whom it admits");
		return;
	}
	vgpu_group_name(st.st_gid, group, sizeof(group));
	if ((st.st_mode & 0060) != 0060) {
		snprintf(why, n, "%s: permission denied: its mode is %03o: it is for user %u alone, and this is user %u", path,
			 (unsigned)st.st_mode & 0777, (unsigned)st.st_uid, (unsigned)geteuid());
		snprintf(fix, m, "start vgpu-agent with --mode 0660 (for a group) or --mode 0666 (for everybody), or run as that user");
	} else if (vgpu_in_user_namespace()) {
		snprintf(why, n, "%s: permission denied: its group has no number in this user namespace (container), so no --group-add helps", path);
		snprintf(fix, m, "outside, as root: install -d -o USER -g vgpu -m 0770 /run/vgpu/USER, and vgpu-agent --also-listen "
			 "/run/vgpu/USER/agent.sock; in here, VGPU_AGENT names that socket (vgpu cdi generate --socket does both)");
	} else {
		snprintf(why, n, "%s: permission denied: its mode is %03o: it is for group %s, and user %u is not in it", path,
			 (unsigned)st.st_mode & 0777, group, (unsigned)geteuid());
		snprintf(fix, m, "sudo adduser NAME %s, and log in again (or: newgrp %s)", group, group);
	}
}

/* Something else than a socket lies there: connect() has the same word for it. */
static inline int vgpu_no_socket(const char *path)
{
	struct stat st;

	return syscall(SYS_stat, path, &st) == 0 && !S_ISSOCK(st.st_mode);
}

/* Who holds the listening socket, and does he run? Only what /proc says. */
static inline void vgpu_why_hung(int fd, const char *path, char *why, size_t n, char *fix, size_t m)
{
	struct { pid_t pid; uid_t uid; gid_t gid; } cred = { 0, 0, 0 };
	socklen_t size = sizeof(cred);
	char name[48], line[512] = "", *p;
	FILE *f;

	if (fd >= 0)
		getsockopt(fd, SOL_SOCKET, 17, &cred, &size);   /* SO_PEERCRED */
	snprintf(name, sizeof(name), "/proc/%d/stat", (int)cred.pid);
	f = cred.pid > 0 ? fopen(name, "re") : NULL;
	if (f && !fgets(line, sizeof(line), f))
		line[0] = 0;
	if (f)
		fclose(f);
	p = strrchr(line, ')');
	if (p && (p[2] == 'T' || p[2] == 't')) {
		snprintf(why, n, "%s: the agent (pid %d) is stopped (state %c)", path, (int)cred.pid, p[2]);
		snprintf(fix, m, "let it go on: kill -CONT %d", (int)cred.pid);
		return;
	}
	name[0] = 0;
	if (cred.pid > 0)
		snprintf(name, sizeof(name), " (pid %d)", (int)cred.pid);
	snprintf(why, n, "%s: the agent%s takes the connection and does not answer within %d s", path, name, VGPU_ANSWER_S);
	snprintf(fix, m, "try again; its log (journalctl -u vgpu-agent) says what it waits for");
}

/*
 * The words: `why` begins with the path. fd: the connection, where there is one, else -1. r->text is a peer's: it is cut, not trusted.
 * Returns what vgpu_reach_of() does.
 */
static inline enum vgpu_reach vgpu_reach_words(const char *path, int err, int fd, const struct vgpu_msg_hello_r *r, char *why, size_t n,
					       char *fix, size_t m)
{
	enum vgpu_reach is = vgpu_reach_of(err, r);
	char text[sizeof(r->text)] = "";

	if (r && !err) {
		memcpy(text, r->text, sizeof(text));
		text[sizeof(text) - 1] = 0;
		for (char *p = text; *p; p++)
			if ((unsigned char)*p < 0x20 || *p == 0x7f)
				*p = '?';
	}
	why[0] = fix[0] = 0;
	switch (is) {
	case VGPU_REACH_OK:
		break;
	case VGPU_REACH_NO_SOCKET:
		snprintf(why, n, "%s: there is no such socket", path);
		snprintf(fix, m, "start vgpu-agent --listen %s, or run the program as: vgpu run -- CMD", path);
		break;
	case VGPU_REACH_NOBODY:
		if (vgpu_no_socket(path)) {
			snprintf(why, n, "%s: that is no socket", path);
			snprintf(fix, m, "VGPU_AGENT names an agent's socket, like /run/vgpu/agent.sock; unset it to have the usual places tried");
			break;
		}
		snprintf(why, n, "%s: nobody listens: the agent that made this socket is gone", path);
		snprintf(fix, m, "start vgpu-agent --listen %s, or run the program as: vgpu run -- CMD", path);
		break;
	case VGPU_REACH_PERMISSION:
		vgpu_why_not_permitted(path, why, n, fix, m);
		break;
	case VGPU_REACH_LIMIT:
		snprintf(why, n, "%s: the agent refuses: %s", path, text);
		if (strstr(text, "(vgpu ctl ")) {        /* no limit: somebody has said so, or it passes */
			snprintf(fix, m, "%s the administrator may let it in, by the command that it names", strstr(text, "held off") ? "wait, or" : "");
			memmove(fix, fix + strspn(fix, " "), strlen(fix + strspn(fix, " ")) + 1);
			break;
		}
		snprintf(fix, m, "end a program that uses the device (vgpu smi lists them), or raise that limit (vgpu-agent --limits FILE, SIGHUP)");
		break;
	case VGPU_REACH_VERSION:
		snprintf(why, n, "%s: the agent is %s than this program's vgpu %s: it speaks protocol %u, this %s", path,
			 r->version < VGPU_PROTOCOL_VERSION ? "older" : "newer", VGPU_VERSION, r->version, VGPU_PROTOCOLS);
		snprintf(fix, m, "%s", r->version < VGPU_PROTOCOL_VERSION ? "restart vgpu-agent from this installation" :
			 "use the libraries of the agent's installation");
		break;
	case VGPU_REACH_REFUSED:
		snprintf(why, n, "%s: the agent refuses: %s", path, text[0] ? text : "it does not say why");
		snprintf(fix, m, "its log says more (journalctl -u vgpu-agent)");
		break;
	case VGPU_REACH_CLOSED:
		snprintf(why, n, "%s: the agent closed the connection unheard: this user has as many as he may (--uid-clients), or it is ending", path);
		snprintf(fix, m, "its log says which (journalctl -u vgpu-agent)");
		break;
	case VGPU_REACH_HUNG:
		vgpu_why_hung(fd, path, why, n, fix, m);
		break;
	case VGPU_REACH_STRANGER:
		snprintf(why, n, "%s: what answers there is no vgpu-agent of this version", path);
		snprintf(fix, m, "restart vgpu-agent from this installation, or name another socket by VGPU_AGENT");
		break;
	case VGPU_REACH_ERROR:
		snprintf(why, n, "%s: %s", path, strerror(-err));
		if (err == -ENAMETOOLONG)
			snprintf(fix, m, "a socket's path has %zu characters at most", sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
		else
			snprintf(fix, m, "run vgpu doctor");
		break;
	}
	return is;
}

#endif
